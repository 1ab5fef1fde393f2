"""What all emitters share: frames from payloads, and the defaults."""

from __future__ import annotations

import gc
import importlib
import json
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import harmonystream as hs
from harmonystream import emit
from harmonystream._native.wire import batch, frames
from harmonystream.emit import columns
from harmonystream.emit.common.stream import EventStream


def test_numbers_count_every_payload_in_bytes_and_in_dicts():
    ids = [200005, 17196, 200008, 13225, 2809, 252, 200002]
    fed, told = (hs.ResponsesStream(hs.Parser(), id="r", model="m", created=1) for _ in range(2))
    data = fed.start() + b"".join(map(fed.feed, ids)) + fed.finish()
    chunks = told.events() + [one for token in ids for one in told.events(token)] + told.events(finish=True)
    frames = data.decode().split("\n\n")[:-1]
    assert [json.loads(frame.split("\ndata: ")[1]) for frame in frames] == chunks
    assert [chunk["sequence_number"] for chunk in chunks] == list(range(len(chunks)))
    assert [frame.split("\n")[0] for frame in frames] == [f"event: {chunk['type']}" for chunk in chunks]


def test_text_and_tokens_are_distinguished():
    stream = hs.ChatStream(hs.Parser(), id="c", model="m", created=1)
    stream.start()
    assert stream.in_text is False
    stream.feed_text("x")
    assert stream.in_text is True


MAKERS: dict[str, Any] = {
    "chat": lambda parser, **options: hs.ChatStream(parser, id="c", model="m", created=1, **options),
    "responses": lambda parser, **options: hs.ResponsesStream(parser, id="r", model="m", created=1, **options),
    "messages": lambda parser, **options: hs.MessagesStream(parser, id="m", model="m", **options),
}
every_api = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
CALLS = "<|channel|>commentary to=functions.f<|message|>{}<|call|>"
SAID = "<|channel|>final<|message|>Hi<|end|><|start|>assistant" + CALLS


@every_api
def test_what_comes_out_of_order_is_refused(make):
    stream = make(hs.Parser())
    for early in (lambda: stream.feed(200005), lambda: stream.feed_text("x"), stream.finish, lambda: stream.events(5)):
        with pytest.raises(ValueError, match=r"call start\(\) first"):
            early()
    assert stream.start()
    for again in (stream.start, stream.events, lambda: stream.events(5), lambda: stream.events(finish=True)):
        with pytest.raises(ValueError, match="writes bytes and has started"):
            again()
    assert stream.feed([200005, 17196, 200008, 13225]) + stream.finish("stop")
    for late in (stream.start, stream.finish, lambda: stream.feed(13225), lambda: stream.feed_text("x"), stream.events):
        with pytest.raises(ValueError, match="has ended"):
            late()
    assert (stream.error("x"), stream.error_events("x")) == (b"", [])
    told = make(hs.Parser())
    told.events()
    for bytes_now in (told.start, lambda: told.feed(200005), told.finish):
        with pytest.raises(ValueError, match="writes dicts"):
            bytes_now()


@every_api
def test_an_error_ends_it_for_good(make):
    stream = make(hs.Parser())
    stream.start()
    assert stream.error("mine")
    assert stream.ended
    with pytest.raises(ValueError, match="has ended"):
        stream.finish()
    assert stream.error("again") == b""


@every_api
@pytest.mark.parametrize("usage", [5, {"input_tokens": "5"}, {"x": {1}}])
def test_a_usage_that_is_none_ends_nothing(make, usage):
    fed, told, right = make(hs.Parser()), make(hs.Parser()), make(hs.Parser())
    sent, made = fed.start(), told.events()
    for stream in (fed, told):
        with pytest.raises(TypeError):
            stream.finish("stop", usage) if stream is fed else stream.events(finish=True, reason="stop", usage=usage)
    assert sent + fed.finish("stop") == right.start() + right.finish("stop")
    assert made + told.events(finish=True, reason="stop") == (one := make(hs.Parser())).events() + one.events(
        finish=True, reason="stop"
    )


@every_api
def test_what_a_callback_raises_loses_nothing(make):
    def call_id(index: int) -> str:
        if index:
            raise LookupError("mine")
        return "own"

    text = SAID + "<|start|>assistant" + CALLS
    fed, told = make(hs.Parser(), call_id=call_id), make(hs.Parser(), call_id=call_id)
    sent, made = fed.start(), told.events()
    for feed in (fed.feed_text, told.events):
        with pytest.raises(LookupError, match="mine"):
            feed(text)
        with pytest.raises(ValueError, match="raised an error halfway"):
            feed("x")
    sent += fed.error("broken")
    made += told.error_events("broken")
    frames = [frame for frame in sent.decode().split("\n\n")[:-1] if frame != "data: [DONE]"]
    assert [json.loads(frame.partition("data: ")[2]) for frame in frames] == made
    assert '"own"' in sent.decode()
    numbers = [one["sequence_number"] for one in made if "sequence_number" in one]
    assert numbers == list(range(len(numbers)))


@every_api
def test_a_strict_parser_loses_nothing(make):
    fed, told = make(hs.Parser(strict=True)), make(hs.Parser(strict=True))
    sent, made = fed.start(), told.events()
    for feed in (fed.feed_text, told.events):
        with pytest.raises(hs.errors.ParseError):
            feed("<|channel|>final<|message|>Hi<|channel|>x")
    sent, made = sent + fed.error("broken"), made + told.error_events("broken")
    frames = [frame for frame in sent.decode().split("\n\n")[:-1] if frame != "data: [DONE]"]
    assert [json.loads(frame.partition("data: ")[2]) for frame in frames] == made
    assert '"Hi"' in sent.decode()


@every_api
def test_a_parser_that_has_read_is_refused_and_a_format_makes_one(make):
    parser = hs.Parser()
    parser.feed(200005)
    with pytest.raises(ValueError, match="has read up to 1"):
        make(parser)
    stream = make("hermes", tools=["f"])
    assert stream.start() + stream.feed_text("Hi") + stream.finish("stop")
    assert stream.parser.format == "hermes"


@every_api
def test_a_response_is_freed_with_its_last_reference(make):
    gc.disable()
    try:
        for read in (False, True):
            stream = make(hs.Parser())
            stream.start()
            stream.feed_text(SAID)
            if read:
                stream.finish("stop")
                stream.response()
            gone = weakref.ref(stream)
            del stream
            assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["id", "model"])
@pytest.mark.parametrize(
    ("kind", "rest"),
    [(hs.ChatStream, {"created": 1}), (hs.ResponsesStream, {"created": 1}), (hs.MessagesStream, {})],
)
def test_the_identity_is_text(kind, rest, name):
    with pytest.raises(TypeError, match=f"{name} is a str, not int"):
        kind(hs.Parser(), **{"id": "x", "model": "m", **rest, name: 5})


def test_what_has_no_templates_is_not_an_api():
    with pytest.raises(NotImplementedError):
        EventStream(hs.Parser()).start()


def test_emitters_are_loaded_when_they_are_asked_for():
    code = (
        "import sys, harmonystream as hs; before = 'harmonystream.emit' in sys.modules; hs.ChatStream\n"
        "print(before, 'harmonystream.emit' in sys.modules, 'harmonystream._native.wire.batch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False True False\n"


def test_the_names_of_the_package():
    for name in ("ChatStream", "MessagesStream", "ResponsesStream", "new_id"):
        assert getattr(hs, name) is getattr(emit, name)
    assert (hs.batch.Batch, hs.batch.Frames, hs.batch.Columns) == (batch.Batch, frames.Frames, columns.Columns)
    assert set(hs.__all__) <= set(dir(hs))
    with pytest.raises(AttributeError, match="has no attribute 'NoStream'"):
        _ = hs.NoStream


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
@pytest.mark.parametrize("dicts", [False, True])
def test_a_parser_is_one_emitters(api: str, dicts: bool) -> None:
    """The first one would never see its end."""
    parser = hs.Parser()
    kinds: dict[str, Any] = {
        "chat": lambda: hs.ChatStream(parser, id="c", model="m", created=1),
        "responses": lambda: hs.ResponsesStream(parser, id="r", model="m", created=1),
        "messages": lambda: hs.MessagesStream(parser, id="m", model="m"),
    }
    first, second = kinds[api](), kinds[api]()
    first.start()
    with pytest.raises(ValueError, match="another emitter uses this parser"):
        second.events() if dicts else second.start()
    refused = "^an emitter uses this parser: call the emitter"
    beside: list[Callable[[], object]] = [lambda: parser.feed(200005), lambda: parser.feed([200005, 35644])]
    beside += [lambda: parser.feed_text("a"), lambda: parser.feed_delta("a"), lambda: parser.feed_delta([200005])]
    beside += [lambda: parser.finish("stop"), parser.finish_delta]
    for read in beside:
        with pytest.raises(ValueError, match=refused):
            read()
    assert parser.position == 0
    first.feed([200005, 17196, 200008])
    beside += [lambda: parser.feed(13225), lambda: parser.feed_delta(13225), lambda: parser.feed([])]
    for read in beside:
        with pytest.raises(ValueError, match=refused):
            read()
    assert parser.position == 3
    assert first.finish("stop")
    parser.reset()
    assert kinds[api]().start()


PARTED = ("Wait.", '<tool_call>{"name": "f"}</tool_call>', "雨 falls.", '<tool_call>{"name": "f"}</tool_call>', " So.")


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("dicts", [False, True])
@pytest.mark.parametrize("keep_text", [True, False])
@pytest.mark.parametrize("api", ["chat", "messages", "responses"])
def test_a_newline_parts_texts_around_a_call_in_one_field_and_begins_no_item(api, keep_text, dicts, size):
    kind = {"chat": emit.ChatStream, "messages": emit.MessagesStream, "responses": emit.ResponsesStream}[api]
    time = {"chat": {"created": 0}, "messages": {}, "responses": {"created": 0}}[api]
    stream = kind("hermes", id="i", model="m", keep_text=keep_text, **time)
    written = "".join(PARTED).encode()
    frames = [] if dicts else [stream.start()]
    payloads = stream.events() if dicts else []
    for at in range(0, len(written), size):
        if dicts:
            payloads += stream.events(written[at : at + size])
        else:
            frames.append(stream.feed_text(written[at : at + size]))
            stream = kind.from_bytes(stream.to_bytes())
    frames.append(b"" if dicts else stream.flush())
    payloads += [json.loads(line[6:]) for line in b"".join(frames).splitlines() if line.startswith(b"data: {")]
    texts = [""]
    for one in payloads:
        if api == "chat":
            texts[-1] += one["choices"][0]["delta"].get("content") or ""
        elif one["type"] in ("content_block_start", "response.output_item.added"):
            texts.append("")
        elif one["type"] == "content_block_delta" and one["delta"]["type"] == "text_delta":
            texts[-1] += one["delta"]["text"]
        elif one["type"] == "response.output_text.delta":
            texts[-1] += one["delta"]
    expected = ["Wait.\n雨 falls. So."] if api == "chat" else ["", "Wait.", "", "雨 falls.", "", " So."]
    assert texts == expected


@pytest.mark.parametrize("api", MAKERS)
def test_a_new_name_of_a_model_and_new_fields_cost_no_new_templates(api):
    """They are holes: a server that answers for many models makes the templates once."""
    kept = importlib.import_module(f"harmonystream.emit.{api}.templates").templates_of
    made: dict[str, Any] = {"chat": hs.ChatStream, "responses": hs.ResponsesStream, "messages": hs.MessagesStream}
    created = {} if api == "messages" else {"created": 1}
    misses = set()
    for number in range(3):
        extra = {"metadata": {"user_id": str(number)}}
        stream = made[api](hs.Parser(), id="r", model=f"model-{number}", extra=extra, **created)
        assert f"model-{number}".encode() in stream.start() + stream.finish()
        misses.add(kept.cache_info().misses)
    assert len(misses) == 1
