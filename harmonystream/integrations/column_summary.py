"""Summarises a parsed data set: how many rows were repaired, and by which deviations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["Summary", "summarize"]

_FIELDS = ("deviations", "finish_reason", "note")


class Summary(NamedTuple):
    """Counts of rows. clean: rows with neither a deviation nor a note.

    deviations: for each code, how many rows have it, with the most frequent one first. first: for each code, the first
    row that has it, counted from 0. finish_reasons, notes: counts by value.
    """

    rows: int
    clean: int
    deviations: dict[str, int]
    first: dict[str, int]
    finish_reasons: dict[str, int]
    notes: dict[str, int]


def summarize(batches: Any, column: str = "parsed") -> Summary:
    """Count the contents of a `ParsedColumn`'s column.

    batches: a table or record batch of pyarrow, or an iterable of them, such as
    `dataset.with_format("arrow").iter(1000)` of Hugging Face, or `dataset.iter_batches(batch_format="pyarrow")` of Ray.
    Only one of them is in memory at a time.

    Raises ValueError if the column lacks one of the fields `deviations`, `finish_reason` and `note`.
    """
    rows = clean = 0
    deviations, reasons, notes = Counter[str](), Counter[str](), Counter[str]()
    first: dict[str, int] = {}
    for part in _parts([batches] if hasattr(batches, "schema") else batches, column):
        found, noted = _found(part), part["note"].is_valid().to_numpy(zero_copy_only=False).nonzero()[0]
        for row, code in sorted(found):
            deviations[code] += 1
            first.setdefault(code, rows + row)
        for counts, field in ((reasons, "finish_reason"), (notes, "note")):
            for each in part[field].drop_null().value_counts().to_pylist():
                counts[each["values"]] += each["counts"]
        clean += len(part["note"]) - len({row for row, _ in found} | set(noted.tolist()))
        rows += len(part["note"])
    return Summary(rows, clean, dict(deviations.most_common()), first, dict(reasons), dict(notes))


def _parts(batches: Iterable[Any], column: str) -> Iterator[dict[str, Any]]:
    """The fields that are counted, for each contiguous piece."""
    from pyarrow import compute

    for batch in batches:
        found = batch.column(column)
        names = {field.name for field in found.type}
        if missing := [name for name in _FIELDS if name not in names]:
            raise ValueError(f"the column {column!r} has no field {missing[0]!r}, which is counted")
        for piece in getattr(found, "chunks", [found]):
            yield {name: compute.struct_field(piece, name) for name in _FIELDS}


def _found(part: dict[str, Any]) -> set[tuple[int, str]]:
    """(row, code) for each deviation."""
    from pyarrow import compute

    deviations = part["deviations"]
    codes = compute.struct_field(compute.list_flatten(deviations), "code")
    return set(zip(compute.list_parent_indices(deviations).to_pylist(), codes.to_pylist(), strict=True))
