"""Polars: an expression of a column of outputs."""

from __future__ import annotations

from typing import Any

from .columns import Labelled, ParsedColumn

__all__ = ["expression"]


def expression(column: ParsedColumn | Labelled) -> Any:
    """The expression of `ParsedColumn(...)` or `Labelled(...)`: `frame.with_columns(expression(...))`.

    It works in eager and lazy frames. It cannot read a column of reasons or prompts. Pass `finish_reason=` for all
    rows.
    """
    import polars

    if isinstance(column, ParsedColumn) and column.needs_columns:
        raise ValueError("a Polars expression reads one column: it takes no finish_column and no prompt_column")

    def read(series: Any) -> Any:
        made = column.read(series)
        return polars.Series(column.into, made)

    made = column.read([])
    dtype = polars.Series(column.into, made).dtype
    return polars.col(column.column).map_batches(read, return_dtype=dtype).alias(column.into)
