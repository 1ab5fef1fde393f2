"""What one step of a `Batch` makes: a table with a row for each event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .events import ContentDelta, Event, ReasoningDelta, ToolCallDelta

__all__ = ["ARGUMENTS", "CONTENT", "REASONING", "Columns"]

REASONING: Final = 1
CONTENT: Final = 2
ARGUMENTS: Final = 3


class Columns:
    """The rows of a step, slot by slot in the order of the call, as columns that numpy and others read without a copy.

    slot: int32. kind: uint8, REASONING, CONTENT or ARGUMENTS for a delta; more for other events, which are in `others` by row.
    index: int32, the call's, for what belongs to one. start, stop: int64, the range of tokens. offset: int64, rows + 1: a delta's text is
    `text[offset[row]:offset[row + 1]]`, UTF-8.
    """

    __slots__ = ("_index", "_kind", "_offset", "_slot", "_start", "_stop", "others", "rows", "text")

    def __init__(
        self,
        rows: int,
        slot: bytes,
        kind: bytes,
        index: bytes,
        start: bytes,
        stop: bytes,
        offset: bytes,
        text: bytes,
        others: dict[int, Event],
    ) -> None:
        self.rows, self.text, self.others = rows, text, others
        self._slot, self._kind, self._index = slot, kind, index
        self._start, self._stop, self._offset = start, stop, offset

    @property
    def slot(self) -> memoryview:
        return memoryview(self._slot).cast("i")

    @property
    def kind(self) -> memoryview:
        return memoryview(self._kind)

    @property
    def index(self) -> memoryview:
        return memoryview(self._index).cast("i")

    @property
    def start(self) -> memoryview:
        return memoryview(self._start).cast("q")

    @property
    def stop(self) -> memoryview:
        return memoryview(self._stop).cast("q")

    @property
    def offset(self) -> memoryview:
        return memoryview(self._offset).cast("q")

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """(slot, event) of each row; a content delta's channel is not in the columns."""
        slot, kind, index, start, stop, offset = self.slot, self.kind, self.index, self.start, self.stop, self.offset
        for row in range(self.rows):
            if row in self.others:
                yield slot[row], self.others[row]
                continue
            text = self.text[offset[row] : offset[row + 1]].decode("utf-8", "replace")
            place = (start[row], stop[row])
            if kind[row] == CONTENT:
                yield slot[row], ContentDelta(text, None, *place)
            elif kind[row] == REASONING:
                yield slot[row], ReasoningDelta(text, *place)
            else:
                yield slot[row], ToolCallDelta(index[row], text, *place)

    def __repr__(self) -> str:
        return f"<Columns: {self.rows} rows>"
