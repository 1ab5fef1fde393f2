"""What ChatStream takes. tests/emit/chat/test_chat.py has what it says."""

from __future__ import annotations

import pytest

from harmonystream.emit.chat.options import checked_preamble, finish_reason, names_a_tool, seconds


@pytest.mark.parametrize("field", ["", "role", "tool_calls", "function_call", "refusal"])
def test_fields_that_are_taken(field: str) -> None:
    with pytest.raises(ValueError, match="preamble_field is the name of a field for text"):
        checked_preamble(field)


def test_finish_reasons() -> None:
    assert finish_reason("tool_calls", 1, named=False) == "tool_calls"
    assert finish_reason("tool_calls", 0, named=False) == finish_reason("tool_calls", 1, named=True) == "stop"
    assert (finish_reason(None, 0, named=False), finish_reason("length", 0, named=False)) == ("stop", "length")


def test_a_choice_that_names_a_tool() -> None:
    assert names_a_tool({"type": "function", "function": {"name": "f"}})
    assert not names_a_tool("required")


def test_seconds_are_whole() -> None:
    assert (seconds(7), seconds(True)) == (7, 1)
    with pytest.raises(TypeError, match="created is whole seconds since 1970"):
        seconds(7.5)
