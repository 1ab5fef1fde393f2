"""Ray Data: adds a column to a dataset."""

from __future__ import annotations

from typing import Any

from .columns import Labelled, ParsedColumn

__all__ = ["add_column"]


def add_column(dataset: Any, column: ParsedColumn | Labelled, **options: Any) -> Any:
    """`dataset` with the column of `ParsedColumn(...)` or `Labelled(...)`.

    options: more options for `map_batches`, such as `batch_size`. Blocks stay Arrow tables. By default a batch is a
    block.
    """
    return dataset.map_batches(
        column, **{"batch_format": "pyarrow", "zero_copy_batch": True, "batch_size": None, **options}
    )
