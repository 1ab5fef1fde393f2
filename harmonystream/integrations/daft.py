"""Daft: an expression of a column of outputs."""

from __future__ import annotations

from typing import Any

from .columns import Labelled, ParsedColumn

__all__ = ["expression"]


def expression(column: ParsedColumn | Labelled) -> Any:
    """The expression of `ParsedColumn(...)` or `Labelled(...)`: `frame.with_column(column.into, expression(...))`.

    It cannot read a column of reasons or prompts. Pass `finish_reason=` for all rows.
    """
    import daft
    import pyarrow

    if isinstance(column, ParsedColumn) and column.needs_columns:
        raise ValueError("a Daft expression reads one column: it takes no finish_column and no prompt_column")

    def read(series: Any) -> Any:
        arrow = series.to_arrow()
        made = column.read(arrow)
        return daft.Series.from_arrow(pyarrow.array(made))

    made = column.read([])
    dtype = daft.DataType.from_arrow_type(pyarrow.array(made).type)
    return daft.func.batch(return_dtype=dtype)(read)(daft.col(column.column))
