"""Spark: adds a column to a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .columns import Labelled, ParsedColumn

__all__ = ["add_column"]


def add_column(frame: Any, column: ParsedColumn | Labelled) -> Any:
    """`frame` with the column of `ParsedColumn(...)` or `Labelled(...)`, by `mapInArrow`. Lazy, as Spark is."""
    import pyarrow
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    made = pyarrow.array(column.read([]))
    new = StructField(column.into, from_arrow_type(_spark_type(made.type)))
    fields = [new if field.name == column.into else field for field in frame.schema.fields]
    schema = StructType(fields if new in fields else [*fields, new])

    def each(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield _castable(column(batch), column.into)

    return frame.mapInArrow(each, schema)


def _castable(batch: Any, name: str) -> Any:
    """The column in types that Spark has."""
    at = batch.schema.get_field_index(name)
    made = batch.column(at)
    return batch.set_column(at, name, made.cast(_spark_type(made.type)))


def _spark_type(type: Any) -> Any:
    """The type for Spark, which has no unsigned numbers, and no large or dictionary types."""
    import pyarrow

    if pyarrow.types.is_struct(type):
        return pyarrow.struct([(field.name, _spark_type(field.type)) for field in type])
    if pyarrow.types.is_list(type) or pyarrow.types.is_large_list(type):
        return pyarrow.list_(_spark_type(type.value_type))
    if pyarrow.types.is_dictionary(type):
        return _spark_type(type.value_type)
    if pyarrow.types.is_large_string(type) or pyarrow.types.is_string_view(type):
        return pyarrow.string()
    if pyarrow.types.is_unsigned_integer(type):
        return pyarrow.int32() if type.bit_width < 32 else pyarrow.int64()
    return type
