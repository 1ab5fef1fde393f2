"""parse_many(): a column of outputs as columns of what they hold, for Arrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ._native.core.vocab import Vocab
from ._native.stream.arrow_in import Rows, rows_of
from ._native.stream.arrow_out import Node
from ._native.stream.many import FIELDS, bits, column_of, joined_ends, named, read_rows
from ._native.stream.parser import Parser
from .deviations import CODES
from .formats import Format, HeaderFormat
from .reasons import normal
from .regions import Usage

__all__ = ["COLUMNS", "Parsed", "parse_many"]

COLUMNS = ("reasoning", "content", "calls", "finish_reason", "usage", "deviations", "note")
CHUNK = 1024
"""Rows that a thread takes at a time."""

_STOPS = ("stop", "tool_calls", "function_call")
_KINDS = [b"", b"function", b"builtin", b"other"]
_NOTES = [b"", b"null", b"not-an-id"]
_MOST_REASONS = 250


class Parsed:
    """The rows that `parse_many` has read: an Arrow array of structs, for any reader of Arrow's PyCapsule protocol.

    `pyarrow.array(parsed)`, `polars.Series(parsed)` and so on take it without a copy.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    def __len__(self) -> int:
        return len(self._node)

    def __arrow_c_schema__(self) -> object:
        """Its type, as a capsule."""
        return self._node.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Its type and its data, as two capsules."""
        return self._node.__arrow_c_array__(requested_schema)

    def __repr__(self) -> str:
        return f"<Parsed: {len(self)} rows>"


def parse_many(
    column: Any,
    format: str | Format | HeaderFormat = "harmony",
    vocab: Vocab | None = None,
    *,
    finish: str | Sequence[Any] | None = None,
    tools: Iterable[Any] | None = None,
    start: str = "auto",
    threads: int = 0,
    fields: Sequence[str] = COLUMNS,
    progress: Callable[[int, int], object] | None = None,
) -> Parsed:
    """Parse a column of whole outputs into columns, for data sets: no object of Python is made for a row.

    column: an Arrow array, chunked array or stream (of pyarrow, Polars, DuckDB and others): lists or large lists of
        int32, uint32 or int64 ids, or strings; or a pair `(values, offsets)` of integer buffers.
    finish: the engine's reason, or one for each row. format, vocab, tools, start: as `Parser` has them.
    threads: how many read at the same time, without the GIL; 0: one for each core.
    fields: which of `COLUMNS`. progress: called with the rows that are done, and all, after each 1,024.

    A null row is null. A row that cannot be read is empty and has a note, "not-an-id". Everything else is what `parse`
    says of that row. Raises TypeError for another type, and ValueError for offsets that do not ascend or lie outside
    the values, for nulls among the ids, and for reasons that are not one for each row.
    """
    if unknown := set(fields) - set(COLUMNS):
        raise ValueError(f"fields are some of {', '.join(COLUMNS)}, not {', '.join(sorted(unknown))}")
    if threads < 0:
        raise ValueError(f"threads is 0 or more, not {threads}")
    parser = Parser(format, vocab, tools=tools, start=start, check_stops=False)
    chunks = rows_of(column)
    total = sum(map(len, chunks))
    reasons, numbers = _numbered(finish, total)
    stopped = bytes(reason in _STOPS for reason in reasons)
    pieces = []
    done = 0
    tasks = ((parser, *span, stopped) for span in _spans(chunks, numbers))
    for piece, count in _all_read(tasks, threads or os.cpu_count() or 1):
        pieces.append(piece)
        done += count
        if progress is not None:
            progress(done, total)
    return Parsed(_Table(pieces, [reason.encode() for reason in reasons]).node(done, fields))


def _numbered(finish: str | Sequence[Any] | None, total: int) -> tuple[list[str], bytes]:
    """The reasons that occur, "" first, and the number of each row's reason (or of all)."""
    if finish is None or isinstance(finish, str):
        reason = normal(finish)
        return (["", reason], b"\1") if reason else ([""], b"\0")
    if len(finish) != total:
        raise ValueError(f"finish has {len(finish)} reasons, for {total} rows: give one for each, or one for all")
    known = {"": 0}
    numbers = bytearray()
    for given in finish:
        number = known.setdefault(normal(given) or "", len(known))
        if number > _MOST_REASONS:
            raise ValueError(f"finish has more than {_MOST_REASONS} different reasons")
        numbers.append(number)
    return list(known), bytes(numbers)


def _spans(chunks: list[Rows], numbers: bytes) -> Iterator[tuple[Rows, int, int, bytes]]:
    first = 0
    for rows in chunks:
        own = numbers if len(numbers) == 1 else numbers[first : first + len(rows)]
        for begin in range(0, len(rows), CHUNK):
            yield rows, begin, min(begin + CHUNK, len(rows)), own
        first += len(rows)


def _all_read(
    tasks: Iterable[tuple[Parser, Rows, int, int, bytes, bytes]], threads: int
) -> Iterator[tuple[tuple[bytes, ...], int]]:
    """In the order of the tasks. One thread is the caller's own."""
    if threads == 1:
        yield from map(_read, tasks)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(_read, tasks)


def _read(task: tuple[Parser, Rows, int, int, bytes, bytes]) -> tuple[tuple[bytes, ...], int]:
    parser, rows, begin, stop, reasons, stopped = task
    return read_rows(parser, rows, begin, stop, reasons, stopped), stop - begin


class _Table:
    """The pieces of all threads, put together column by column."""

    def __init__(self, pieces: list[tuple[bytes, ...]], reasons: list[bytes]) -> None:
        self._pieces = [dict(zip(FIELDS, piece)) for piece in pieces]
        self._reasons = reasons

    def all(self, field: str) -> bytes:
        return b"".join([piece[field] for piece in self._pieces])

    def ends(self, field: str, of: str, size: int = 1) -> bytes:
        """Offsets. They count items of `of`, of `size` bytes each."""
        return joined_ends([(piece[field], len(piece[of]) // size) for piece in self._pieces])

    def node(self, n: int, fields: Sequence[str]) -> Node:
        made = {
            "reasoning": lambda name: self.text(name, n),
            "content": lambda name: self.text(name, n),
            "calls": lambda name: self.calls(name, n),
            "finish_reason": lambda name: self.coded(
                name, self.all("reason"), [b"", b"tool_calls", b"stop", *self._reasons]
            ),
            "usage": lambda name: self.usage(name, n),
            "deviations": lambda name: self.deviations(name, n),
            "note": lambda name: self.coded(name, self.all("note"), _NOTES),
        }
        valid, missing = bits(self.all("note"), 1)
        children = tuple(made[name](name) for name in fields)
        return Node(b"+s", "", n, (valid if missing else None,), children, missing)

    def text(self, field: str, n: int) -> Node:
        return Node(b"U", field, n, (None, self.ends(f"{field}_at", field), self.all(field)))

    def coded(self, name: str, codes: bytes, names: list[bytes]) -> Node:
        """Strings by their codes; code 0 is null."""
        valid, missing = bits(codes)
        return Node(b"U", name, len(codes), (valid if missing else None, *named(codes, names)), (), missing)

    def calls(self, name: str, n: int) -> Node:
        kinds = self.all("kind")
        m = len(kinds)
        has_id, without = bits(self.all("has_id"))
        ids = (has_id if without else None, self.ends("id_at", "id"), self.all("id"))
        fields = (
            Node(b"i", "index", m, (None, self.all("index"))),
            self.text("name", m),
            self.text("arguments", m),
            Node(b"U", "id", m, ids, (), without),
            Node(b"U", "kind", m, (None, *named(kinds, _KINDS))),
            Node(b"b", "complete", m, (None, bits(self.all("complete"))[0])),
            Node(b"b", "balanced", m, (None, bits(self.all("balanced"))[0])),
        )
        return Node(
            b"+L", name, n, (None, self.ends("calls_at", "index", 4)), (Node(b"+s", "item", m, (None,), fields),)
        )

    def usage(self, name: str, n: int) -> Node:
        rows = self.all("usage")
        names = Usage._fields
        counts = tuple(Node(b"l", of, n, (None, column_of(rows, k, len(names)))) for k, of in enumerate(names))
        return Node(b"+s", name, n, (None,), counts)

    def deviations(self, name: str, n: int) -> Node:
        codes = self.all("code")
        m = len(codes)
        fields = (
            Node(b"U", "code", m, (None, *named(codes, [code.encode() for code in CODES]))),
            Node(b"l", "position", m, (None, self.all("position"))),
        )
        item = Node(b"+s", "item", m, (None,), fields)
        return Node(b"+L", name, n, (None, self.ends("deviations_at", "code")), (item,))
