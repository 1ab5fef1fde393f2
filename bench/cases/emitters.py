"""Token id -> the bytes of server-sent events: each emitter, one token per call, and whether its cost grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import harmonystream as hs
from bench import streams
from bench.clock import BLOCKS, Case, Feed, last_over_first
from bench.report import Row, figure
from bench.streams import Stream
from harmonystream.emit.chat import ChatStream
from harmonystream.emit.messages import MessagesStream
from harmonystream.emit.responses import ResponsesStream

EMITTERS: dict[str, Callable[..., Any]] = {
    "Chat": partial(ChatStream, id="c", model="m", created=1),
    "Responses": partial(ResponsesStream, id="r", model="m", created=1),
    "Messages": partial(MessagesStream, id="m", model="m"),
}
HIDING: dict[str, dict[str, Any]] = {
    "Chat": {"reasoning_field": None},
    "Responses": {"reasoning": False},
    "Messages": {"thinking": False},
}
# What an engine says at the end.
USAGE = {
    "Chat": {"prompt_tokens": 900, "completion_tokens": 260, "total_tokens": 1160},
    "Responses": {"input_tokens": 900, "output_tokens": 260, "total_tokens": 1160},
    "Messages": {"input_tokens": 900, "output_tokens": 260},
}
ALONE = "no bytes: `Parser.feed`"
KINDS = ("content", "reasoning", "arguments", "hidden reasoning")
OPENING = 16  # tokens until an item of a response is open and its frames are made: expensive, and only once


def works(n: int) -> dict[str, Stream]:
    """By kind: the same text n tokens long, but for arguments."""
    prose, content, code = streams.prose(n), streams.prose(n, streams.FINAL), streams.code_in_arguments(n)
    return dict(zip(KINDS, (content, prose, code, prose)))


def opened(api: str, stream: Stream, hidden: bool = False) -> Any:
    """An emitter, or a parser, whose message has begun."""
    parser = hs.Parser()
    if api == ALONE:
        parser.feed(stream.opening)
        return parser
    made = EMITTERS[api](parser, **(HIDING[api] if hidden else {}))
    made.start()
    made.feed(stream.opening)
    return made


def emitter_case(api: str, name: str, stream: Stream, hidden: bool = False) -> Case:
    return Case(name, lambda: opened(api, stream, hidden).feed, stream.body, len(stream.body))


def cases(n: int) -> dict[str, list[Case]]:
    """By the emitter, a case for each kind of token."""
    return {
        api: [
            emitter_case(api, f"{api}, {kind}", stream, kind.startswith("hidden")) for kind, stream in works(n).items()
        ]
        for api in (*EMITTERS, ALONE)
    }


def growth(n: int, rounds: int) -> Iterator[Row]:
    """n: the length of a block, in tokens."""
    given = works(n)
    for api in (ALONE, *EMITTERS):
        for kind in ("reasoning" if api == ALONE else "content", "arguments"):
            stream = given[kind]

            def begun(api: str = api, stream: Stream = stream) -> Feed:
                feed: Feed = opened(api, stream).feed
                for tid in stream.body[:OPENING]:
                    feed(tid)
                return feed

            value = last_over_first(begun, stream.body[OPENING:], rounds)
            what = {"reasoning": "analysis"}.get(kind, kind)
            name = f"a token of {what} after {BLOCKS - 1}k, over one of the first 1k"
            yield figure(name if api == ALONE else f"{api}: {name}", value, "×", at_most=1.1)
