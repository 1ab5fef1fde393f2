"""How the parser sees a stream: the region of each token, the events, the frames of each API, and the repairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ...emit import ChatStream, MessagesStream, ResponsesStream
from ...events import asdict

__all__ = ["MOST", "Inspection", "inspected", "page_with", "prompt_tokens"]

MOST = 200_000
"""Tokens of a stream that are shown."""
WHOLE = 20_000
"""Tokens of a stream that is shown with all its events and frames at once: in a page without a server."""
SLICE = 1 << 12
"""Tokens that are read natively at once: other threads run in between."""
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
    """A stream as JSON. tokens: ids, or text. times: for each token, the seconds since the request. finish: the
    engine's finish reason. ended: False if the stream still runs. Then its end adds nothing.

    Raises what `Parser` raises for an unusable format, vocabulary or ids.
    """
    made = Inspection(format, vocab, tools=tools, prompt=prompt, most=WHOLE)
    made.feed(tokens, times)
    if ended:
        made.finish(finish)
    return made.whole()


class Inspection:
    """A stream as the parser and the APIs see it. Each token is read once, and events and frames are made only when
    they are looked at. At most `MOST` tokens are read.

    Raises what `Parser` raises for an unusable format, vocabulary or ids.
    """

    def __init__(
        self, format: Any, vocab: Vocab | None, *, tools: Any = None, prompt: Any = None, most: int | None = None
    ) -> None:
        self._parser = partial(Parser, format, vocab, tools=tools, prompt=prompt)
        self._most = MOST if most is None else most
        self._reading = self._parser()
        self._names = self._reading.usage._fields
        self._before: tuple[int, ...] = self._reading.usage
        self._at = 0  # the region of the last token
        self.read = 0  # how many tokens, including those that are not shown
        self._pieces: list[Any] = []
        self._texts: list[str] = []
        self._regions: list[str] = []
        self._times: list[float] = []
        self._spelled: dict[int, str] = {}
        self._reason: Any = None
        self._ended = False
        self._place: _Place | None = None

    def feed(self, tokens: Sequence[int] | str, times: Sequence[float] = ()) -> None:
        """Read more of the stream. times: for each token of the whole stream."""
        for piece in tokens[: self._most - len(self._pieces)]:
            self._take(piece)
        self._times += [round(one, 4) for one in times[len(self._times) : len(self._pieces)]]
        self.read += len(tokens)

    def _take(self, piece: Any) -> None:
        reading = self._reading
        if isinstance(piece, str):
            reading.feed_text(piece)
            text = piece
        else:
            reading.feed(piece)
            if (known := self._spelled.get(piece)) is None:
                known = self._spelled[piece] = _spelled(reading.vocab, piece)
            text = known
        after, before, at = reading.usage, self._before, self._at
        if after[at] <= before[at]:  # its region differs from the last token's
            at = next((at for at in range(len(before)) if after[at] > before[at]), -1)
            self._at = max(at, 0)
        self._before = after
        self._pieces.append(piece)
        self._texts.append(text)
        self._regions.append("held" if at < 0 else self._names[at])

    def finish(self, reason: Any) -> None:
        """End the stream. reason: the finish reason that the engine gave."""
        if not self._ended:
            self._ended, self._reason = True, reason
            self._reading.finish(reason)

    @property
    def _in_text(self) -> bool:
        return bool(self._pieces) and isinstance(self._pieces[0], str)

    def shown(self, since: int = 0) -> dict[str, Any]:
        """The stream as JSON, without events and frames, and with the tokens from `since` on. regions: names and
        counts.
        """
        reading, text = self._reading, "".join(self._pieces) if self._in_text else ""
        found = [{"code": one.code, "at": _index(text, one.position)} for one in reading.deviations]
        return {
            "format": reading.format,
            "texts": self._texts[since:],
            "ids": None if self._in_text else self._pieces[since:],
            "regions": [[name, len(list(same))] for name, same in groupby(self._regions[since:])],
            "times": self._times[since:],
            "deviations": found,
            "deviation_count": reading.deviation_count,
            "usage": reading.usage._asdict(),
            "finish": reading.finish_reason,
            "cut": self.read > self._most,
        }

    def details(self, since: int = 0, until: int | None = None) -> dict[str, Any]:
        """Bytes, events and frames of the tokens from `since` to `until`. None: to the end, including what the end
        adds.

        Details that follow the last ones are fast. For others, the whole stream before them is read again, natively.
        """
        end = len(self._pieces) if until is None else min(until, len(self._pieces))
        since = min(max(since, 0), end)
        if self._place is None or self._place.at > since:
            self._place = _Place(self._parser)
        place, joined = self._place, "".join if self._in_text else list
        for at in range(place.at, since, SLICE):
            place.skip(joined(self._pieces[at : min(at + SLICE, since)]))
        events, frames = place.opening() if since == 0 else ([], {api: [] for api in place.streams})
        for piece in self._pieces[since:end]:
            place.take(piece, events, frames)
        if self._ended and until is None:
            place.finish(self._reason, events, frames)
            self._place = None
        vocab = self._reading.vocab
        data = None if self._in_text else [_bytes(vocab, piece) for piece in self._pieces[since:end]]
        return {"since": since, "until": end, "bytes": data, "events": events, "frames": frames}

    def whole(self) -> dict[str, Any]:
        """The whole stream as JSON."""
        made = self.details()
        return {**self.shown(), **{name: made[name] for name in ("bytes", "events", "frames")}}


class _Place:
    """A parser and the emitters of all APIs, after they have read the tokens before `at`."""

    def __init__(self, parser: Callable[[], Parser]) -> None:
        self.at = 0
        self._reading = parser()
        self.streams: dict[str, Any] = {
            "chat": ChatStream(parser(), id="chatcmpl-1", model="inspected", created=0),
            "responses": ResponsesStream(parser(), id="resp_1", model="inspected", created=0),
            "messages": MessagesStream(parser(), id="msg_1", model="inspected"),
        }
        self._opened = {api: _payloads(stream.start()) for api, stream in self.streams.items()}

    def opening(self) -> tuple[list[Any], dict[str, list[Any]]]:
        """What exists before the first token."""
        return [], {api: [{"at": 0, "data": one} for one in made] for api, made in self._opened.items()}

    def skip(self, tokens: Any) -> None:
        for api, stream in self.streams.items():
            for piece in tokens if api == "responses" else (tokens,):  # its frames are numbered
                _fed(stream, piece)
        _fed(self._reading, tokens)
        self.at += len(tokens)

    def take(self, piece: Any, events: list[Any], frames: dict[str, list[Any]]) -> None:
        events += [{"at": self.at, **asdict(event)} for event in _fed(self._reading, piece)]
        for api, stream in self.streams.items():
            frames[api] += [{"at": self.at, "data": data} for data in _payloads(_fed(stream, piece))]
        self.at += 1

    def finish(self, reason: Any, events: list[Any], frames: dict[str, list[Any]]) -> None:
        events += [{"at": self.at, **asdict(event)} for event in self._reading.finish(reason)]
        for api, stream in self.streams.items():
            frames[api] += [{"at": self.at, "data": data} for data in _payloads(stream.finish(reason))]


def _fed(one: Any, tokens: Any) -> Any:
    """The result of passing ids or text to a parser or an emitter."""
    return one.feed_text(tokens) if isinstance(tokens, str) else one.feed(tokens)


def _payloads(frames: bytes) -> list[Any]:
    """The payloads of server-sent events, without the mark of their end."""
    lines = (line for line in frames.split(b"\n") if line.startswith(b"data: ") and line != b"data: [DONE]")
    return [json.loads(line[6:]) for line in lines]


def _index(text: str, position: int) -> int:
    """The index of the token at a position. In text, positions count bytes. text: "" for a stream of ids."""
    return len(text.encode("utf-8", "replace")[:position].decode("utf-8", "ignore")) if text else position


def prompt_tokens(ids: Sequence[int] | None, text: str, vocab: Vocab | None) -> list[dict[str, Any]]:
    """A prompt's last tokens. A prompt of text is one token."""
    if ids is None or vocab is None:
        return [{"text": text[-MOST:], "region": "prompt"}]
    return [{"id": tid, "text": _spelled(vocab, tid), "region": "prompt"} for tid in ids[-MOST:]]


def _bytes(vocab: Vocab, tid: int) -> str:
    return vocab.token_bytes(tid).hex(" ") if tid in vocab else ""


def _spelled(vocab: Vocab, tid: int) -> str:
    return vocab.token_bytes(tid).decode("utf-8", "replace") if tid in vocab else f"<unknown {tid}>"


def page_with(data: Mapping[str, Any] | None) -> str:
    """The page. It either contains a stream, or asks the gateway for streams. The stream's data cannot end
    the script.
    """
    page = _PAGE.read_text("utf-8")
    if data is None:
        return page
    text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return page.replace(_HOLE, text)
