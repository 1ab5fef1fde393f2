"""Events during `generate()` of transformers, for one row or a batch. It imports neither transformers nor torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._native.core.vocab import Vocab
from .._native.stream.markup import Markup
from .._native.stream.parser import Parser
from ..events import Event
from ..formats import Format, HeaderFormat

__all__ = ["EventStreamer"]


class EventStreamer:
    """A streamer for `model.generate(..., streamer=...)` that parses every row of the batch.

    on_events: called with a row's index and its new events. If it raises, generate() ends.
    format, vocab: as in Parser. options: Parser's other options, except `prompt` and `start`, because each row's parser
    starts where the row's prompt ends.
    stop_ids: ids after which a row has ended and generate() pads it. By default they are the format's. Pass the
    `eos_token_id` of the model's generation config if it has others.
    stop_strings: those of generate(). A row ends with the token in which one of them ends; what follows is padding.

    After generate(), `parsers` has the parser of each row. The next call of generate() begins with new ones. Raises the
    errors of Parser.
    """

    def __init__(
        self,
        on_events: Callable[[int, tuple[Event, ...]], object],
        format: str | Format | HeaderFormat = "harmony",
        vocab: Vocab | None = None,
        *,
        stop_ids: Iterable[int] = (),
        stop_strings: str | Iterable[str] = (),
        **options: Any,
    ) -> None:
        if not options.keys().isdisjoint(("prompt", "start")):
            raise TypeError("each row starts where its prompt ends: EventStreamer takes no prompt and no start")
        self._on_events, self._format, self._vocab, self._options = on_events, format, vocab, options
        self._stops = frozenset(stop_ids) or frozenset(Markup(format, vocab).stops)
        Parser(format, vocab, **options)  # refuses wrong options here rather than inside generate()
        strings = [stop_strings] if isinstance(stop_strings, str) else stop_strings
        self._strings = [stop.encode() for stop in strings if stop]
        self.parsers: list[Parser] = []
        self._ended: list[bool] = []
        self._kept = max((len(stop) - 1 for stop in self._strings), default=0)
        self._tails: list[bytes] = []  # the end of each row's text, in which a stop string may have begun
        self._over = False

    def put(self, value: Any) -> None:
        """generate() calls this first with the prompts, and then with the new ids of each row."""
        rows = value.tolist()
        if not self.parsers or self._over:
            self._begin(rows if rows and isinstance(rows[0], list) else [rows])
        elif rows and isinstance(rows[0], list):  # several ids of one row, from assisted decoding
            self._take(0, rows[0])
        elif len(self.parsers) == 1:
            self._take(0, rows)
        else:
            for row, token in enumerate(rows):
                self._take(row, (token,))

    def end(self) -> None:
        """generate() calls this last. A row that has not stopped was cut off."""
        self._over = True
        for row, ended in enumerate(self._ended):
            if not ended:
                self._finish(row, "length")

    def _begin(self, prompts: list[list[int]]) -> None:
        self.parsers = [Parser(self._format, self._vocab, prompt=ids, **self._options) for ids in prompts]
        self._ended = [False] * len(prompts)
        self._tails = [b""] * len(prompts)
        self._over = False

    def _take(self, row: int, ids: Sequence[int]) -> None:
        if self._ended[row]:
            return  # padding
        end = next((at for at, token in enumerate(ids, 1) if token in self._stops), None)
        if events := self.parsers[row].feed(ids if end is None else ids[:end]):
            self._on_events(row, events)
        if end is not None or (self._strings and self._stopped(row, ids)):
            self._finish(row, "stop")

    def _stopped(self, row: int, ids: Sequence[int]) -> bool:
        """Does a stop string end in the last token? generate() ends a row there, and pads it from then on."""
        vocab, tail, text = self.parsers[row].vocab, self._tails[row], b""
        for token in ids if vocab is not None else ():
            tail, text = tail + text, vocab.token_bytes(token) if token in vocab else b""
        self._tails[row] = (tail + text)[-self._kept :] if self._kept else b""
        return any(stop in tail[max(0, len(tail) - len(stop) + 1) :] + text for stop in self._strings if text)

    def _finish(self, row: int, reason: str) -> None:
        self._ended[row] = True
        self._on_events(row, self.parsers[row].finish(reason))
