from typing import final

from typing_extensions import Self

DEBUG: bool

@final
class Node:
    """One array: its type as Arrow spells it, and bytes for each of its buffers (None: it has no validity bitmap).

    It speaks Arrow's PyCapsule protocol. What was exported keeps its memory.
    """
    def __new__(
        cls,
        format: bytes,
        name: str,
        length: int,
        buffers: tuple[bytes | None, ...],
        children: tuple[Node, ...] = (),
        null_count: int = 0,
    ) -> Self: ...
    @property
    def length(self) -> int: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
