"""UTF-8: what is whole, what is incomplete and what U+FFFD replaces, as bytes.decode("utf-8", "replace") has it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream import ContentDelta
from harmonystream.vocab import from_bytes

EDGES = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF]
EDGES += [0xF0, 0xF1, 0xF4, 0xF5, 0xFF]
"""The bytes at which a rule of UTF-8 begins or ends."""


def read(pieces: list[bytes]) -> str:
    """The pieces as a stream's text."""
    parser = hs.Parser("harmony", start="answer")
    events = [event for piece in pieces for event in parser.feed_text(piece)] + [*parser.finish()]
    return "".join(event.text for event in events if isinstance(event, ContentDelta))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_each_short_sequence_of_edges(size):
    for sequence in itertools.product(EDGES, repeat=size):
        data = bytes(sequence)
        assert read([data]) == data.decode("utf-8", "replace"), data


@given(st.lists(st.sampled_from(EDGES) | st.integers(0x80, 0xBF), max_size=12).map(bytes), st.integers(0, 12))
def test_the_cut_changes_nothing(data, cut):
    expected = data.decode("utf-8", "replace")
    assert read([data[:cut], data[cut:]]) == expected
    assert read([data[i : i + 1] for i in range(len(data))]) == expected


@given(st.lists(st.sampled_from(EDGES), min_size=1, max_size=5).map(bytes))
def test_a_token_is_text_of_its_own_or_waits(data):
    """The vocabulary knows which tokens are whole characters; the next token completes the others."""
    vocab = from_bytes([b"x", data, b"<|end|>"], {"<|end|>": 2})
    parser = hs.Parser("think", vocab, start="answer", trim="none")
    events = [event for tid in (1, 0, 1) for event in parser.feed(tid)] + [*parser.finish()]
    text = "".join(event.text for event in events if isinstance(event, ContentDelta))
    assert text == (data + b"x" + data).decode("utf-8", "replace")


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d\ude00", "\ude00\ud83d😀"])
def test_a_surrogate_is_replaced(text):
    parser = hs.Parser("harmony", start="answer")
    events = parser.feed_text(text)
    clean = "".join("\ufffd" if 0xD800 <= ord(character) < 0xE000 else character for character in text)
    assert "".join(event.text for event in events if isinstance(event, ContentDelta)) == clean


class Text(str):
    __slots__ = ()


LONE = Text("a\ud800b")


@pytest.mark.parametrize(
    "call",
    [
        lambda: hs.Parser("think").feed_text(LONE),
        lambda: hs.Parser("think").feed_delta(LONE),
        lambda: hs.parse(LONE, "think"),
        lambda: hs.inside.JsonScanner().feed(LONE),
        lambda: hs.Parser(start=Text("<|start|>assistant<|channel|>final<|message|>\ud800")),
        lambda: hs.ChatStream("think", id="c", model=LONE, created=1).start(),
    ],
    ids=["feed_text", "feed_delta", "parse", "JsonScanner", "start", "model"],
)
def test_a_subclass_of_str_with_a_lone_surrogate(call):
    """numpy has such a class. It is text like any other."""
    call()
