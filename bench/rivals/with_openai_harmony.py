"""openai-harmony at work: as a caller uses it, and as fast as one can write frames over it by hand.

Imports no harmonystream: the environment of the older release has none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import rank_file
from openai_harmony import HarmonyEncodingName, Role, StreamableParser, load_harmony_encoding
from orjson import dumps

from bench.clock import now, timed
from bench.rivals.output import served

FIRST_CONTROL, MESSAGE = 199_998, 200_008  # ids: the first of all markers, and <|message|>
HEAD = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
TAIL = b',"logprobs":null,"finish_reason":null}]}\n\n'
FRAMES = {
    "content": (HEAD + b'{"content":', b"}" + TAIL),
    "reasoning": (HEAD + b'{"reasoning":', b"}" + TAIL),
    "arguments": (HEAD + b'{"tool_calls":[{"index":0,"function":{"arguments":', b"}}]}" + TAIL),
}


@cache
def encoding() -> Any:
    os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", rank_file.folder())
    return load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)


def new_parser() -> Any:
    return StreamableParser(encoding(), Role.ASSISTANT)


def read(parser: Any, ids: Sequence[int]) -> None:
    """As a caller does who needs to know what a delta is and whom it is for: three getters for each token."""
    for tid in ids:
        parser.process(tid)
        parser.current_channel  # noqa: B018 - a getter's cost is what is measured
        parser.current_recipient  # noqa: B018
        parser.last_content_delta  # noqa: B018


def frame_of(parser: Any) -> tuple[bytes, bytes]:
    """The bytes before and after each delta of the message whose body begins."""
    if parser.current_recipient is not None:
        return FRAMES["arguments"]
    return FRAMES["reasoning" if parser.current_channel == "analysis" else "content"]


def send(
    parser: Any, ids: Sequence[int], frame: tuple[bytes, bytes] = (b"", b""), kept: list[bytes] | None = None
) -> tuple[bytes, bytes]:
    """The path by hand: channel and recipient are asked for once per message, and `dumps` is all that a frame calls.

    It makes the frames, and drops them unless they are to be kept. frame: of the open message; returns the last one's.
    """
    before, after = frame
    process = parser.process
    for tid in ids:
        process(tid)
        if tid >= FIRST_CONTROL:
            if tid == MESSAGE:
                before, after = frame_of(parser)
            continue
        delta = parser.last_content_delta
        if delta:
            made = before + dumps(delta) + after
            if kept is not None:
                kept.append(made)
    return before, after


def frames(opening: Sequence[int], ids: Sequence[int]) -> list[bytes]:
    parser, kept = new_parser(), []
    send(parser, ids, send(parser, opening), kept)
    return kept


class Reader:
    """Reads one stream, again and again, or with `framed` makes its frames."""

    def __init__(self, stream: dict[str, Any]) -> None:
        self._opening, self._body, self._framed = stream["opening"], stream["body"], stream["framed"]
        self._whole = stream["whole"]
        encoding()

    def read(self) -> float:
        """Nanoseconds for each token of the body."""
        started = now()
        parser = new_parser()
        frame = send(parser, self._opening) if self._framed else read(parser, self._opening)
        if not self._whole:
            started = now()
        if frame is None:
            read(parser, self._body)
        else:
            send(parser, self._body, frame)
        return (now() - started) / len(self._body)

    def check(self) -> tuple[None, float]:
        """Only timed: a test compares what both parsers say."""
        return None, self.read()


def new_parsers(n: int) -> float:
    """Nanoseconds for each of n parsers."""
    encoding()
    return timed(lambda: [new_parser() for _ in range(n)], n)()


def arrow_of(ids: Sequence[int], n: int) -> Any:
    """The array of n rows with these ids, each read as a whole: reasoning, content, and the calls."""
    import pyarrow

    rows = []
    for _ in range(n):
        row: dict[str, Any] = {"reasoning": "", "content": "", "calls": []}
        for message in encoding().parse_messages_from_completion_tokens(ids, Role.ASSISTANT):
            text = message.content[0].text
            if message.recipient is not None:
                row["calls"].append({"name": message.recipient.removeprefix("functions."), "arguments": text})
            else:
                row["reasoning" if message.channel == "analysis" else "content"] += text
        rows.append(row)
    return pyarrow.array(rows)


def into_arrow(ids: Sequence[int], n: int) -> float:
    """Nanoseconds for each row of `arrow_of`."""
    arrow_of(ids, 1)
    return timed(lambda: arrow_of(ids, n), n)()


about, load, again = served("openai-harmony", version("openai-harmony"), Reader)
