"""The tuple and the events that feed() uses again: nobody who holds one sees it change."""

from __future__ import annotations

import gc
import random
import sysconfig

import pytest
from streams import to_ids

import harmonystream as hs

HARMONY = (
    "<|channel|>analysis<|message|>One, two and three.<|end|><|start|>assistant"
    '<|channel|>commentary to=functions.f<|message|>{"city": "Paris", "n": 1}<|call|>'
    "<|start|>assistant<|channel|>final<|message|>It is sunny today.<|return|>"
)
HERMES = '<think>One, two.</think>\nYes: it is.\n<tool_call>{"name": "f", "arguments": {"c": "a b c"}}</tool_call>'
STREAMS = {
    "ids": ("harmony", to_ids(HARMONY.encode())),
    "text": ("harmony", list(HARMONY)),
    "tags": ("hermes", list(HERMES)),
}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("seed", range(20))
def test_what_is_held_does_not_change(stream, seed):
    format, pieces = STREAMS[stream]
    chance, parser, held = random.Random(seed), hs.Parser(format), []
    feed = parser.feed_text if isinstance(pieces[0], str) else parser.feed
    for piece in pieces:
        events = feed(piece)
        for event in events:
            if chance.random() < 0.4:
                held.append((event, repr(event)))
        if chance.random() < 0.3:
            held.append((events, repr(events)))
        if held and chance.random() < 0.2:
            held.pop(chance.randrange(len(held)))
    assert held
    for each, said in held:
        assert repr(each) == said


def test_a_copy_has_events_of_its_own():
    parser = hs.Parser(start="answer")
    _, first = parser.feed_text("a")
    copy = parser.fork()
    for text in "bcd":
        (mine,), (theirs,) = parser.feed_text(text), copy.feed_text(text)
        assert mine == theirs
        assert mine is not theirs
    assert first.text == "a"


@pytest.mark.release
@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="another thread may hold an event")
def test_a_loop_makes_two_events():
    parser, found = hs.Parser(start="answer"), []
    gc.collect()
    parser.feed_text("a")
    for text in "bcdefghi":
        for event in parser.feed_text(text):
            found.append((id(event), event.text))
    assert "".join(text for _, text in found) == "bcdefghi"
    assert len({number for number, _ in found}) == 2
