"""A stream inside another's: flush() says what finish() says, without the frames that end a response."""

from __future__ import annotations

import pytest
from wire_frames import payloads_of
from wire_server import APIS

import harmonystream as hs

INSIDE = (
    "<|channel|>analysis<|message|>Look it up.<|end|>"
    '<|start|>assistant to=functions.f<|channel|>commentary<|message|>{"a": 1}<|call|>'
    "<|start|>assistant<|channel|>final<|message|>Half an ans"
)
TERMINAL = {
    "chat": lambda payload: payload == "[DONE]" or payload["choices"][0]["finish_reason"] is not None,
    "responses": lambda payload: payload["type"] in ("response.completed", "response.incomplete"),
    "messages": lambda payload: payload["type"] in ("message_delta", "message_stop"),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("reason", [None, "stop", "length"])
@pytest.mark.parametrize("cut", range(1, len(INSIDE), 7))
def test_flush_is_finish_without_the_terminal_frames(api, reason, cut):
    whole, inside = (APIS[api].stream_of(hs.Parser()) for _ in range(2))
    for stream in (whole, inside):
        stream.start()
        stream.feed_text(INSIDE[:cut])
    said = payloads_of(inside.flush(reason))
    ended = payloads_of(whole.finish(reason))
    assert said == [payload for payload in ended if not TERMINAL[api](payload)]
    assert len(said) < len(ended)
    assert inside.ended
    assert inside.parser.finish_reason == whole.parser.finish_reason
    with pytest.raises(ValueError, match="has ended"):
        inside.flush()


def test_flush_comes_after_start():
    with pytest.raises(ValueError, match="call start\\(\\) first"):
        APIS["chat"].stream_of(hs.Parser()).flush()
