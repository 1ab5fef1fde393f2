"""`harmonystream parse --each`: every line of the input is a stream of its own, as JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from .._native.stream.parser import Parser
from ..errors import ParseError
from ..events import Event
from .paint import make_show, paint
from .read import MAX_ID, InputError
from .show import json_line, repairs

__all__ = ["Line", "lines", "parse_each", "rows"]

_COLUMNS = ("ids", "token_ids", "text")
"""The names under which an object or a row may have its output."""


class Line(NamedTuple):
    """One stream: its ids, or its text, and why it ended, if the line says."""

    number: int
    output: list[int] | str
    reason: str | None


def parse_each(
    fd: int, fresh: Callable[[], Parser], *, takes_ids: bool, reason: str | None, as_json: bool, color: str
) -> None:
    """Shows each line of `fd` as it comes. fresh: makes a parser. takes_ids: has it a vocabulary? reason: of lines
    that do not say.

    Raises InputError for a line that is not a stream, and ParseError where the parsers are strict.
    """
    for index, line in enumerate(lines(fd)):
        parser = fresh()
        if not isinstance(line.output, str) and not takes_ids:
            raise InputError(f"line {line.number}: ids of the format {parser.format!r} need --tokenizer")
        events = _events(parser, line, reason)
        if as_json:
            _write_json(index, parser, events)
        else:
            print(f"{'' if index == 0 else chr(10)}--- line {line.number}", flush=True)
            paint(make_show(color), parser, events, "bytes" if isinstance(line.output, str) else "tokens")


def lines(fd: int) -> Iterator[Line]:
    """The streams of an input. Raises InputError for a line that is not a stream."""
    try:
        with os.fdopen(fd, "rb", closefd=False) as file:
            for number, text in enumerate(file, 1):
                if text.strip():
                    yield _read(number, text)
    except OSError as error:
        raise InputError(f"cannot read the input: {error.strerror}") from None


def rows(path: str) -> Iterator[Line]:
    """The streams of a Parquet file: the columns `ids`, `token_ids` or `text`, and perhaps `finish_reason`.

    A row that is null is left out. Raises InputError for a file that cannot be read, or has none of the columns.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise InputError("Parquet is read with pyarrow: run `pip install pyarrow`") from None
    try:
        with ParquetFile(path) as file:
            names = file.schema_arrow.names
            own = next((name for name in _COLUMNS if name in names), None)
            if own is None:
                raise InputError(f"{path} has none of the columns {', '.join(_COLUMNS)}, but {', '.join(names)}")
            batches = file.iter_batches(256, columns=[own, *({"finish_reason"} & {*names})])
            for number, row in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1):
                if row[own] is not None:
                    yield _line(number, row)
    except (ArrowException, OSError) as error:
        raise InputError(f"cannot read {path}: {error}") from None


def _read(number: int, text: bytes) -> Line:
    if number == 1 and text.startswith(b"PAR1"):
        raise InputError("this is a Parquet file: `harmonystream audit` reads files whose names end in .parquet")
    try:
        value = json.loads(text.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {number}: not JSON: {error}") from None
    return _line(number, value)


def _line(number: int, value: object) -> Line:
    reason = None
    if isinstance(value, dict):
        reason = value.get("finish_reason")
        if reason is not None and not isinstance(reason, str):
            raise InputError(f"line {number}: finish_reason is a string")
        value = next((value[name] for name in _COLUMNS if name in value), None)
    if isinstance(value, str):
        return Line(number, value, reason)
    if isinstance(value, list) and all(type(tid) is int and 0 <= tid <= MAX_ID for tid in value):
        return Line(number, value, reason)
    wanted = 'a list of ids, a string, or an object with "ids", "token_ids" or "text"'
    raise InputError(f"line {number}: {wanted} is expected")


def _events(parser: Parser, line: Line, reason: str | None) -> Iterator[Event]:
    try:
        yield from parser.feed_text(line.output) if isinstance(line.output, str) else parser.feed(line.output)
        yield from parser.finish(line.reason or reason)
    except ParseError as error:
        yield from error.events
        raise


def _write_json(index: int, parser: Parser, events: Iterable[Event]) -> None:
    out = sys.stdout.buffer
    for event in events:
        out.write(json_line(event, stream=index).encode("utf-8", "replace"))
        out.flush()
    for repair in repairs(parser):
        print(f"harmonystream: stream {index}: {repair}", file=sys.stderr)
