"""Calls in the forms of the APIs and their clients."""

from __future__ import annotations

import anthropic.types
import openai.types.chat
import openai.types.responses
import pytest

import harmonystream as hs
from harmonystream.tools.calls import Call, call_of

TEXT = '{"n": 1}'
CHAT = {"id": "c", "type": "function", "function": {"name": "f", "arguments": TEXT}}
RESPONSES = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": TEXT}
MESSAGES = {"type": "tool_use", "id": "c", "name": "f", "input": {"n": 1}}


@pytest.mark.parametrize(
    ("item", "arguments"),
    [
        (hs.ToolCall(0, "f", TEXT, "c", "function", True, True), TEXT),
        (CHAT, TEXT),
        (RESPONSES, TEXT),
        (MESSAGES, {"n": 1}),
        (openai.types.chat.ChatCompletionMessageFunctionToolCall.model_validate(CHAT), TEXT),
        (openai.types.responses.ResponseFunctionToolCall.model_validate(RESPONSES), TEXT),
        (anthropic.types.ToolUseBlock.model_validate(MESSAGES), {"n": 1}),
    ],
)
def test_calls_of_every_form_are_read(item, arguments):
    assert call_of(item) == Call("c", "f", arguments, True)


def test_a_call_that_was_cut_says_so():
    assert not call_of(hs.ToolCall(0, "f", TEXT, "c", "function", False, True)).complete
    assert not call_of({**RESPONSES, "status": "incomplete"}).complete
    assert call_of({**RESPONSES, "status": "completed"}).complete


def test_missing_arguments_are_none():
    assert call_of({"name": "f"}) == Call(None, "f", "", True)


@pytest.mark.parametrize("item", [None, 3, "f", {}, {"name": 3}, {"name": "f", "arguments": 3}, {"function": {}}])
def test_anything_else_is_refused(item):
    with pytest.raises(TypeError, match="a call has a name, and arguments as text or as an object"):
        call_of(item)
