"""Frames: their bytes are those of the standard library's JSON, whatever the text."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream._sse import Frame, SseWriter

FINAL = [200005, 17196, 200008]  # <|channel|>final<|message|>


def writer(frame: Frame | None = None) -> SseWriter:
    made = SseWriter(hs.Parser(), lambda event: f"<{type(event).__name__}>".encode())
    made.content_frame = frame
    return made


TEXT = Frame([b'data: {"t":"', b'"}\n\n'], "t")
NUMBERED = Frame([b'{"n":', b',"t":"', b'"}\n'], "nt")


def dumped(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


@given(st.text() | st.text('\x00\x1f\x7f\\"/\u2028\u2029\u0085\ue000\ue001<é日😀', max_size=40))
def test_text_is_escaped_as_json_dumps_does(text):
    assert writer(TEXT).frame("content", text) == b'data: {"t":' + dumped(text) + b"}\n\n"


def test_every_character_of_the_basic_plane_comes_back():
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000)]))
    made = writer(TEXT)
    assert made.frame("content", text) == b'data: {"t":' + dumped(text) + b"}\n\n"
    assert made.take("content") == text


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d"])
def test_a_lone_surrogate_is_replaced(text):
    made = writer(TEXT)
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert made.frame("content", text) == b'data: {"t":' + dumped(clean) + b"}\n\n"
    assert made.take("content") == clean


@pytest.mark.parametrize("number", [0, 9, 10, 1234567890, 2**63 - 1, -1, -(2**63)])
def test_numbers(number):
    made = writer(NUMBERED)
    made.number = number
    assert made.frame("content", "x") == b'{"n":%d,"t":"x"}\n' % number


def test_a_number_counts_the_frames():
    made = writer(NUMBERED)
    assert [made.frame("content", text) for text in "ab"] == [b'{"n":0,"t":"a"}\n', b'{"n":1,"t":"b"}\n']
    assert made.number == 2


@pytest.mark.parametrize(
    ("parts", "holes", "whole"),
    [([b"x"], "", b"x"), ([b"", b""], "n", b"0"), ([b"", b"", b"", b""], "tnt", b"\\n0\\n")],
)
def test_any_number_of_holes(parts, holes, whole):
    assert writer(Frame(parts, holes)).frame("content", "\n") == whole
    fed = writer(Frame(parts, holes))
    fed.feed(FINAL)
    assert fed.feed(198) == whole  # "\n", by the short way
    assert fed.take("content") == "\n"


def test_a_silent_frame_sends_keeps_and_counts_nothing():
    made = writer(Frame([b""], ""))
    assert made.feed([*FINAL, 13225]) == b"<MessageStart>"
    assert (made.feed(13225), made.feed([13225, 252])) == (b"", b"")
    assert (made.take("content"), made.number) == ("", 0)
    assert made.parser.position == 7


@pytest.mark.parametrize(
    ("parts", "holes", "error"),
    [
        ([], "", ValueError),
        ([b"a"], "t", ValueError),
        ([b"a", b"b"], "x", ValueError),
        ([b"a", b"b"], "é", ValueError),
        ([b"a", "b"], "t", TypeError),
        ([bytearray(b"a")], "", TypeError),
        ([b"a"], None, TypeError),
    ],
)
def test_what_is_no_frame(parts, holes, error):
    with pytest.raises(error):
        Frame(parts, holes)


def test_what_is_no_frame_of_a_writer():
    with pytest.raises(TypeError):
        writer().content_frame = b"bytes"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="there is no content_frame"):
        writer().frame("content", "x")
    with pytest.raises(KeyError):
        writer().take("thoughts")


def test_a_frame_shows_itself():
    assert repr(Frame([b"a", b"b"], "t")) == "Frame((b'a', b'b'), 't')"


def test_without_a_frame_the_callback_gets_the_delta():
    assert writer().feed([*FINAL, 13225]) == b"<MessageStart><ContentDelta>"


def test_the_callback_may_frame_and_change_frames():
    def on_event(event: hs.Event) -> bytes:
        made.content_frame = TEXT
        return b"[" + made.frame("content", "made") + b"]"

    made = SseWriter(hs.Parser(), on_event)
    assert made.feed([*FINAL, 13225]) == b'[data: {"t":"made"}\n\n]data: {"t":"Hello"}\n\n'
    assert made.take("content") == "madeHello"


def test_the_callback_returns_bytes():
    made = SseWriter(hs.Parser(), lambda event: "text")  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match="on_event returns bytes, not str"):
        made.feed(FINAL)


def test_what_the_callback_raises_comes_through():
    def on_event(event: hs.Event) -> bytes:
        raise LookupError("mine")

    made = SseWriter(hs.Parser(), on_event)
    with pytest.raises(LookupError, match="mine"):
        made.feed(FINAL)
    made.content_frame = TEXT
    assert made.feed(13225) == b'data: {"t":"Hello"}\n\n'


def test_kept_is_what_was_framed_or_given_since_the_last_take():
    made = writer(TEXT)
    made.frame("content", 'a"')
    made.keep("content", "\n\ud800")
    made.keep("arguments", "{}")
    assert (made.take("content"), made.take("content"), made.take("arguments")) == ('a"\n\ufffd', "", "{}")


def test_after_the_end_there_is_nothing_to_feed():
    made = writer(TEXT)
    assert made.finish() == b"<StreamEnd>"
    for feed, argument in ((made.feed, 13225), (made.feed, [13225]), (made.feed_text, "x")):
        with pytest.raises(ValueError, match="the stream is finished"):
            feed(argument)
    assert made.finish() == b""


def seconds(text: str) -> float:
    best = 1.0
    for _ in range(3):
        made = writer(TEXT)
        start = time.perf_counter()
        made.frame("content", text)
        made.take("content")
        best = min(best, time.perf_counter() - start)
    return best


def test_big_texts_take_time_in_proportion():
    """Both are larger than the caches; eight times the text would take 64 times as long if something were quadratic."""
    assert seconds("é\n" * 3_200_000) < 24 * seconds("é\n" * 400_000)
