"""The stubs of native modules have the docstrings of the compiled ones, and every public native name has one."""

from __future__ import annotations

import ast
import inspect

import pytest
import stub_docs
from stub_docs import PACKAGE, STUBS, definitions, differences

import harmonystream as hs

NATIVE = [
    name for name in hs.__all__ if getattr(getattr(hs, name), "__module__", "").startswith("harmonystream._native")
]


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_stub_says_what_the_module_says(stub):
    """Run `python tests/support/stub_docs.py` after a change of a native docstring."""
    assert differences(stub) == {}


def test_every_public_native_name_is_documented_with_its_members():
    undocumented = []
    for stub in STUBS:
        for node, holder in definitions(stub):
            owner = holder.__name__ if inspect.isclass(holder) else node.name
            public = owner in NATIVE and not node.name.startswith("_")
            attribute = isinstance(node, ast.FunctionDef) and bool(node.decorator_list)  # its class says what it is
            if public and not attribute and ast.get_docstring(node) is None:
                undocumented.append(f"{owner}.{node.name}")
    assert undocumented == []


def test_a_class_without_members_gets_its_docstring(tmp_path, monkeypatch):
    whole = PACKAGE / "_native" / "stream" / "records.pyi"
    bare = tmp_path / "_native" / "stream" / "records.pyi"
    bare.parent.mkdir(parents=True)
    bare.write_text("class EventMaker: ...\n", encoding="utf-8")
    monkeypatch.setattr(stub_docs, "PACKAGE", tmp_path)
    stub_docs.write(bare)
    assert bare.read_text(encoding="utf-8") in whole.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(bare.read_text(encoding="utf-8")).body[0])
