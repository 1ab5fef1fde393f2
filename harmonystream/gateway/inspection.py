"""What one stream looks like to the parser: each token's region, the events, the frames of each API, the repairs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
from ..emit import ChatStream, MessagesStream, ResponsesStream
from ..reading import asdict

__all__ = ["MOST", "inspected", "page_with", "prompt_tokens"]

MOST = 20_000
"""Tokens of a stream that are shown."""
_PAGE = Path(__file__).parent.parent / "data" / "inspector.htm"
_HOLE = "/*data*/null"


def inspected(
    tokens: Sequence[int] | str,
    format: Any,
    vocab: Vocab | None,
    *,
    tools: Any = None,
    prompt: Any = None,
    finish: Any = None,
    times: Sequence[float] = (),
    ended: bool = True,
) -> dict[str, Any]:
    """A stream as JSON. tokens: ids, or text. times: seconds since the request, by token. finish: the engine's word.
    ended: otherwise the stream still runs, and what its end would add is left out.

    Raises what `Parser` raises for a format, a vocabulary or ids that cannot be used.
    """
    pieces: Sequence[Any] = tokens[:MOST]

    def parser() -> Parser:
        return Parser(format, vocab, tools=tools, prompt=prompt)

    reading = parser()
    feed = reading.feed_text if isinstance(tokens, str) else reading.feed
    shown, events = [], []
    for at, piece in enumerate(pieces):
        before = reading.usage
        made = feed(piece)
        after = reading.usage
        region = next((name for name in after._fields if getattr(after, name) > getattr(before, name)), "held")
        token: dict[str, Any] = {
            "text": piece if isinstance(piece, str) else _spelled(reading.vocab, piece),
            "region": region,
        }
        token |= {} if isinstance(piece, str) else {"id": piece, "bytes": _bytes(reading.vocab, piece)}
        token |= {"time": round(times[at], 4)} if at < len(times) else {}
        shown.append(token)
        events += [{"at": at, **asdict(event)} for event in made]
    if ended:
        events += [{"at": len(pieces), **asdict(event)} for event in reading.finish(finish)]
    return {
        "format": reading.format,
        "tokens": shown,
        "events": events,
        "frames": _frames(pieces, parser, finish, ended),
        "deviations": [{"code": one.code, "at": _index(tokens, one.position)} for one in reading.deviations],
        "deviation_count": reading.deviation_count,
        "usage": reading.usage._asdict(),
        "finish": reading.finish_reason,
        "cut": len(tokens) > MOST,
    }


def _index(tokens: Sequence[int] | str, position: int) -> int:
    """The token at a position, which in text is one of bytes."""
    return len(tokens.encode()[:position].decode("utf-8", "ignore")) if isinstance(tokens, str) else position


def _frames(pieces: Sequence[Any], parser: Any, finish: Any, ended: bool) -> dict[str, list[dict[str, Any]]]:
    """The payloads of each API, with the token at which each was made."""
    streams: dict[str, Any] = {
        "chat": ChatStream(parser(), id="chatcmpl-1", model="inspected", created=0),
        "responses": ResponsesStream(parser(), id="resp_1", model="inspected", created_at=0),
        "messages": MessagesStream(parser(), id="msg_1", model="inspected"),
    }
    made: dict[str, list[dict[str, Any]]] = {}
    for api, stream in streams.items():
        frames = made[api] = [{"at": 0, "data": payload} for payload in stream.events()]
        for at, piece in enumerate(pieces):
            frames += [{"at": at, "data": payload} for payload in stream.events(piece)]
        if ended:
            frames += [{"at": len(pieces), "data": payload} for payload in stream.events(finish=True, reason=finish)]
    return made


def prompt_tokens(ids: Sequence[int] | None, text: str, vocab: Vocab | None) -> list[dict[str, Any]]:
    """A prompt's last tokens, or its text as one."""
    if ids is None or vocab is None:
        return [{"text": text[-MOST:], "region": "prompt"}]
    return [{"id": tid, "text": _spelled(vocab, tid), "region": "prompt"} for tid in ids[-MOST:]]


def _bytes(vocab: Vocab, tid: int) -> str:
    return vocab.token_bytes(tid).hex(" ") if tid in vocab else ""


def _spelled(vocab: Vocab, tid: int) -> str:
    return vocab.token_bytes(tid).decode("utf-8", "replace") if tid in vocab else f"<unknown {tid}>"


def page_with(data: Mapping[str, Any] | None) -> str:
    """The page; with a stream in it, or one that asks the gateway for them. The stream cannot end its script."""
    page = _PAGE.read_text("utf-8")
    if data is None:
        return page
    text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return page.replace(_HOLE, text)
