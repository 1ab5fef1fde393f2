"""What a round adds to the conversation."""

from __future__ import annotations

from harmonystream import ToolCall
from harmonystream.agent.history import CallIds, assistant_message, continued

CALL = ToolCall(0, "f", '{"x": 1}', "call_0", "function", True, True)


def test_a_message_has_the_content_and_nothing_else():
    assert assistant_message("", "", []) is None
    assert assistant_message("Hi", "", []) == {"role": "assistant", "content": "Hi"}
    assert assistant_message("", "Hm", [CALL]) == {
        "role": "assistant",
        "content": "",
        "reasoning": "Hm",
        "tool_calls": [{"id": "call_0", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}],
    }


def test_a_continued_message_is_joined_with_its_rest():
    user, result = {"role": "user", "content": "Hi"}, {"role": "tool", "content": "1"}
    begun, rest = assistant_message("", "Let me ", []), assistant_message("So.", "think.", [CALL])
    joined = assistant_message("So.", "Let me think.", [CALL])
    assert continued([user, begun], [rest, result]) == [user, joined, result]
    assert continued([user, begun], [result]) == [user, begun, result]
    parts = {"role": "assistant", "content": [{"type": "image"}]}
    assert continued([user, parts], [rest]) == [user, parts, rest]


def test_ids_are_made_of_the_number_of_the_call_and_never_twice():
    said = assistant_message("", "", [CALL, CALL])
    ids = CallIds([{"role": "user", "content": "x"}, said, {"role": "assistant", "tool_calls": None}, said])
    assert [ids.next(None), ids.next("mine"), ids.next("mine"), ids.next("call_0")] == [
        "call_4",
        "mine",
        "call_6",
        "call_7",
    ]
    ids.skip()
    assert (ids.next("call_10"), ids.next(None), ids.next("call_10")) == ("call_10", "call_10_", "call_11")
