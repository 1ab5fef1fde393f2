"""The names of the parsers that vLLM and SGLang register, read from their wheels without running them.

pip download --no-deps vllm sglang
python tests/support/parser_registries.py vllm-*.whl sglang-*.whl > tests/support/parser_registries.json
"""

from __future__ import annotations

import ast
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

KNOWN = Path(__file__).with_suffix(".json")

# The file of each registry, the name that it is assigned to, and what the parsers read.
SOURCES = {
    "vllm": (
        ("vllm/tool_parsers/__init__.py", "_TOOL_PARSERS_TO_REGISTER", "calls"),
        ("vllm/reasoning/__init__.py", "_REASONING_PARSERS_TO_REGISTER", "reasoning"),
    ),
    "sglang": (
        ("sglang/srt/function_call/parser_names.py", "TOOL_CALL_PARSER_NAMES", "calls"),
        ("sglang/srt/parser/reasoning_parser_names.py", "REASONING_PARSER_NAMES", "reasoning"),
    ),
}


def names_in(source: str, variable: str) -> list[str]:
    """The strings of a list, or the keys of a dict, that a module assigns to the variable."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if is_annotated(node) else []
        if any(isinstance(target, ast.Name) and target.id == variable for target in targets):
            value: Any = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            return sorted(value)
    raise LookupError(f"no {variable}")


def is_annotated(node: ast.stmt) -> bool:
    return isinstance(node, ast.AnnAssign) and node.value is not None


def registries(wheel: Path) -> dict[str, Any]:
    """{"vllm": {"version": …, "calls": […], "reasoning": […]}}"""
    package, version = wheel.name.split("-")[:2]
    with zipfile.ZipFile(wheel) as files:
        found = {kind: names_in(files.read(path).decode(), name) for path, name, kind in SOURCES[package]}
    return {package: {"version": version, **found}}


def known() -> dict[str, Any]:
    """What was read last."""
    found: dict[str, Any] = json.loads(KNOWN.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    print(json.dumps({k: v for path in sys.argv[1:] for k, v in registries(Path(path)).items()}, indent=1))
