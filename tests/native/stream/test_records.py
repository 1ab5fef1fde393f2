"""From records to events: what comes out of one feed, whatever its size."""

from __future__ import annotations

import pytest
from streams import to_ids

import harmonystream as hs

TURN = to_ids("<|channel|>commentary to=functions.f<|message|>é😀<|call|><|start|>assistant".encode())


@pytest.mark.parametrize("turns", [1, 4, 5, 100, 2000])
def test_many_records_in_one_feed(turns):
    """More records and more text than fit on the stack."""
    events = hs.Parser().feed(TURN * turns)
    assert len(events) == 5 * turns
    assert [event.index for event in events if type(event) is hs.ToolCallEnd] == list(range(turns))
    assert {event.name for event in events if type(event) is hs.ToolCallStart} == {"f"}
    assert {event.arguments for event in events if type(event) is hs.ToolCallDelta} == {"é😀"}


@pytest.mark.release
@pytest.mark.parametrize("size", [1, 2000, 2040, 2048, 2049, 4096, 1_000_000])
@pytest.mark.parametrize("character", ["x", "é", "茶", "😀"])
def test_much_text_in_one_feed(size, character):
    text = character * size
    parser = hs.Parser(start="answer")
    assert parser.feed_text(text.encode() + b"<")[1].text == text
    assert parser.feed_text("|end|>")[0].start == len(text.encode())


def test_long_headers_are_copied_whole():
    name = "n" * 200
    start, call = hs.Parser().feed_text(f"<|channel|>commentary to=functions.{name} json<|message|>")
    assert (start.recipient, start.content_type, call.name) == (f"functions.{name}", "json", name)
