"""parse_chunks(): reads a stream of outputs, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .._moved import renamed
from .._native.core.tools import compiled_tools
from .._native.core.vocab import Vocab
from .._native.stream.arrow_in import rows_by_chunk
from .._native.stream.arrow_stream import stream_of
from ..formats import Format, HeaderFormat
from .outputs import COLUMNS, Parsed, parse_many

__all__ = ["ParsedChunks", "parse_chunks"]


class ParsedChunks:
    """An iterator of `Parsed`, one for each chunk of the column, and an Arrow stream of them.

    A chunk is read on demand. `pyarrow.RecordBatchReader.from_stream` and other readers of Arrow's PyCapsule protocol
    take the chunks without a copy, once.
    """

    def __init__(self, kind: Parsed, chunks: Iterator[Parsed]) -> None:
        self._kind, self._chunks = kind, chunks

    def __iter__(self) -> Iterator[Parsed]:
        return self._chunks

    def __arrow_c_schema__(self) -> object:
        """The type of each chunk, as a capsule."""
        return self._kind.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The chunks that have not been taken yet, as a capsule."""
        return stream_of(self._kind, self._chunks)


@renamed(finish="finish_reason")
def parse_chunks(
    column: Any,
    format: str | Format | HeaderFormat = "harmony",
    vocab: Vocab | None = None,
    *,
    finish_reason: str | None = None,
    tools: Iterable[Any] | None = None,
    start: str = "auto",
    threads: int = 0,
    fields: Sequence[str] = COLUMNS,
) -> ParsedChunks:
    """Parses a stream of outputs chunk by chunk, for data sets that do not fit into memory.

    column: what `parse_many` takes, such as an Arrow stream, of the column or of record batches with this one column.
    The options are those of `parse_many`, which is called for each chunk, and raises what it raises.
    """
    ready: Any = compiled_tools(tools)

    def parsed(chunk: Any) -> Parsed:
        return parse_many(
            chunk, format, vocab, finish_reason=finish_reason, tools=ready, start=start, threads=threads, fields=fields
        )

    return ParsedChunks(parsed(([], [0])), map(parsed, rows_by_chunk(column)))
