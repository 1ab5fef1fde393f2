"""Docstrings in the stubs of native modules, so that editors and the API reference show them.

The compiled modules are the source. `python tests/support/stub_docs.py` writes their docstrings into the stubs, and
tests/house/test_stub_docs.py compares the two.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import harmonystream

PACKAGE = Path(harmonystream.__file__).resolve().parent
STUBS = sorted((PACKAGE / "_native").rglob("*.pyi"))
Definition = ast.ClassDef | ast.FunctionDef


def compiled_docstring(holder: object, name: str) -> str | None:
    """The docstring of a member of a compiled module or class; None where it has none of its own."""
    member = vars(holder).get(name)
    text = getattr(member, "__doc__", None)
    inherited = getattr(getattr(object, name, None), "__doc__", None)
    if not isinstance(text, str) or text == inherited or (name.startswith("__") and name.endswith("__")):
        return None
    return inspect.cleandoc(text).strip() or None


def definitions(stub: Path) -> Iterator[tuple[Definition, object]]:
    """Each class, method, property and function of a stub, with the compiled module or class that has it."""
    module = importlib.import_module("harmonystream." + ".".join(stub.relative_to(PACKAGE).with_suffix("").parts))
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if not isinstance(node, Definition) or not hasattr(module, node.name):  # a protocol exists in the stub alone
            continue
        yield node, module
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not is_setter(member):
                    yield member, getattr(module, node.name)


def is_setter(node: ast.FunctionDef) -> bool:
    """Is this the setter of a property, or a later overload, whose docstring is the first one's?"""
    return any(isinstance(mark, ast.Attribute) and mark.attr == "setter" for mark in node.decorator_list)


def differences(stub: Path) -> dict[str, tuple[str | None, str | None]]:
    """Name → docstrings in the stub and in the compiled module, where they differ."""
    found: dict[str, tuple[str | None, str | None]] = {}
    seen = set()
    for node, holder in definitions(stub):
        wanted = compiled_docstring(holder, node.name)
        key = f"{getattr(holder, '__name__', '')}.{node.name}"
        written = (
            ast.get_docstring(node) or ""
        ).strip() or None  # the formatter moves the closing quotes of a long line
        if key not in seen and written != wanted:
            found[key] = (written, wanted)
        seen.add(key)
    return found


def quoted(text: str, indent: str) -> list[str]:
    """A docstring as the lines of a source."""
    lines = text.replace("\\", "\\\\").splitlines()
    if len(lines) == 1:
        return [f'{indent}"""{lines[0]}"""']
    return [f'{indent}"""{lines[0]}', *(f"{indent}{line}" if line else "" for line in lines[1:]), f'{indent}"""']


def write(stub: Path) -> None:
    """Puts the compiled docstrings into a stub."""
    lines = stub.read_text(encoding="utf-8").splitlines()
    seen = set()
    edits = []
    for node, holder in definitions(stub):
        key = (holder, node.name)
        if key not in seen:
            edits.append((node, compiled_docstring(holder, node.name)))
        seen.add(key)
    # From the last line to the first; a class after its first member, which may be on the same line.
    for node, wanted in sorted(
        edits, key=lambda edit: (edit[0].body[0].lineno, isinstance(edit[0], ast.FunctionDef)), reverse=True
    ):
        first = node.body[0]
        indent = " " * (node.col_offset + 4)
        documented = ast.get_docstring(node) is not None
        if documented:
            lines[first.lineno - 1 : first.end_lineno] = []
        if wanted is None:
            continue
        at = first.lineno - 1
        if not documented and isinstance(first, ast.Expr):  # the body is `...`, at the end of its line
            line, _, comment = lines[first.end_lineno - 1].partition("  #")
            assert line.endswith("..."), f"{stub}:{first.lineno}"
            line = line.removesuffix("...").rstrip()
            lines[first.end_lineno - 1] = f"{line}  #{comment}" if comment else line
            at = first.end_lineno
            if not lines[at - 1]:
                at -= 1
                del lines[at]
        elif not documented and isinstance(first, ast.FunctionDef) and first.decorator_list:
            at = first.decorator_list[0].lineno - 1
        lines[at:at] = quoted(wanted, indent)
    stub.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for path in STUBS:
        write(path)
