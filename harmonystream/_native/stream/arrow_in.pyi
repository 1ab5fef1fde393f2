from collections.abc import Iterator
from typing import Any, final

DEBUG: bool
__pyx_capi__: dict[str, object]
WANTED: str

@final
class Rows:
    """Rows that parse_many() reads. It keeps the memory that they lie in."""
    @property
    def n(self) -> int: ...
    def __len__(self) -> int: ...

def rows_of(column: Any) -> list[Rows]:
    """The rows of a column, as a list of `Rows`, one for each chunk."""

def rows_by_chunk(column: Any) -> Iterator[Rows]:
    """The same, each chunk when it is asked for."""

@final
class OwnStream:
    """Takes the stream out of another library's capsule."""

def chunks(own: OwnStream) -> Iterator[Rows]:
    """The chunks of a stream, as a generator."""
