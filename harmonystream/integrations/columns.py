"""Reads a column of outputs in a batch of any data engine, and adds a column of their parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._moved import renamed
from .._native.core.vocab import Vocab
from ..columns.labels import label_many
from ..columns.outputs import COLUMNS, Parsed, parse_many
from ..formats import Format, HeaderFormat

__all__ = ["Labelled", "ParsedColumn"]


class ParsedColumn:
    """A function of Arrow tables, or of record batches. It adds a struct column, in the form of `parse_many`.

    column: the name of the column of outputs: lists of ids of any integer type, or strings. into: the name of the new
    column. A column with this name is replaced.
    finish_reason: the reason for all outputs. finish_reason_column: the name of a column of reasons.
    prompt_column: the name of a column of the prompts that the rows continue.
    tools_column: the name of a column of each row's own tools: a list of them, or its JSON. In null rows, `tools`
    applies.
    format, vocab, tools, fields: as in `parse_many`. threads: 1, because a data engine runs one worker per core.
    progress: called in the process that reads the batch, after each 1,024 rows, with the number of finished rows and of
    all rows of the batch. An engine with worker processes pickles it.

    It can be pickled. Then each worker loads the vocabulary once: a `Vocab.load`ed one is pickled as its path.
    """

    @renamed(finish="finish_reason", finish_column="finish_reason_column")
    def __init__(
        self,
        column: str,
        format: str | Format | HeaderFormat = "harmony",
        vocab: Vocab | None = None,
        *,
        into: str = "parsed",
        finish_reason: str | None = None,
        finish_reason_column: str | None = None,
        prompt_column: str | None = None,
        tools_column: str | None = None,
        tools: Iterable[Any] | None = None,
        fields: Sequence[str] = COLUMNS,
        threads: int = 1,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        if finish_reason is not None and finish_reason_column is not None:
            raise ValueError("pass finish_reason= or finish_reason_column=, not both")
        self.column, self.into = column, into
        self._format, self._vocab, self._tools = format, vocab, None if tools is None else list(tools)
        self._finish, self._finish_column, self._prompt_column = finish_reason, finish_reason_column, prompt_column
        self._tools_column = tools_column
        self._fields, self._threads, self._progress = tuple(fields), threads, progress
        self.read([])  # refuses wrong options here rather than in a worker

    @property
    def needs_columns(self) -> bool:
        """Does it need more than the column of outputs?"""
        return any((self._finish_column, self._prompt_column, self._tools_column))

    def read(self, column: Any, reasons: Sequence[Any] | None = None, prompts: Any = None, tools: Any = None) -> Parsed:
        """Read one column, for engines that pass columns. tools: for all rows, in place of the constructor's."""
        if isinstance(column, list) and not column:
            column = _nothing()
        return parse_many(
            _readable(column),
            self._format,
            self._vocab,
            finish_reason=self._finish if reasons is None else reasons,
            tools=self._tools if tools is None else tools,
            prompts=None if prompts is None else _readable(prompts),
            threads=self._threads,
            fields=self._fields,
            progress=self._progress,
        )

    def __call__(self, batch: Any) -> Any:
        """A table (or record batch) of pyarrow with the new column."""
        if self._tools_column is not None:
            return _with_column(batch, self.into, self._by_tools(batch))
        return _with_column(batch, self.into, self._read(batch, None))

    def _read(self, batch: Any, tools: Any) -> Parsed:
        reasons = None if self._finish_column is None else batch.column(self._finish_column).to_pylist()
        prompts = None if self._prompt_column is None else batch.column(self._prompt_column)
        return self.read(batch.column(self.column), reasons, prompts, tools)

    def _by_tools(self, batch: Any) -> Any:
        """Read rows with the same tools together."""
        import pyarrow

        groups: dict[str, list[int]] = {}
        for row, tools in enumerate(batch.column(self._tools_column).to_pylist()):
            groups.setdefault(tools if isinstance(tools, str) else json.dumps(tools), []).append(row)
        parts = [self._read(batch.take(rows), self._tools_of(text, rows)) for text, rows in groups.items()]
        places = {row: at for at, row in enumerate(row for rows in groups.values() for row in rows)}
        order = pyarrow.array([places[row] for row in range(len(places))], pyarrow.int64())
        return pyarrow.concat_arrays([pyarrow.array(part) for part in parts or [self.read([])]]).take(order)

    def _tools_of(self, text: str, rows: list[int]) -> Any:
        try:
            return _without_nulls(json.loads(text))
        except ValueError as error:
            raise ValueError(f"the column {self._tools_column!r} is not JSON in row {rows[0]}: {error}") from None


def _without_nulls(value: Any) -> Any:
    """The value without nulls, because Arrow gives all structs of a column the same fields."""
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


class Labelled:
    """Like `ParsedColumn`, but for `label_many`: it adds a list column of each token's `Region`, for loss masks."""

    def __init__(
        self,
        column: str,
        format: str | Format | HeaderFormat = "harmony",
        vocab: Vocab | None = None,
        *,
        into: str = "regions",
        tools: Iterable[Any] | None = None,
        conversation: bool = False,
        threads: int = 1,
        progress: Callable[[int, int], object] | None = None,
    ) -> None:
        self.column, self.into = column, into
        self._format, self._vocab, self._tools = format, vocab, None if tools is None else list(tools)
        self._conversation, self._threads, self._progress = conversation, threads, progress
        self.read([])

    def read(self, column: Any) -> Parsed:
        """Read one column, for engines that pass columns."""
        if isinstance(column, list) and not column:
            column = _nothing()
        return label_many(
            _readable(column),
            self._format,
            self._vocab,
            tools=self._tools,
            conversation=self._conversation,
            threads=self._threads,
            progress=self._progress,
        )

    def __call__(self, batch: Any) -> Any:
        """A table (or record batch) of pyarrow with the new column."""
        return _with_column(batch, self.into, self.read(batch.column(self.column)))


def _nothing() -> Any:
    """A column without rows: (values, offsets)."""
    from array import array

    return array("i"), array("i", [0])


def _with_column(batch: Any, name: str, made: Any) -> Any:
    import pyarrow

    column = pyarrow.array(made)
    at = batch.schema.get_field_index(name)
    return batch.append_column(name, column) if at < 0 else batch.set_column(at, name, column)


def _readable(column: Any) -> Any:
    """A pyarrow column, converted if parse_many does not accept its type. Other columns stay unchanged."""
    found = getattr(column, "type", None)
    if found is None or not type(column).__module__.startswith("pyarrow"):
        return column
    import pyarrow
    from pyarrow import types

    if types.is_null(found):
        return column.cast(pyarrow.list_(pyarrow.int32()))
    if types.is_dictionary(found):
        return _readable(column.cast(found.value_type))
    item = getattr(found, "value_type", None)
    if item is None or not types.is_integer(item):
        return column
    if item in (pyarrow.int32(), pyarrow.uint32(), pyarrow.int64()) and not types.is_fixed_size_list(found):
        return column
    ids = pyarrow.int64() if item.bit_width == 64 else pyarrow.uint32() if item == pyarrow.uint32() else pyarrow.int32()
    wide = types.is_large_list(found)
    # An id that does not fit into int64 becomes negative, so the row gets the note that it is not an id.
    return column.cast(pyarrow.large_list(ids) if wide else pyarrow.list_(ids), safe=False)
