"""parse_many(): converts a column of outputs to columns of their parts, for Arrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from .._moved import renamed
from .._native.core.vocab import Vocab
from .._native.stream.arrow_in import Rows, rows_of
from .._native.stream.arrow_out import Node
from .._native.stream.many import FIELDS, bits, column_of, joined_ends, named, read_rows
from .._native.stream.parser import Parser
from ..deviations import CODES
from ..formats import Format, HeaderFormat
from ..reasons import normal
from ..regions import Usage

__all__ = ["COLUMNS", "Parsed", "parse_many"]

COLUMNS = ("reasoning", "content", "calls", "finish_reason", "usage", "deviations", "note")
_MESSAGES = "messages"
CHUNK = 1024
"""How many rows a thread takes at a time."""

_STOPS = ("stop", "tool_calls", "function_call")
_KINDS = [b"", b"function", b"builtin", b"other"]
_NOTES = [b"", b"null", b"not-an-id", b"bad-prompt"]
_MOST_REASONS = 250
_Piece = TypeVar("_Piece")


class Parsed:
    """The result of `parse_many` (structs) or `label_many` (lists): an Arrow array.

    `pyarrow.array(parsed)`, `polars.Series(parsed)` and any other reader of Arrow's PyCapsule protocol take it
    without a copy.
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


@renamed(finish="finish_reason")
def parse_many(
    column: Any,
    format: str | Format | HeaderFormat = "harmony",
    vocab: Vocab | None = None,
    *,
    finish_reason: str | Sequence[Any] | None = None,
    tools: Iterable[Any] | None = None,
    start: str = "auto",
    prompts: Any = None,
    threads: int = 0,
    fields: Sequence[str] = COLUMNS,
    progress: Callable[[int, int], object] | None = None,
) -> Parsed:
    """Parses a column of whole outputs into columns, for data sets. It makes no Python object for a row.

    column: an Arrow array, chunked array or stream (of pyarrow, Polars, DuckDB and others): lists or large lists of
        int32, uint32 or int64 ids; or strings or binary, also large ones and views; or a pair `(values, offsets)` of
        integer buffers.
    finish_reason: the engine's reason, or one for each row.
    format, vocab, tools, start: as in `Parser`.
    prompts: a column of prompts, or of their ends, that the rows continue, as in `Parser(prompt=)`; null: no prompt.
    threads: how many rows are read at the same time, without the GIL. 0: one for each core.
    fields: some of `COLUMNS`, or "messages", which is not one of them: a list with a struct for each message, with the
    fields of `Message`.
    progress: called after each 1,024 rows, with the number of finished rows and of all rows.

    In a null row all columns are null except the note, "null". A row with an invalid id is empty and has the note
    "not-an-id". A row whose prompt cannot be continued has the note "bad-prompt". Everything else is as in `parse`.
    Raises TypeError for another type of column, and ValueError for offsets that do not ascend or lie outside the
    values, or if there is not one reason or prompt for each row.
    """
    _check_fields(fields)
    parser = Parser(format, vocab, tools=tools, start=start, check_stops=False)
    chunks = rows_of(column)
    total, done = sum(map(len, chunks)), 0
    openings = [] if prompts is None else _openings(prompts, total, start)
    reasons, numbers = _numbered(finish_reason, total)
    stopped = bytes(reason in _STOPS for reason in reasons)
    pieces = []

    def read(span: _Span) -> tuple[bytes, ...]:
        own = numbers if len(numbers) == 1 else numbers[span.first : span.first + len(span.rows)]
        more = (own, stopped, span.prompts, span.prompt, _MESSAGES in fields)
        return read_rows(parser, span.rows, span.begin, span.stop, *more)

    for piece, count in each(read, spans(chunks, openings), threads):
        pieces.append(piece)
        done += count
        if progress is not None:
            progress(done, total)
    return Parsed(_Table(pieces, [reason.encode() for reason in reasons]).node(done, fields))


def _check_fields(fields: Sequence[str]) -> None:
    known = (*COLUMNS, _MESSAGES)
    if unknown := set(fields) - set(known):
        raise ValueError(f"fields are some of {', '.join(known)}, not {', '.join(sorted(unknown))}")


def _openings(prompts: Any, total: int, start: str) -> list[Rows]:
    """The chunks of the prompts."""
    chunks = rows_of(prompts)
    if (given := sum(map(len, chunks))) != total:
        raise ValueError(f"prompts has {given} rows, for {total} rows: give one for each")
    if start != "auto":
        raise ValueError(f"pass prompts= or start={start!r}, not both: a prompt decides the start by itself")
    return chunks


def _numbered(finish: str | Sequence[Any] | None, total: int) -> tuple[list[str], bytes]:
    """The distinct reasons, with "" first, and the number of each row's reason (or of all rows')."""
    if finish is None or isinstance(finish, str):
        reason = normal(finish)
        return (["", reason], b"\1") if reason else ([""], b"\0")
    if len(finish) != total:
        raise ValueError(
            f"finish_reason has {len(finish)} reasons, for {total} rows: give one for each, or one for all"
        )
    known = {"": 0}
    numbers = bytearray()
    for given in finish:
        number = known.setdefault(normal(given) or "", len(known))
        if number > _MOST_REASONS:
            raise ValueError(f"finish_reason has more than {_MOST_REASONS} different reasons")
        numbers.append(number)
    return list(known), bytes(numbers)


class _Span(NamedTuple):
    """A range of rows of a chunk."""

    rows: Rows
    begin: int
    stop: int
    first: int
    """How many rows the chunks before this one have."""
    prompts: Rows | None
    prompt: int
    """The row of `prompts` that belongs to `begin`."""


def spans(chunks: list[Rows], openings: Sequence[Rows] = ()) -> Iterator[_Span]:
    """Ranges of at most `CHUNK` rows, each within one chunk and one chunk of prompts."""
    first, prompts, prompt = 0, iter(openings), 0
    own: Rows | None = None
    for rows in chunks:
        begin = 0
        while begin < len(rows):
            while openings and (own is None or prompt == len(own)):
                own, prompt = next(prompts), 0
            stop = min(begin + CHUNK, len(rows), len(rows) if own is None else begin + len(own) - prompt)
            yield _Span(rows, begin, stop, first, own, prompt)
            begin, prompt = stop, prompt + stop - begin
        first += len(rows)


def each(read: Callable[[_Span], _Piece], spans: Iterable[_Span], threads: int) -> Iterator[tuple[_Piece, int]]:
    """The results of `read` in order, each with its number of rows. One of the threads is the caller's own."""

    def counted(span: _Span) -> tuple[_Piece, int]:
        return read(span), span.stop - span.begin

    if threads < 0:
        raise ValueError(f"threads is 0 or more, not {threads}")
    if threads == 1:
        yield from map(counted, spans)
        return
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        yield from pool.map(counted, spans)


class _Table:
    """The pieces from all threads, joined column by column."""

    def __init__(self, pieces: list[tuple[bytes, ...]], reasons: list[bytes]) -> None:
        self._pieces = [dict(zip(FIELDS, piece)) for piece in pieces]
        self._reasons = reasons
        valid, self._nulls = bits(self.all("note"), _NOTES.index(b"null"))
        self._valid = valid if self._nulls else None

    def all(self, field: str) -> bytes:
        return b"".join([piece[field] for piece in self._pieces])

    def ends(self, field: str, of: str, size: int = 1) -> bytes:
        """Offsets. They count items of `of`, which have `size` bytes each."""
        return joined_ends([(piece[field], len(piece[of]) // size) for piece in self._pieces])

    def node(self, n: int, fields: Sequence[str]) -> Node:
        made = {
            "reasoning": lambda name: self.column(b"U", name, n, self.text_of(name)),
            "content": lambda name: self.column(b"U", name, n, self.text_of(name)),
            "calls": lambda name: self.calls(name, n),
            "finish_reason": lambda name: self.coded(
                name, self.all("reason"), [b"", b"tool_calls", b"stop", *self._reasons]
            ),
            "usage": lambda name: self.usage(name, n),
            "deviations": lambda name: self.deviations(name, n),
            "note": lambda name: self.coded(name, self.all("note"), _NOTES),
            _MESSAGES: lambda name: self.messages(name, n),
        }
        return Node(b"+s", "", n, (None,), tuple(made[name](name) for name in fields))

    def column(self, format: bytes, name: str, n: int, buffers: tuple[bytes, ...], *children: Node) -> Node:
        """A column that is null where the row is. The structs have no nulls, because record batches have none."""
        return Node(format, name, n, (self._valid, *buffers), children, self._nulls)

    def text_of(self, field: str) -> tuple[bytes, bytes]:
        return self.ends(f"{field}_at", field), self.all(field)

    def coded(self, name: str, codes: bytes, names: list[bytes]) -> Node:
        """Strings by their codes; code 0 is null."""
        valid, missing = bits(codes)
        return Node(b"U", name, len(codes), (valid if missing else None, *named(codes, names)), (), missing)

    def calls(self, name: str, n: int) -> Node:
        return self.column(b"+L", name, n, (self.ends("calls_at", "index", 4),), self.call_item())

    def call_item(self) -> Node:
        """All calls of all rows."""
        kinds = self.all("kind")
        m = len(kinds)
        has_id, without = bits(self.all("has_id"))
        ids = (has_id if without else None, self.ends("id_at", "id"), self.all("id"))
        fields = (
            Node(b"i", "index", m, (None, self.all("index"))),
            Node(b"U", "name", m, (None, *self.text_of("name"))),
            Node(b"U", "arguments", m, (None, *self.text_of("arguments"))),
            Node(b"U", "id", m, ids, (), without),
            Node(b"U", "kind", m, (None, *named(kinds, _KINDS))),
            Node(b"b", "complete", m, (None, bits(self.all("complete"))[0])),
            Node(b"b", "balanced", m, (None, bits(self.all("balanced"))[0])),
        )
        return Node(b"+s", "item", m, (None,), fields)

    def messages(self, name: str, n: int) -> Node:
        """A message's texts and calls are parts of its row's, so their memory is shared."""
        m = len(self.all("start")) // 8

        def part(field: str) -> Node:
            valid, missing = bits(self.all(f"has_{field}"))
            return Node(b"U", field, m, (valid if missing else None, *self.text_of(field)), (), missing)

        fields = (
            Node(b"U", "role", m, (None, *self.text_of("role"))),
            *map(part, ("channel", "recipient", "content_type")),
            *(
                Node(b"U", field, m, (None, self.ends(f"message_{field}_at", field), self.all(field)))
                for field in ("reasoning", "content")
            ),
            Node(b"+L", "tool_calls", m, (None, self.ends("message_calls_at", "index", 4)), (self.call_item(),)),
            *(Node(b"l", field, m, (None, self.all(field))) for field in ("start", "stop")),
        )
        item = Node(b"+s", "item", m, (None,), fields)
        return self.column(b"+L", name, n, (self.ends("messages_at", "start", 8),), item)

    def usage(self, name: str, n: int) -> Node:
        rows = self.all("usage")
        names = Usage._fields
        counts = tuple(Node(b"l", of, n, (None, column_of(rows, k, len(names)))) for k, of in enumerate(names))
        return self.column(b"+s", name, n, (), *counts)

    def deviations(self, name: str, n: int) -> Node:
        codes = self.all("code")
        m = len(codes)
        fields = (
            Node(b"U", "code", m, (None, *named(codes, [code.encode() for code in CODES]))),
            Node(b"l", "position", m, (None, self.all("position"))),
        )
        item = Node(b"+s", "item", m, (None,), fields)
        return self.column(b"+L", name, n, (self.ends("deviations_at", "code"),), item)
