import sys
from collections.abc import Iterator
from typing import Any, ClassVar, SupportsIndex, final, overload

from typing_extensions import disjoint_base

DEBUG: bool

@disjoint_base
class Block:
    """Bytes that a step has made, for a memoryview."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Frames(Block):
    """What `Batch.feed_sse` returns: a sequence with the frames of each slot, in the order of the call, as bytes; b""
    if there are none.

    They are in one block, and each becomes an object when it is asked for: `block[offset[i]:offset[i + 1]]` is the
    i-th without a copy.
    """
    @property
    def block(self) -> memoryview:
        """All frames, one after the other in the order of the slots, as a memoryview."""
    @property
    def offset(self) -> memoryview:
        """Where each slot's frames begin in the block, and at last its size: int64, len() + 1 of them, as a memoryview."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, i: SupportsIndex, /) -> bytes: ...
    @overload
    def __getitem__(self, i: slice, /) -> list[bytes]: ...
    def __iter__(self) -> Iterator[bytes]: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
