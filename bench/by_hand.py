"""The hand-written path over openai-harmony: its parser, frames of prepared bytes, and orjson for each delta's text.

As fast as one can write it: what a delta is and whom it is for is asked once for each message, when its body begins,
and not for each token; nothing is called for a frame but `dumps`. It knows Harmony's ids, and whose response it sends.
Imports no harmonystream: `old_release.py` runs it with another interpreter, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orjson import dumps

from bench.clock import now
from bench.official import parser_of

FIRST_CONTROL, MESSAGE = 199_998, 200_008  # ids: of all markers the first, and <|message|>
HEAD = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":'
TAIL = b',"logprobs":null,"finish_reason":null}]}\n\n'
FRAMES = {
    "content": (HEAD + b'{"content":', b"}" + TAIL),
    "reasoning": (HEAD + b'{"reasoning":', b"}" + TAIL),
    "arguments": (HEAD + b'{"tool_calls":[{"index":0,"function":{"arguments":', b"}}]}" + TAIL),
}


def frame_of(parser: Any) -> tuple[bytes, bytes]:
    """What stands around the deltas of the message whose body begins."""
    if parser.current_recipient is not None:
        return FRAMES["arguments"]
    return FRAMES["reasoning" if parser.current_channel == "analysis" else "content"]


def send(
    parser: Any, ids: Sequence[int], frame: tuple[bytes, bytes] = (b"", b""), kept: list[bytes] | None = None
) -> tuple[bytes, bytes]:
    """Makes the frames, and drops them unless they are to be kept. frame: of the open message; -> of the last one."""
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


def frames(encoding: Any, opening: Sequence[int], ids: Sequence[int]) -> list[bytes]:
    parser, kept = parser_of(encoding), []
    send(parser, ids, send(parser, opening), kept)
    return kept


def per_token(encoding: Any, opening: Sequence[int], ids: Sequence[int]) -> float:
    """Nanoseconds for each of `ids`; `opening` is not timed."""
    parser = parser_of(encoding)
    frame = send(parser, opening)
    started = now()
    send(parser, ids, frame)
    return (now() - started) / len(ids)
