"""Hugging Face datasets: adds a column to a dataset."""

from __future__ import annotations

from typing import Any

from .columns import Labelled, ParsedColumn

__all__ = ["add_column"]


def add_column(dataset: Any, column: ParsedColumn | Labelled, **options: Any) -> Any:
    """`dataset` (a `Dataset`, an `IterableDataset`, or a dict of them) with the column of `ParsedColumn(...)` or
    `Labelled(...)`.

    options: more options for `map`, such as `num_proc` or `batch_size` (1,000 rows by default). The result has the
    format of `dataset`. For an `IterableDataset` it is Python's, because its own is not known. `map` shows the
    progress, and computes a fingerprint of the column for its cache.
    """
    arrow = dataset.with_format("arrow").map(column, batched=True, **options)
    return arrow.with_format(**_format(dataset))


def _format(dataset: Any) -> dict[str, Any]:
    known = getattr(dataset, "format", None)
    if isinstance(known, dict) and "type" not in known:  # of a DatasetDict: one for each split
        known = next(iter(known.values()), None)
    if known is None:
        return {"type": None}
    return {"type": known["type"], **known.get("format_kwargs", {})}
