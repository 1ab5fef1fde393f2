"""One caller at a time: an emitter refuses a second thread, and what its own callback calls."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

import harmonystream as hs

CALL = "<|channel|>commentary to=functions.f<|message|>{}<|call|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>"


def chat(call_id: Callable[[int], str]) -> hs.ChatStream:
    return hs.ChatStream(hs.Parser(), id="c", model="m", created=1, call_id=call_id)


VERBS = {
    "feed": lambda stream: stream.feed(13225),
    "feed_text": lambda stream: stream.feed_text("x"),
    "start": lambda stream: stream.start(),
    "finish": lambda stream: stream.finish("stop"),
    "error": lambda stream: stream.error("mine"),
    "events": lambda stream: stream.events("x"),
}


def refusals(stream: hs.ChatStream) -> list[str]:
    """The verbs that this stream refuses to everybody now."""
    refused = []
    for name, verb in VERBS.items():
        try:
            verb(stream)
        except (RuntimeError, ValueError) as error:  # ValueError: the stage forbids it anyway
            if isinstance(error, ValueError) or "in use" in str(error):
                refused.append(name)
    return refused


@pytest.mark.parametrize("dicts", [False, True])
def test_a_callback_cannot_feed_its_own_stream(dicts):
    """Its text would go out before text that the parser has read already."""
    seen: list[list[str]] = []

    def call_id(index: int) -> str:
        seen.append(refusals(stream))
        return f"call_{index}"

    stream = chat(call_id)
    if dicts:
        stream.events()
        told = str(stream.events(CALL)) + str(stream.events(FINAL + "AB"))
    else:
        stream.start()
        told = (stream.feed_text(CALL) + stream.feed_text(FINAL + "AB")).decode()
    assert seen == [list(VERBS)]
    assert "call_0" in told
    assert stream.response()["choices"][0]["message"]["content"] == "AB"


@pytest.mark.parametrize("dicts", [False, True])
def test_a_second_thread_is_refused_while_a_callback_waits(dicts):
    inside, go_on = threading.Event(), threading.Event()

    def call_id(index: int) -> str:
        inside.set()
        assert go_on.wait(30)
        return f"call_{index}"

    stream = chat(call_id)
    if dicts:
        stream.events()
        read = stream.events
    else:
        stream.start()
        read = stream.feed_text
    thread = threading.Thread(target=lambda: read(CALL + FINAL + "A"))
    thread.start()
    try:
        assert inside.wait(30)
        refused = refusals(stream)
    finally:
        go_on.set()
        thread.join()
    assert refused == list(VERBS)
    read("B")
    message = stream.response()["choices"][0]["message"]
    assert (message["content"], [call["id"] for call in message["tool_calls"]]) == ("AB", ["call_0"])


def test_the_parser_is_taken_as_well():
    """What a callback did to the parser between two records would be lost, or told twice."""
    said = []

    def call_id(index: int) -> str:
        parser = stream.parser
        for verb in (parser.fork, parser.to_bytes, parser.reset):
            with pytest.raises(RuntimeError, match="in use"):
                verb()
        said.append((stream.parser.region, stream.parser.usage.total))
        return f"call_{index}"

    stream = chat(call_id)
    stream.start()
    stream.feed_text(CALL)
    assert said == [(hs.Region.START, len(CALL))]
    assert stream.parser.fork().position == len(CALL)


def test_a_callback_may_feed_another_stream():
    other = chat(lambda index: f"other_{index}")
    other.start()
    stream = chat(lambda index: other.feed_text(CALL).decode() and f"call_{index}")
    stream.start()
    assert b"call_0" in stream.feed_text(CALL)
    assert other.response()["choices"][0]["message"]["tool_calls"][0]["id"] == "other_0"
