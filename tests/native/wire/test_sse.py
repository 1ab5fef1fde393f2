"""SseWriter by itself, with templates of its own: its bytes are those of the standard library's JSON, whatever the
text.
"""

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
from harmonystream._native.wire.sse import SseWriter
from harmonystream._native.wire.template import Templates

Parts = tuple[list[bytes], list[str]]
FINAL = [200005, 17196, 200008]  # <|channel|>final<|message|>
NOTHING: Parts = ([b""], [])
CONSTANTS = ("id", "7", "stem", "model", "")


def templates(delta: Parts, **options: Any) -> Templates:
    """Of content: its deltas have this frame. A call begins and ends with its name and id."""
    items: dict[Any, Parts] = {("delta", "content", channel): delta for channel in range(5)}
    items |= {
        ("item", "content", 3): ([b',{"text":"', b'"}'], ["text"]),
        ("cut item", "content", 3): ([b',"', b'"'], ["text"]),
    }
    items |= {
        ("begin", "arguments", 0): ([b"<", b" ", b">"], ["call name", "call id"]),
        ("cut", "arguments", 0): ([b"<cut>"], []),
    }
    items |= {
        ("end", "arguments", 0): ([b"</", b">"], ["call name"]),
        ("delta", "arguments", 0): ([b"", b""], ["delta"]),
    }
    return Templates(
        items, ([b"<begin>"], []), ([b"<end ", b">"], ["reason"]), call_id=([b"call", b""], ["call index"]), **options
    )


class Writer(SseWriter):
    """Says that it is asked, and who was."""

    _own_call_id = None
    _taken = frozenset({"call1"})

    def _answer_call(self, event: hs.ToolCallStart, index: int, item: int) -> Any:
        return 0, event.name, f"own{index}", "", "", None

    def _answer_reason(self, reason: str | None, calls: int) -> tuple[str, str]:
        return f"{reason} after {calls}", ""

    def _feed_with(self, ids: Any, logprobs: Any) -> bytes:
        return f"<{ids} with {logprobs}>".encode()


def writer(delta: Parts = NOTHING, kind: type[SseWriter] = Writer, parser: Any = None) -> Any:
    made = kind(parser or hs.Parser())
    made._begin(False, templates(delta), CONSTANTS, 0, "")
    return made


def framed(made: Any, text: str) -> bytes:
    """The frame of a text that opens a message of content, or goes on with it."""
    if made.parser.position == 0:
        made.feed_text("<|channel|>final<|message|>")
    return made.feed_text(text)


TEXT: Parts = ([b'data: {"t":"', b'"}\n\n'], ["delta"])
NUMBERED: Parts = ([b'{"n":', b',"t":"', b'"}\n'], ["number", "delta"])


def kept(made: Any) -> Any:
    """The text of what is open."""
    (text,) = json.loads(made._items(True))
    return text


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
    assert kept(made) == text


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb", "\ud83d"])
def test_a_lone_surrogate_is_replaced(text):
    made = writer(TEXT)
    clean = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert framed(made, text) == b'data: {"t":' + dumped(clean) + b"}\n\n"
    assert kept(made) == clean


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
    [
        ([b"x"], [], b"x"),
        ([b"", b""], ["number"], b"0"),
        ([b"", b"", b"", b""], ["delta", "number", "delta"], b"\\n0\\n"),
    ],
)
def test_any_number_of_holes(parts, holes, whole):
    assert framed(writer((parts, holes)), "\n") == whole
    fed = writer((parts, holes))
    fed.feed(FINAL)
    assert fed.feed(198) == whole  # "\n", by the short way
    assert kept(fed) == "\n"


def test_what_is_hidden_is_not_sent_kept_or_counted():
    made = writer(NOTHING)
    assert made.feed([*FINAL, 13225]) == b""
    assert (made.feed(13225), made.feed([13225, 252])) == (b"", b"")
    assert (made._items(True), made._number) == ("[]", 0)
    assert made.parser.position == 7


def test_what_has_no_delta_is_kept_and_not_sent():
    made = Writer(hs.Parser())
    items: Any = {
        ("cut item", "content", 3): ([b',"', b'"'], ["text"]),
        ("begin", "content", 3): ([b"[", b"]"], ["item index"]),
    }
    made._begin(False, Templates(items, NOTHING, NOTHING), CONSTANTS, 0, "")
    assert made.feed([*FINAL, 13225]) == b"[0]"
    assert (made.feed(13225), kept(made)) == (b"", "HelloHello")


CALL = "<|channel|>commentary to=functions.f<|message|>{}<|call|><|start|>assistant"


def test_ids_of_calls_are_asked_for_where_the_usual_one_is_taken():
    made = writer(TEXT)
    assert made.feed_text(CALL * 2) == b"<f call0>{}</f><f call1>{}</f>"
    made = Writer(hs.Parser())
    made._call_ids = type("Ids", (), {"decide": lambda self, own, index: f"{own}{index}"})()
    made._begin(False, templates(TEXT), CONSTANTS, made._question_bits(True, False, False), "")
    assert made.feed_text(CALL * 3) == b"<f call0>{}</f><f None1>{}</f><f call2>{}</f>"
    made = Writer(hs.Parser())
    made._begin(False, templates(TEXT), CONSTANTS, made._question_bits(False, True, False), "")
    assert made.feed_text(CALL * 2) == b"<f own0>{}</f><f own1>{}</f>"


def test_a_constant_may_be_in_the_head():
    made = Writer(hs.Parser())
    opening: Parts = (
        [b"", b"|", b"|", b"|", b"|", b"|", b"."],
        ["response id", "created", "id stem", "model", "head", "usage"],
    )
    head: Parts = ([b"head of ", b""], ["model"])
    given = ('i"', "7", "s", "m\ufffd", None)
    begun = made._begin(False, Templates({}, opening, NOTHING, head=head), given, 0, "usage")
    assert begun == 'i\\"|7|s|m\ufffd|head of m\ufffd|usage.'.encode()


def test_what_is_raised_meanwhile_comes_through_and_keeps_what_came_before():
    class Raising(Writer):
        def _answer_call(self, event: hs.ToolCallStart, index: int, item: int) -> Any:
            raise LookupError("mine")

    made = Raising(hs.Parser())
    made._begin(False, templates(TEXT), CONSTANTS, made._question_bits(False, True, False), "")
    with pytest.raises(LookupError, match="mine"):
        made.feed_text("<|channel|>final<|message|>Hi<|end|><|start|>assistant to=f<|message|>{}<|call|>")
    for feed, argument in ((made.feed, 13225), (made.feed_text, "x"), (made._end, "stop")):
        with pytest.raises(ValueError, match="raised an error halfway"):
            feed(argument)
    assert made._over() == b'data: {"t":"Hi"}\n\n'
    assert made._over() == b""


def test_a_strict_parser_loses_nothing_either():
    made = writer(TEXT, parser=hs.Parser(strict=True))
    with pytest.raises(hs.errors.ParseError) as raised:
        made.feed_text("<|channel|>final<|message|>Hi<|channel|>x")
    assert [type(event).__name__ for event in raised.value.events] == ["MessageStart", "ContentDelta", "MessageEnd"]
    assert made._over() == b'data: {"t":"Hi"}\n\n'


def test_a_strict_parser_names_what_is_open():
    made = writer(TEXT, parser=hs.Parser(strict=True))
    made.feed_text("<|channel|>final<|message|>Hi")
    with pytest.raises(hs.errors.ParseError) as raised:
        made.feed_text("<|end|><|start|>assistant<|message|>x<|channel|>")
    assert [event.channel for event in raised.value.events if isinstance(event, hs.MessageEnd)] == ["final", None]


def test_stages():
    made = Writer(hs.Parser())
    assert (made.is_new, made.ended) == (True, False)
    assert repr(made) == "<Writer of harmony, new>"
    with pytest.raises(ValueError, match=r"call start\(\) first"):
        made.feed(200005)
    made._begin(False, templates(TEXT), CONSTANTS, 0, "")
    with pytest.raises(ValueError, match=r"call start\(\) once"):
        made._begin(True, templates(TEXT), CONSTANTS, 0, "")
    with pytest.raises(ValueError, match="writes bytes"):
        made._check(True)
    assert (made.is_new, made.ended) == (False, False)
    made._over()
    assert made.ended
    assert repr(made) == "<Writer of harmony, ended>"
    with pytest.raises(ValueError, match="has ended"):
        made.feed(200005)
    told = Writer(hs.Parser())
    told._begin(True, templates(TEXT), CONSTANTS, 0, "")
    with pytest.raises(ValueError, match="writes dicts"):
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
        shared._begin(False, templates(TEXT), CONSTANTS, 0, "")
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


def test_after_the_end_there_is_nothing_to_feed():
    made = writer(TEXT)
    assert made._end("length") == b"<end length after 0>"
    for feed, argument in ((made.feed, 13225), (made.feed, [13225]), (made.feed_text, "x")):
        with pytest.raises(ValueError, match="the stream is finished"):
            feed(argument)
    assert made._end() == b""
