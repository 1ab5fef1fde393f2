"""Text as JSON strings hold it, against the standard library: in a frame that is nothing but its hole."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream._native.wire.frame import Frame
from harmonystream._native.wire.sse import SseWriter


class Inside(SseWriter):
    """Writes a text as JSON strings hold it, and nothing else."""

    def _on_event(self, event: hs.Event) -> bytes | Frame:
        return Frame([b"", b""], "t") if isinstance(event, hs.ContentDelta) else b""


def escaped(text: str) -> bytes:
    writer = Inside(hs.Parser(start="answer"))
    writer._start(False)
    return (writer.feed_text(text + ".") + writer._end())[:-1]  # after the dot nothing waits for what follows


def expected(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


@given(st.text() | st.text('ab"\\\n\x01\x1f\x7fé', max_size=30))
def test_text_is_escaped_as_json_has_it(text):
    assume("<|" not in text)
    assert escaped(text) == expected(text)


@pytest.mark.parametrize("character", [*map(chr, range(0x20)), '"', "\\", "\x7f", "\x80", "é", "!", "#", "[", "]"])
def test_each_character_is_found_at_each_place(character):
    """Eight bytes are looked at together, so the place among them matters."""
    for before in range(17):
        text = "a" * before + character + "b" * (17 - before)
        assert escaped(text) == expected(text)


@pytest.mark.parametrize("size", [4095, 4096, 4097, 3 * 4096 + 1])
def test_a_long_text_is_escaped_in_parts(size):
    text = '"\x01' * size
    assert escaped(text) == expected(text)
