"""What each emitter takes for a token of each kind, one token per call; beside that, the parser alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import harmonystream as hs
from bench import streams
from bench.clock import medians, now
from bench.ours import REPEAT
from bench.report import shown
from bench.streams import Work
from harmonystream.emit.chat import ChatStream
from harmonystream.emit.messages import MessagesStream
from harmonystream.emit.responses import ResponsesStream

Make = Callable[[hs.Parser], Any]

EMITTERS: dict[str, Make] = {
    "Chat": lambda parser: ChatStream(parser, id="c", model="m", created=1),
    "Responses": lambda parser: ResponsesStream(parser, id="r", model="m", created_at=1),
    "Messages": lambda parser: MessagesStream(parser, id="m", model="m"),
}
HIDING: dict[str, Make] = {
    "Chat": lambda parser: ChatStream(parser, id="c", model="m", created=1, reasoning_field=None),
    "Responses": lambda parser: ResponsesStream(parser, id="r", model="m", created_at=1, reasoning=False),
    "Messages": lambda parser: MessagesStream(parser, id="m", model="m", thinking=False),
}
ALONE = "no bytes: `Parser.feed`"
KINDS = ("content", "reasoning", "arguments", "hidden reasoning")
HEAD = ("SSE bytes, per token", *KINDS)


@dataclass(frozen=True)
class Cost:
    """Nanoseconds for each token, by KINDS."""

    name: str
    took: dict[str, float]


def works(n: int) -> dict[str, Work]:
    """n: the length of the streams, in tokens. The same text, but for arguments."""
    reasoning = streams.prose(n)
    return {
        "content": Work("content", streams.marked_ids(streams.FINAL), reasoning.ids),
        "reasoning": reasoning,
        "arguments": streams.code_in_arguments(n),
        "hidden reasoning": reasoning,
    }


def opened(api: str, kind: str, work: Work) -> Any:
    """An emitter, or a parser, in the midst of the message."""
    parser = hs.Parser()
    if api == ALONE:
        parser.feed(work.opening)
        return parser
    emitter = (HIDING if kind.startswith("hidden") else EMITTERS)[api](parser)
    emitter.start()
    emitter.feed(work.opening)
    return emitter


def per_token(api: str, kind: str, work: Work) -> Callable[[], float]:
    def run() -> float:
        feed = opened(api, kind, work).feed
        started = now()
        for _ in range(REPEAT):
            for tid in work.ids:
                feed(tid)
        return (now() - started) / (REPEAT * len(work.ids))

    return run


def measured(n: int, rounds: int) -> Iterator[Cost]:
    """n: the length of the streams, in tokens."""
    given, apis = works(n), (*EMITTERS, ALONE)
    found = {kind: medians({api: per_token(api, kind, given[kind]) for api in apis}, rounds) for kind in KINDS}
    for api in apis:
        yield Cost(api, {kind: found[kind][api] for kind in KINDS})


def cells(cost: Cost) -> tuple[str, ...]:
    return cost.name, *(f"{shown(cost.took[kind])} ns" for kind in KINDS)
