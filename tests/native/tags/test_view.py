"""What leaves the input without a meaning of its own (docs/tags.md, 2)."""

from __future__ import annotations

import pytest
from tag_cases import ids

CALL = ("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>", "<｜tool▁call▁end｜><｜tool▁calls▁end｜>")


@pytest.mark.parametrize("at", [0, 1])
def test_an_inert_id_is_dropped_wherever_it_is(at):
    pieces = ["a", *CALL, "b"]
    pieces.insert(at, "<|pad|>")
    assert ids("deepseek", *pieces) == ("", "a\nb", [("f", "{}")], ["stray-control"])


def test_a_think_marker_in_a_body_is_text():
    assert ids("deepseek", CALL[0], '{"s": "', "<think>", '"}', CALL[1]) == ("", "", [("f", '{"s": "<think>"}')], [])
    assert ids("deepseek", CALL[0], "</think>", CALL[1]) == ("", "", [("f", "</think>", "cut")], ["invalid-json"])


def test_a_dropped_id_ends_an_incomplete_character():
    for tail, codes in (("<|pad|>", ["stray-control"]), ("", [])):
        found = ids("deepseek", CALL[0], '{"s": "', 3 + 0xE6, tail, '"}', CALL[1])
        assert found == ("", "", [("f", '{"s": "�"}')], ["invalid-utf8", *codes])
