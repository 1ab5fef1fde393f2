"""Token id -> the bytes of server-sent events, one token per call; and does a long response cost more per token?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import harmonystream as hs
from bench import official, streams
from bench.clock import medians, now
from bench.ours import REPEAT
from bench.rows import Figure, Ratio
from bench.streams import Work
from harmonystream.emit.chat import ChatStream
from harmonystream.emit.messages import MessagesStream
from harmonystream.emit.responses import ResponsesStream

try:
    from orjson import dumps
except ImportError:

    def dumps(text: str, /) -> bytes:
        """The standard library's, where orjson is not there."""
        return json.dumps(text, ensure_ascii=False).encode()


BLOCKS = 64
HEAD = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
TAIL = b',"logprobs":null,"finish_reason":null}]}\n\n'
PARTS = {
    "content": (b'{"content":', b"}"),
    "arguments": (b'{"tool_calls":[{"index":0,"function":{"arguments":', b"}}]}"),
}
EMITTERS: dict[str, Callable[[hs.Parser], Any]] = {
    "Chat": lambda parser: ChatStream(parser, id="c", model="m", created=1),
    "Responses": lambda parser: ResponsesStream(parser, id="r", model="m", created_at=1),
    "Messages": lambda parser: MessagesStream(parser, id="m", model="m"),
}


def opened(api: str, work: Work) -> Any:
    emitter = EMITTERS[api](hs.Parser())
    emitter.start()
    emitter.feed(work.opening)
    return emitter


def works(n: int) -> dict[str, Work]:
    content = streams.prose(n)
    return {
        "content": Work("content", streams.marked_ids(streams.FINAL), content.ids),
        "arguments": streams.code_in_arguments(n),
    }


def ours(work: Work) -> Callable[[], float]:
    def run() -> float:
        feed = opened("Chat", work).feed
        started = now()
        for _ in range(REPEAT):
            for tid in work.ids:
                feed(tid)
        return (now() - started) / (REPEAT * len(work.ids))

    return run


def by_hand(encoding: Any, work: Work, kind: str) -> list[bytes]:
    """The frames as one writes them over openai-harmony: getters, a template of bytes, and orjson for the text."""
    parser = official.parser_of(encoding)
    official.read(parser, work.opening)
    before, after = HEAD + PARTS[kind][0], PARTS[kind][1] + TAIL
    return list(hand_frames(parser, work, before, after, called=kind == "arguments"))


def hand_frames(parser: Any, work: Work, before: bytes, after: bytes, called: bool) -> Iterator[bytes]:
    for tid in work.ids:
        parser.process(tid)
        channel, recipient, delta = parser.current_channel, parser.current_recipient, parser.last_content_delta
        if delta is not None and (recipient is not None) == called and channel is not None:
            yield before + dumps(delta) + after


def theirs(encoding: Any, work: Work, kind: str) -> Callable[[], float]:
    def run() -> float:
        parser = official.parser_of(encoding)
        official.read(parser, work.opening)
        before, after = HEAD + PARTS[kind][0], PARTS[kind][1] + TAIL
        started = now()
        for _ in hand_frames(parser, work, before, after, called=kind == "arguments"):
            pass
        return (now() - started) / len(work.ids)

    return run


def measured(n: int, rounds: int) -> Iterator[Ratio]:
    """n: the length of the streams, in tokens."""
    encoding = streams.encoding()
    for kind, work in works(n).items():
        took = medians({"ours": ours(work), "newest": theirs(encoding, work, kind)}, rounds)
        yield Ratio(f"token id to SSE bytes: {kind}", took["ours"], took["newest"], None, 15)


def last_over_first(api: str, work: Work) -> Callable[[], float]:
    """A round: the 64th block of a response, over the first. Each block holds the same tokens."""

    def block(emitter: Any) -> int:
        feed = emitter.feed
        started = now()
        for tid in work.ids:
            feed(tid)
        return now() - started

    def run() -> float:
        young, old = opened(api, work), opened(api, work)
        for _ in range(BLOCKS - 1):
            block(old)
        return block(old) / block(young)

    return run


def linear(n: int, rounds: int) -> Iterator[Figure]:
    """n: the length of a block, in tokens."""
    for api in EMITTERS:
        for kind, work in works(n).items():
            run = last_over_first(api, work)
            run()
            value = median(run() for _ in range(min(rounds, 15)))
            name = f"{api}: a token of {kind} after {BLOCKS - 1}k, over one of the first 1k"
            yield Figure(name, value, "×", at_most=1.1)
