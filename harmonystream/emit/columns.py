"""The result of one step of a `Batch`: a table with a row for each event."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Literal

from ..events import ContentDelta, Event, ReasoningDelta, ToolCallDelta
from ..regions import Region

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Columns"]

_CHANNELS: Final = (None, "analysis", "commentary", "final", None)


class Columns:
    """The rows of a step, in the order of the slots in the call. numpy and others read the columns without a copy.

    slot: int32.
    kind: uint8. A `Region` for a delta (REASONING, CONTENT or ARGUMENTS). 7 and more stand for other events, which
    `others` has by row.
    index: int32. The index of the call, in a row that belongs to a call.
    channel: uint8. The channel of the open message: 0 none, 1 analysis, 2 commentary, 3 final, 4 any other.
    start, stop: int64. The range of tokens.
    offset: int64, rows + 1. A delta's text is `text[offset[row]:offset[row + 1]]`, UTF-8.
    """

    __slots__ = ("_block", "_text", "others", "rows")
    rows: int
    others: dict[int, Event]

    def __init__(self, rows: int, block: Buffer, others: dict[int, Event]) -> None:
        """block: start, stop, offset, slot, index, kind, channel, 34 * rows + 8 bytes; then the text."""
        self.rows, self._block, self.others = rows, block, others
        self._text: bytes | None = None

    def _column(self, at: int, n: int, code: Literal["q", "i", "B"], width: int) -> memoryview:
        return memoryview(self._block)[at : at + n * width].cast(code)

    @property
    def text(self) -> bytes:
        """The text of all deltas. It is copied on first use."""
        if self._text is None:
            self._text = bytes(memoryview(self._block)[34 * self.rows + 8 :])
        return self._text

    @property
    def start(self) -> memoryview:
        return self._column(0, self.rows, "q", 8)

    @property
    def stop(self) -> memoryview:
        return self._column(8 * self.rows, self.rows, "q", 8)

    @property
    def offset(self) -> memoryview:
        return self._column(16 * self.rows, self.rows + 1, "q", 8)

    @property
    def slot(self) -> memoryview:
        return self._column(24 * self.rows + 8, self.rows, "i", 4)

    @property
    def index(self) -> memoryview:
        return self._column(28 * self.rows + 8, self.rows, "i", 4)

    @property
    def kind(self) -> memoryview:
        return self._column(32 * self.rows + 8, self.rows, "B", 1)

    @property
    def channel(self) -> memoryview:
        return self._column(33 * self.rows + 8, self.rows, "B", 1)

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """(slot, event) of each row. The channel of a content delta is None unless it is one of Harmony's channels."""
        slot, kind, index, channel = self.slot, self.kind, self.index, self.channel
        start, stop, offset, whole = self.start, self.stop, self.offset, self.text
        for row in range(self.rows):
            if row in self.others:
                yield slot[row], self.others[row]
                continue
            text = whole[offset[row] : offset[row + 1]].decode("utf-8", "replace")
            place = (start[row], stop[row])
            if kind[row] == Region.CONTENT:
                yield slot[row], ContentDelta(text, _CHANNELS[channel[row]], *place)
            elif kind[row] == Region.REASONING:
                yield slot[row], ReasoningDelta(text, *place)
            else:
                yield slot[row], ToolCallDelta(index[row], text, *place)

    def __repr__(self) -> str:
        return f"<Columns: {self.rows} rows>"
