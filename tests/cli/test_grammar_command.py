"""`harmonystream grammar`: each language, and what it refuses."""

from __future__ import annotations

import json

import pytest
from command import run

import harmonystream as hs

TOOLS = [{"name": "f", "strict": True, "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}]


@pytest.mark.parametrize("write", ["structural-tag", "lark", "gbnf"])
def test_each_language(tmp_path, write):
    grammar = hs.grammar("hermes", TOOLS, choice="required")
    expected = {"structural-tag": grammar.structural_tag() + "\n", "lark": grammar.lark(), "gbnf": grammar.gbnf()}
    file = tmp_path / "request.json"
    file.write_text(json.dumps({"model": "m", "tools": TOOLS}))
    done = run("grammar", "--format", "hermes", "--tools", str(file), "--choice", "required", "--write", write)
    assert done == (0, expected[write], "")


@pytest.mark.parametrize(
    ("given", "message"),
    [("[]", "a call is required, and there is no tool"), ("{", "not JSON"), ("3", "a list of tools, or a request")],
)
def test_what_is_refused(given, message):
    done = run("grammar", "--format", "hermes", "--choice", "required", stdin=given)
    assert done[0] == 2
    assert message in done[2]
