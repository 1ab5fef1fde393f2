"""What a round adds to the conversation."""

from __future__ import annotations

from harmonystream import ToolCall
from harmonystream.agent.history import assistant_message, call_count

CALL = ToolCall(0, "f", '{"x": 1}', "call_0", "function", True, True)


def test_a_message_has_what_was_said_and_nothing_else():
    assert assistant_message("", "", []) is None
    assert assistant_message("Hi", "", []) == {"role": "assistant", "content": "Hi"}
    assert assistant_message("", "Hm", [CALL]) == {
        "role": "assistant",
        "content": "",
        "reasoning": "Hm",
        "tool_calls": [{"id": "call_0", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
    }


def test_calls_are_counted():
    said = assistant_message("", "", [CALL, CALL])
    assert call_count([{"role": "user", "content": "x"}, said, {"role": "assistant", "tool_calls": None}, said]) == 4
