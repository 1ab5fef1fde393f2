"""Reads one output of a request as vLLM passes it: new ids, new text, and whether they are the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._native.stream.parser import Parser
from ...completion import Delta
from ...text_limit import TextLimit
from ..deltas import Deltas
from ..model import Model, joined

__all__ = ["Feed", "Output"]


class Feed:
    """The ids of one choice that can be read.

    request: vLLM's own request object, of any API. vLLM leaves its stop strings and stop tokens out of the text, so
    they are left out here, too.
    """

    def __init__(self, model: Model, request: Any) -> None:
        stop_ids = () if _of(request, "include_stop_str_in_output") else _of(request, "stop_token_ids") or ()
        self._stop_ids = frozenset(stop_ids) - {*model.markup.stops}
        self._limit = None
        if _of(request, "stop"):
            self._limit = TextLimit(model.vocab, special=_of(request, "skip_special_tokens") is False)

    @property
    def cut(self) -> bool:
        """Has a stop string ended the output?"""
        return self._limit is not None and self._limit.cut

    def stops_at(self, tid: int) -> bool:
        """Is it one of the request's stop tokens?"""
        return tid in self._stop_ids

    @property
    def reads_all(self) -> bool:
        """Does `take` return all ids of every output but the last one, at once?"""
        return self._limit is None

    def take(self, ids: Sequence[int], text: str, *, last: bool) -> Sequence[int]:
        """The next ids, without those that are not in the text."""
        if last and self._stop_ids and ids and ids[-1] in self._stop_ids:
            ids = ids[:-1]
        return ids if self._limit is None else self._limit.take(ids, text, last=last)


class Output:
    """Reads one choice. parser: made by `parser_for`, or one that has already read a part of the output. seen: the
    state of `deltas` after this part. reason: the reason why the engine ends the output, if the caller knows it.
    """

    def __init__(self, model: Model, parser: Parser, request: Any, seen: int = 0, reason: str | None = None) -> None:
        self.parser = parser
        self._model, self._reason, self._last = model, reason, -1
        self.deltas = Deltas(parser, model.format, seen)
        self._feed = Feed(model, request)
        self._in_text: bool | None = None

    def add(self, ids: Sequence[int], text: str, *, last: bool) -> Delta:
        """The delta of the next output."""
        if self._in_text is None and (ids or text):
            self._in_text = not ids  # some callers have no ids at all
        if ids:
            self._last = ids[-1]
        delta = self.deltas.feed(text if self._in_text else self._feed.take(ids, text, last=last))
        return joined(delta, self.deltas.finish(self._why())) if last else delta

    def _why(self) -> str | None:
        """The reason why the output has ended. vLLM does not pass it to parsers, but the last id shows it."""
        if self._reason is not None:
            return self._reason
        if self._last < 0 or self._feed.cut:
            return None
        return "stop" if self._feed.stops_at(self._last) else self._model.reason(self._last)


def _of(request: Any, field: str) -> Any:
    """A field of a request. A request of Responses lacks some fields."""
    return getattr(request, field, None)
