"""Frames: their bytes are those of the standard library's JSON, whatever the text."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import weakref
from array import array
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream._native.wire.frame import Frame
from harmonystream._native.wire.sse import SseWriter

FINAL = [200005, 17196, 200008]  # <|channel|>final<|message|>


class Writer(SseWriter):
    """Says the names of events; deltas of content go into its frame, if it has one."""

    frame: Frame | None = None

    def _on_event(self, event: hs.Event) -> bytes | Frame:
        if self.frame is not None and isinstance(event, hs.ContentDelta):
            return self.frame
        return f"<{type(event).__name__}>".encode()

    def _feed_with(self, ids: Any, logprobs: Any) -> bytes:
        return f"<{ids} with {logprobs}>".encode()


def writer(frame: Frame | None = None, kind: type[SseWriter] = Writer) -> Any:
    made = kind(hs.Parser())
    if frame is not None:
        made.frame = frame
    made._start(False)
    return made


def framed(made: Any, text: str) -> bytes:
    """The frame of a text that opens a message of content, or goes on with it."""
    if made.parser.position == 0:
        made.feed_text("<|channel|>final<|message|>")
    return made.feed_text(text)


TEXT = Frame([b'data: {"t":"', b'"}\n\n'], "t")
NUMBERED = Frame([b'{"n":', b',"t":"', b'"}\n'], "nt")


def dumped(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


@given(st.text() | st.text('\x00\x1f\x7f\\"/\u2028\u2029\u0085\ue000\ue001<é日😀', max_size=40))
def test_text_is_escaped_as_json_dumps_does(text):
    assume("<|" not in text)
    text += "."  # a "<" at the end would wait for what follows
    assert framed(writer(TEXT), text) == b'data: {"t":' + dumped(text) + b"}\n\n"


def test_every_character_of_the_basic_plane_comes_back():
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000)]))
    made = writer(TEXT)
    assert framed(made, text) == b'data: {"t":' + dumped(text) + b"}\n\n"
    assert made._take("content") == text


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d"])
def test_a_lone_surrogate_is_replaced(text):
    made = writer(TEXT)
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert framed(made, text) == b'data: {"t":' + dumped(clean) + b"}\n\n"
    assert made._take("content") == clean


@pytest.mark.parametrize("number", [0, 9, 10, 1234567890, 2**63 - 1, -1, -(2**63)])
def test_numbers(number):
    made = writer(NUMBERED)
    made._number = number
    assert framed(made, "x") == b'{"n":%d,"t":"x"}\n' % number


def test_a_number_counts_the_frames():
    made = writer(NUMBERED)
    assert [framed(made, text) for text in "ab"] == [b'{"n":0,"t":"a"}\n', b'{"n":1,"t":"b"}\n']
    assert made._number == 2


@pytest.mark.parametrize(
    ("parts", "holes", "whole"),
    [([b"x"], "", b"x"), ([b"", b""], "n", b"0"), ([b"", b"", b"", b""], "tnt", b"\\n0\\n")],
)
def test_any_number_of_holes(parts, holes, whole):
    assert framed(writer(Frame(parts, holes)), "\n") == whole
    fed = writer(Frame(parts, holes))
    fed.feed(FINAL)
    assert fed.feed(198) == whole  # "\n", by the short way
    assert fed._take("content") == "\n"


def test_a_silent_frame_sends_keeps_and_counts_nothing():
    made = writer(Frame([b""], ""))
    assert made.feed([*FINAL, 13225]) == b"<MessageStart>"
    assert (made.feed(13225), made.feed([13225, 252])) == (b"", b"")
    assert (made._take("content"), made._number) == ("", 0)
    assert made.parser.position == 7


def test_what_is_no_frame_of_a_writer():
    class Framing(SseWriter):
        def _on_event(self, event: hs.Event) -> Frame:
            return TEXT

    with pytest.raises(TypeError, match=r"only a delta has a hole for text, not Frame\("):
        writer(kind=Framing).feed([*FINAL, 13225])
    with pytest.raises(KeyError):
        writer()._take("thoughts")


def test_without_a_frame_the_callback_gets_the_delta():
    assert writer().feed([*FINAL, 13225]) == b"<MessageStart><ContentDelta>"


def test_a_callback_that_returns_a_frame_is_asked_once():
    class Asked(Writer):
        asked = 0

        def _on_event(self, event: hs.Event) -> bytes | Frame:
            self.asked += isinstance(event, hs.ContentDelta)
            return super()._on_event(event)

    made = writer(TEXT, Asked)
    assert made.feed([*FINAL, 13225]) == b'<MessageStart>data: {"t":"Hello"}\n\n'
    assert made.feed([13225]) + made.feed(13225) == b'data: {"t":"Hello"}\n\n' * 2
    assert (made.asked, made._take("content")) == (1, "HelloHelloHello")


def test_a_frame_of_any_event_has_numbers():
    class Framing(Writer):
        def _on_event(self, event: hs.Event) -> bytes | Frame:
            if isinstance(event, hs.MessageStart):
                return Frame([b"<", b" ", b">"], "nn")
            return super()._on_event(event)

    made = writer(Frame([b"[", b":", b"]"], "nt"), Framing)
    assert made.feed([*FINAL, 13225]) == b"<0 1>[2:Hello]"
    assert (made.feed(13225), made._number) == (b"[3:Hello]", 4)
    batch = hs.batch.Batch()
    slots = [batch.add(writer(TEXT, Framing)), batch.add(made)]
    assert list(batch.feed_sse(slots, [*FINAL, 13225, 200007, *FINAL[:0]], [0, 4, 5])) == [
        b'<0 1>data: {"t":"Hello"}\n\n',
        b"<MessageEnd>",
    ]


def test_events_become_bytes():
    class Wrong(SseWriter):
        def _on_event(self, event: hs.Event) -> str:
            return "text"

    with pytest.raises(TypeError, match=r"_on_event returns bytes or a Frame, .* not 'text'"):
        writer(kind=Wrong).feed(FINAL)
    with pytest.raises(AttributeError, match="_on_event"):
        writer(kind=SseWriter).feed(FINAL)


def test_what_is_raised_meanwhile_comes_through_and_keeps_what_came_before():
    class Raising(Writer):
        def _on_event(self, event: hs.Event) -> bytes | Frame:
            if isinstance(event, hs.ToolCallStart):
                raise LookupError("mine")
            return super()._on_event(event)

    made = writer(TEXT, Raising)
    with pytest.raises(LookupError, match="mine"):
        made.feed_text("<|channel|>final<|message|>Hi<|end|><|start|>assistant to=f<|message|>{}<|call|>")
    for feed, argument in ((made.feed, 13225), (made.feed_text, "x"), (made._end, "stop")):
        with pytest.raises(ValueError, match="raised in the middle of something"):
            feed(argument)
    assert made._over() == b'<MessageStart>data: {"t":"Hi"}\n\n<MessageEnd><MessageStart>'
    assert made._over() == b""


def test_a_strict_parser_loses_nothing_either():
    made = Writer(hs.Parser(strict=True))
    made.frame = TEXT
    made._start(False)
    with pytest.raises(hs.errors.ParseError) as raised:
        made.feed_text("<|channel|>final<|message|>Hi<|channel|>x")
    assert [type(event).__name__ for event in raised.value.events] == ["MessageStart", "ContentDelta"]
    assert made._over() == b'<MessageStart>data: {"t":"Hi"}\n\n'


def test_stages():
    made = Writer(hs.Parser())
    assert (made.is_new, made.ended) == (True, False)
    assert repr(made) == "<Writer of harmony, new>"
    with pytest.raises(ValueError, match=r"start\(\) comes first"):
        made.feed(200005)
    made._start(False)
    with pytest.raises(ValueError, match=r"start\(\) comes once"):
        made._start(True)
    with pytest.raises(ValueError, match="is bytes"):
        made._check(True)
    assert (made.is_new, made.ended) == (False, False)
    made._over()
    assert made.ended
    assert repr(made) == "<Writer of harmony, ended>"
    with pytest.raises(ValueError, match="has ended"):
        made.feed(200005)
    told = Writer(hs.Parser())
    told._start(True)
    with pytest.raises(ValueError, match="is dicts"):
        told.feed(200005)


def test_a_parser_or_what_it_takes_to_make_one():
    made = Writer("hermes", tools=["f"])
    assert (made.parser.format, Writer().parser.format) == ("hermes", "harmony")
    with pytest.raises(TypeError, match="give them to Parser"):
        Writer(hs.Parser(), tools=["f"])
    fed = hs.Parser()
    fed.feed(200005)
    with pytest.raises(ValueError, match="has read up to 1"):
        Writer(fed)
    shared = Writer(hs.Parser())
    shared.parser.feed(200005)  # by itself, or by another emitter
    with pytest.raises(ValueError, match="has read up to 1"):
        shared._start(False)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="a Writer cannot be copied or pickled"):
            copied(made)


@pytest.mark.parametrize("given", [[1, 2], (1, 2), array("i", [1, 2]), iter([1, 2])])
def test_ids_as_a_list(given):
    assert Writer._listed(given) == [1, 2]


def test_logprobs_and_what_is_watched_go_another_way():
    made = writer(TEXT)
    made.feed(FINAL)
    assert made.feed(13225, [1]) == b"<13225 with [1]>"
    assert made.feed(13225, logprobs=[1]) == b"<13225 with [1]>"
    made._watched = True
    assert made.feed(13225) == b"<13225 with None>"
    assert made.parser.position == 3


def test_no_reference_leads_from_a_writer_to_itself():
    gc.disable()
    try:
        made = writer(TEXT)
        made.feed([*FINAL, 13225])
        gone = weakref.ref(made)
        del made
        assert gone() is None
    finally:
        gc.enable()


def test_a_writer_knows_whether_it_is_fed_text():
    made = writer(TEXT)
    assert made.in_text is False
    made.feed_text("x")
    assert made.in_text is True


def test_kept_is_what_was_framed_or_given_since_the_last_take():
    made = writer(TEXT)
    framed(made, 'a"')
    made._keep("content", "\n\ud800")
    made._keep("arguments", "{}")
    assert (made._take("content"), made._take("content"), made._take("arguments")) == ('a"\n\ufffd', "", "{}")


def test_after_the_end_there_is_nothing_to_feed():
    made = writer(TEXT)
    assert made._end() == b"<StreamEnd>"
    for feed, argument in ((made.feed, 13225), (made.feed, [13225]), (made.feed_text, "x")):
        with pytest.raises(ValueError, match="the stream is finished"):
            feed(argument)
    assert made._end() == b""
