"""What one stream looks like to the parser: each token's region, the events, the frames of each API, the repairs."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ...emit import ChatStream, MessagesStream, ResponsesStream
from ...events import asdict

__all__ = ["MOST", "Inspection", "inspected", "page_with", "prompt_tokens"]

MOST = 20_000
"""Tokens of a stream that are shown."""
_PAGE = Path(__file__).parents[2] / "data" / "inspector.htm"
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
    made = Inspection(format, vocab, tools=tools, prompt=prompt)
    made.feed(tokens, times)
    if ended:
        made.finish(finish)
    return made.shown()


class Inspection:
    """A stream as the parser and the APIs see it, read token by token. At most `MOST` tokens are.

    Raises what `Parser` raises for a format, a vocabulary or ids that cannot be used.
    """

    def __init__(self, format: Any, vocab: Vocab | None, *, tools: Any = None, prompt: Any = None) -> None:
        def parser() -> Parser:
            return Parser(format, vocab, tools=tools, prompt=prompt)

        self._reading = parser()
        self._streams: dict[str, Any] = {
            "chat": ChatStream(parser(), id="chatcmpl-1", model="inspected", created=0),
            "responses": ResponsesStream(parser(), id="resp_1", model="inspected", created=0),
            "messages": MessagesStream(parser(), id="msg_1", model="inspected"),
        }
        self.read = 0  # tokens, those that are not shown included
        self._tokens: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []
        self._frames = {
            api: [{"at": 0, "data": payload} for payload in stream.events()] for api, stream in self._streams.items()
        }
        self._text: list[str] = []  # of a stream of text, whose positions are bytes
        self._ended = False

    def feed(self, tokens: Sequence[int] | str, times: Sequence[float] = ()) -> None:
        """More of the stream. times: of the whole stream, by token."""
        room = MOST - len(self._tokens)
        for piece in tokens[:room]:
            self._take(piece, times)
        self.read += len(tokens)

    def _take(self, piece: Any, times: Sequence[float]) -> None:
        at, reading = len(self._tokens), self._reading
        is_text = isinstance(piece, str)
        before = reading.usage
        made = reading.feed_text(piece) if is_text else reading.feed(piece)
        after = reading.usage
        region = next((name for name in after._fields if getattr(after, name) > getattr(before, name)), "held")
        token: dict[str, Any] = {"text": piece if is_text else _spelled(reading.vocab, piece), "region": region}
        token |= {} if is_text else {"id": piece, "bytes": _bytes(reading.vocab, piece)}
        token |= {"time": round(times[at], 4)} if at < len(times) else {}
        self._tokens.append(token)
        if is_text:
            self._text.append(piece)
        self._events += [{"at": at, **asdict(event)} for event in made]
        for api, stream in self._streams.items():
            self._frames[api] += [{"at": at, "data": payload} for payload in stream.events(piece)]

    def finish(self, reason: Any) -> None:
        """The stream has ended. reason: the engine's word."""
        if self._ended:
            return
        self._ended, end = True, len(self._tokens)
        self._events += [{"at": end, **asdict(event)} for event in self._reading.finish(reason)]
        for api, stream in self._streams.items():
            self._frames[api] += [{"at": end, "data": data} for data in stream.events(finish=True, reason=reason)]

    def shown(self, since: int = 0) -> dict[str, Any]:
        """It as JSON; of tokens, events and frames only those from the token `since` on."""
        reading, text = self._reading, "".join(self._text)
        found = [{"code": one.code, "at": _index(text, one.position)} for one in reading.deviations]
        return {
            "format": reading.format,
            "tokens": self._tokens[since:],
            "events": _from(since, self._events),
            "frames": {api: _from(since, frames) for api, frames in self._frames.items()},
            "deviations": found,
            "deviation_count": reading.deviation_count,
            "usage": reading.usage._asdict(),
            "finish": reading.finish_reason,
            "cut": self.read > MOST,
        }


def _from(since: int, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return entries[bisect_left(entries, since, key=lambda one: one["at"]) :] if since else entries


def _index(text: str, position: int) -> int:
    """The token at a position, which in text is one of bytes. text: "" for a stream of ids."""
    return len(text.encode("utf-8", "replace")[:position].decode("utf-8", "ignore")) if text else position


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
