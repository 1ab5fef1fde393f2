"""ResponsesStream on every scenario and format: official client over HTTP, bytes and dicts, every chunking."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from families import FAMILIES, TOOLS, render
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from random_streams import byte_streams, id_streams, options, seeds
from random_tags import TAG_FORMATS, texts, vocabularies
from random_tags import id_streams as tag_id_streams
from random_tags import options as tag_options
from streams import random_chunks, to_ids
from tag_streams import tokens
from wire_responses import assembled, outline, outline_of, payloads_of, read_by_client, served, validate

import harmonystream as hs
from harmonystream.emit.responses import ResponsesStream

USAGE = {"input_tokens": 7, "output_tokens": 30}
NAMES = ["f", "g"]


def message(channel: str, text: str, end: str = "<|end|>") -> str:
    return f"<|start|>assistant{channel and '<|channel|>' + channel}<|message|>{text}{end}"


def call(name: str, arguments: str, end: str = "<|call|>") -> str:
    return message(f"commentary to={name} <|constrain|>json", arguments, end)


PREAMBLE = message("commentary", "One moment.")
HARMONY: dict[str, tuple[str, str | None]] = {
    "reasoning only": (message("analysis", "Hm, 雨."), "stop"),
    "content only": (message("final", "It is 雨.", "<|return|>"), "stop"),
    "preamble and a call": (PREAMBLE + call("functions.f", '{"a": 1}'), "stop"),
    "preamble and three calls": (PREAMBLE + call("functions.f", '{"a": 1}') * 2 + call("functions.g", "{}"), "stop"),
    "a whole turn": (
        message("analysis", "Hm.") + PREAMBLE + call("functions.f", "{}") + message("final", "Ok."),
        "stop",
    ),
    "empty arguments": (call("functions.f", ""), "stop"),
    "arguments that begin with a newline": (call("functions.f", '\n{"a": 1}'), "stop"),
    "arguments that are not JSON": (call("functions.f", "a = 1\n\"\\'"), "stop"),
    "unicode": (message("analysis", "👩🏽‍🚀 é\u2028\x00") + message("final", "雨伞 😀", "<|return|>"), "stop"),
    "cut in a header": (PREAMBLE + "<|start|>assistant<|channel|>comm", "length"),
    "cut in a name": (PREAMBLE + "<|start|>assistant<|channel|>commentary to=functions.get_we", "length"),
    "cut in arguments": (PREAMBLE + call("functions.f", '{"a": [1', ""), "length"),
    "cut in reasoning": (message("analysis", "Hm, let me", ""), "length"),
    "cut in content": (message("final", "It is", ""), "length"),
    "cut by a filter": (message("final", "It is", ""), "content_filter"),
    "structured output": (PREAMBLE + message("final", '{"city": "Rom 雨"}', "<|return|>"), "stop"),
    "no markup at all": ("Hello there", "stop"),
    "an unknown channel": (message("review", "Hello"), "stop"),
    "no channel": (message("", "Hello"), "stop"),
    "empty messages": (message("analysis", "") + message("commentary", "") + message("final", ""), "stop"),
    "several messages": (message("analysis", "a") * 2 + message("final", "b") * 2, "stop"),
    "a foreign message": (
        message("analysis", "a") + "<|start|>user<|message|>b<|end|>" + message("final", "c"),
        "stop",
    ),
    "python": (message("analysis to=python code", "print('雨')\n", "<|call|>"), "stop"),
    "browser": (call("browser.search", '{"query": "雨"}') + call("browser.open", '{"id": 1}'), "stop"),
    "container": (call("container.exec", '{"cmd": []}'), "stop"),
    "an MCP server": (call("files.read", '{"path": "x"}'), "stop"),
    "long arguments": (call("functions.f", '{"a": "' + "雨 and so on, " * 2_500 + '"}'), "stop"),
    "nothing": ("", None),
}
SAID: dict[str, dict[str, Any]] = {
    "reasoning only": {"reasoning": "Hm, 雨."},
    "content only": {"content": "It is 雨."},
    "preamble and a call": {"content": "One moment.", "calls": [("f", {"s": "x", "i": 1})]},
    "three calls": {"content": "One moment.", "calls": [("f", {"s": "x"}), ("f", {"s": "x"}), ("web-search", {})]},
    "a whole turn": {"reasoning": "Hm.", "content": "One moment.", "calls": [("f", {"o": {"a": [1, None]}})]},
    "empty arguments": {"calls": [("f", {})]},
    "unicode": {"reasoning": "👩🏽‍🚀 é", "content": "雨伞 😀", "calls": [("f", {"s": "雨 😀"})]},
    "long arguments": {"calls": [("f", {"s": "雨 and so on, " * 2_500})]},
}


@cache
def scripts() -> dict[str, tuple[dict[str, Any], Any, str | None]]:
    """Name -> (what the parser takes, text or ids, the engine's reason)."""
    found: dict[str, tuple[dict[str, Any], Any, str | None]] = {}
    for name, (text, reason) in HARMONY.items():
        begun = text.removeprefix("<|start|>assistant")
        found[f"harmony, ids: {name}"] = ({"tools": NAMES}, to_ids(begun.encode()), reason)
        found[f"harmony, text: {name}"] = ({"tools": NAMES}, begun, reason)
    for family, about in FAMILIES.items():
        for name, said in SAID.items():
            if about.row == "think" and "calls" in said:
                continue
            made = [
                {"id": f"functions.{called}:{at}", "name": called, "arguments": arguments}
                for at, (called, arguments) in enumerate(said.get("calls", ()))
            ]
            answer = {"role": "assistant", "reasoning": "", "content": "", **said, "calls": made}
            prompt, text = render(about, [{"role": "user", "content": "?"}, answer], min(about.modes, key="off".__eq__))
            options = {"format": about.row, "tools": TOOLS, "prompt": prompt}
            found[f"{family}: {name}"] = (options, text, "stop")
            if name == "a whole turn":
                for cut in range(1, 8):
                    found[f"{family}: cut {cut}/8"] = (options, text[: len(text) * cut // 8], "length")
    return found


def parser_of(options: dict[str, Any]) -> hs.Parser:
    return hs.Parser(options.get("format", "harmony"), tools=options["tools"], prompt=options.get("prompt"))


def emitter_of(parser: hs.Parser) -> ResponsesStream:
    return ResponsesStream(parser, id="resp_1", model="m", created_at=1700000000)


def pieces_of(stream: Any) -> list[Any]:
    """One token each, one character of a short text, and some of a long one."""
    size = 16 if isinstance(stream, str) and len(stream) > 10_000 else 1
    return [stream[at : at + size] for at in range(0, len(stream), size)]


def frames(emitter: ResponsesStream, pieces: list[Any], reason: str | None) -> Iterator[bytes]:
    yield emitter.start()
    for piece in pieces:
        yield emitter.feed_text(piece) if isinstance(piece, (str, bytes)) else emitter.feed(piece)
    yield emitter.finish(reason, dict(USAGE))


def dicts(emitter: ResponsesStream, pieces: list[Any], reason: str | None) -> list[dict[str, Any]]:
    found = emitter.events()
    for piece in pieces:
        found += emitter.events(piece)
    return found + emitter.events(finish=True, reason=reason, usage=dict(USAGE))


def script_of(body: dict[str, Any]) -> Iterator[bytes]:
    options, stream, reason = scripts()[body["model"]]
    yield from frames(emitter_of(parser_of(options)), pieces_of(stream), reason)


@pytest.fixture(scope="module")
def client():
    with served(script_of) as client:
        yield client


@pytest.mark.parametrize("name", scripts())
def test_scenarios(name, client):
    options, stream, reason = scripts()[name]
    pieces = pieces_of(stream)
    emitter, parser = emitter_of(parser_of(options)), parser_of(options)
    payloads = payloads_of(b"".join(frames(emitter, pieces, reason)))
    assert dicts(emitter_of(parser_of(options)), pieces, reason) == payloads
    for payload in payloads:
        validate(payload)
    response = assembled(payloads)
    assert response == emitter.response()
    events = parser.feed_text(stream) if isinstance(stream, str) else parser.feed(stream)
    expected = without_searches(outline([*events, *parser.finish(reason)]))
    assert without_searches(outline_of(response)) == expected

    plain = list(client.responses.create(model=name, input="?", stream=True))
    assert [event.to_dict() for event in plain] == payloads
    with client.responses.stream(model=name, input="?") as helped:
        texts = [event.snapshot for event in helped if event.type == "response.output_text.delta"]
        assert texts[-1:] == [item[-1] for item in expected if item[0] == "message"][-1:]
        if response["status"] == "completed":
            assert unparsed(helped.get_final_response().to_dict()) == response


def without_searches(items: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """A web search has no name and no arguments, but an action, which test_responses.py tests."""
    searches = ("browser", "browser.search", "browser.open", "browser.find")
    return [
        ("call", "browser", None, *item[3:]) if item[1] in searches and item[0] == "call" else item for item in items
    ]


def unparsed(response: dict[str, Any]) -> dict[str, Any]:
    """Without what the client's helper adds."""
    for item in response["output"]:
        item.pop("parsed_arguments", None)
        for part in item.get("content") or ():
            part.pop("parsed", None)
    return response


class Weather(BaseModel):
    city: str


def test_structured_output_is_read_from_the_answer_and_not_from_the_preamble(client):
    with client.responses.stream(model="harmony, ids: structured output", input="?", text_format=Weather) as helped:
        response = helped.get_final_response()
    assert response.output_parsed == Weather(city="Rom 雨")
    assert response.output_text == 'One moment.{"city": "Rom 雨"}'


def test_what_ends_in_an_error_is_told_to_the_client():
    def failing(body: dict[str, Any]) -> Iterator[bytes]:
        emitter = emitter_of(hs.Parser())
        yield emitter.start() + emitter.feed_text("<|channel|>final<|message|>Hel")
        yield emitter.error("The engine is gone.")

    with served(failing) as client, client.responses.stream(model="m", input="?") as helped:
        *_, done, last = list(helped)
        assert (done.type, done.item.content[0].text, last.type) == (
            "response.output_item.done",
            "Hel",
            "response.failed",
        )
        assert (last.response.error.code, last.response.error.message) == ("server_error", "The engine is gone.")
        with pytest.raises(RuntimeError, match=r"response\.completed"):
            helped.get_final_response()


# --- every chunking of every stream ---


def check(parser: hs.Parser, twin: hs.Parser, fresh: hs.Parser, stream: Any, seed: int, reason: str | None) -> None:
    """Frames of a stream cut at random: they keep the rules, equal the dicts, and say what the whole stream says."""
    emitter = emitter_of(parser)
    pieces = random_chunks(stream, random.Random(seed))
    payloads = payloads_of(b"".join(frames(emitter, pieces, reason)))
    response = assembled(payloads)
    read_by_client(payloads)
    for payload in payloads:
        validate(payload)
    assert dicts(emitter_of(twin), pieces, reason) == payloads
    whole = emitter_of(fresh)
    (*_, last) = dicts(whole, [stream], reason)
    assert last["response"] == response == emitter.response()
    parser.reset()
    events = parser.feed_text(stream) if isinstance(stream, bytes) else parser.feed(stream)
    assert without_searches(outline_of(response)) == without_searches(outline([*events, *parser.finish(reason)]))


@settings(max_examples=settings.default.max_examples // 2)
@given(id_streams | byte_streams, options, seeds)
def test_harmony_at_every_chunking(stream: Any, options: Any, seed: int):
    check(options.parser(), options.parser(), options.parser(), stream, seed, options.finish)


@settings(max_examples=settings.default.max_examples // 2)
@given(st.data(), st.sampled_from(TAG_FORMATS), vocabularies, seeds)
def test_tags_at_every_chunking(data: st.DataObject, name: str, vocabulary: str, seed: int):
    some = data.draw(tag_options(name))
    vocab = tokens(name, vocabulary).vocab
    stream: Any = data.draw(texts(name) | tag_id_streams(name, vocabulary))
    check(some.parser(vocab), some.parser(vocab), some.parser(vocab), stream, seed, some.finish)
