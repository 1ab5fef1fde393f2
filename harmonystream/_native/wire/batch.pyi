from collections.abc import Iterable
from typing import SupportsIndex, TypeAlias, final

from typing_extensions import Buffer

from harmonystream._native.wire.frames import Frames
from harmonystream._native.wire.slots import Slots
from harmonystream.emit.columns import Columns

DEBUG: bool

_Ids: TypeAlias = SupportsIndex | Iterable[SupportsIndex] | Buffer

@final
class Batch(Slots):
    """Up to `capacity` streams of one format and vocabulary, fed together: one call per decode step, in which the GIL is
    released once.

    All arguments but capacity are Parser's. A batch is lenient: one stream's error must not stop the others.
    One thread at a time; several batches are independent. A slot costs what a Parser does, and 160 bytes.
    Raises ValueError for a capacity that is not from 1 to 2**20, and what Parser() raises.
    """
    def feed(self, slots: _Ids, ids: _Ids, offsets: _Ids | None = None) -> Columns:
        """One step: `ids[i]` goes to `slots[i]`. The deltas are returned as Columns; everything else is in the parsers,
        `batch[slot]`.

        slots, ids: what Parser.feed() takes, of equal length; with offsets, `ids[offsets[i]:offsets[i + 1]]` goes to
        `slots[i]`. Raises TypeError, ValueError or RuntimeError, before anything is read, for a slot that is not open,
        comes twice or has an emitter, an invalid id, lists of two lengths, or a stream that takes no ids or is in use.
        """
    def feed_sse(self, slots: _Ids, ids: _Ids, offsets: _Ids | None = None) -> Frames:
        """One step of slots that have emitters: the frames of each, as Frames, a sequence of bytes. Otherwise as
        feed().

        Raises EmitterError if emitters raise; it has the frames of all others.
        """
    def __sizeof__(self) -> int: ...
