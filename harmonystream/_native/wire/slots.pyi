from array import array
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, SupportsIndex, TypeAlias

from typing_extensions import Buffer, Self, disjoint_base

from harmonystream._native.core.tools import _Tools
from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import Parser
from harmonystream.emit.common.stream import EventStream
from harmonystream.formats.spec import Format, HeaderFormat

DEBUG: bool
__pyx_capi__: dict[str, object]

_Reason: TypeAlias = str | Mapping[str, Any] | Enum
_Ids: TypeAlias = SupportsIndex | Iterable[SupportsIndex] | Buffer

@disjoint_base
class Slots:
    """The slots of a batch. Batch adds the steps."""
    def __new__(
        cls,
        format: str | Format | HeaderFormat = "harmony",
        vocab: Vocab | None = None,
        capacity: SupportsIndex = 1024,
        *,
        trim: Literal["seams", "none"] = "seams",
        empty_args: str = "{}",
        max_hold: SupportsIndex = 1048576,
        check_stops: bool = True,
    ) -> Self: ...
    def open(
        self,
        *,
        tools: _Tools | None = None,
        start: str = "auto",
        prompt: str | bytes | _Ids | None = None,
    ) -> int:
        """A slot for a new stream, whose options are Parser's. Raises RuntimeError if all slots are taken, and what
        Parser() raises.
        """
    def open_many(
        self,
        n: SupportsIndex,
        /,
        *,
        tools: _Tools | None = None,
        start: str = "auto",
        prompt: str | bytes | _Ids | None = None,
    ) -> array[int]:
        """Slots for n new streams that share their options, as an array of int32, which feed() reads as it is.

        Raises RuntimeError if fewer slots are free, ValueError if n is negative, and what Parser() raises.
        """
    def add(self, stream: Parser | EventStream, /) -> int:
        """A slot for an emitter (ChatStream, ...), or for a parser, as fork() makes one. It must have this batch's
        format and vocabulary.

        Raises TypeError or ValueError for any other, for one that has a slot already, and for a ChatStream whose chunks
        have token ids; RuntimeError if all slots are taken.
        """
    def close(self, slot: SupportsIndex, /) -> Any:
        """Free the slot, which the next open() takes. What was in it, a parser or an emitter, is returned. Raises
        ValueError if it is not open.
        """
    def finish(self, slot: SupportsIndex, reason: _Reason | None = None, usage: dict[str, Any] | None = None) -> Any:
        """The last events of a stream as a tuple, or an emitter's last frames as bytes; then the slot is free. It stays
        open if this raises.

        reason, usage: see Parser.finish() and the emitter's; a parser takes no usage.
        """
    def finish_many(
        self,
        slots: _Ids,
        reasons: _Reason | Sequence[_Reason | None] | None = None,
        usages: Sequence[dict[str, Any] | None] | None = None,
    ) -> list[Any]:
        """What finish() gives for each slot, as a list.

        reasons: one for all, or a list with one for each. usages: None, or a list with one for each. Raises TypeError
        or ValueError, before anything has ended, for a slot that is not open, a slot given twice, or another number of
        reasons or usages. If streams raise, the others end anyway, and the slots that failed stay open. Then
        EmitterError has the results of the others.
        """
    def counts(self, slots: _Ids, /) -> memoryview:
        """What was counted in each slot so far: a memoryview of int64, with a row for each slot. The columns are the
        tokens of each `Region`, and how much was repaired. Raises TypeError or ValueError for a slot that is not open.
        """
    def __getitem__(self, slot: SupportsIndex, /) -> Parser: ...
    def __len__(self) -> int: ...
    def __sizeof__(self) -> int: ...
    @property
    def capacity(self) -> int:
        """Slots, open and free."""
    @property
    def format(self) -> str:
        """The format's name."""
    @property
    def vocab(self) -> Vocab:
        """The vocabulary."""
