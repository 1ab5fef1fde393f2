"""parse_chunks() gives the rows of parse_many(), a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harmonystream as hs

ROW = [200005, 17196, 200008, 12194, 0, 200002]
ROWS = [ROW[: k % 7] if k % 6 else None for k in range(50)]


def reader(asked: list[int], type: Any) -> pa.RecordBatchReader:
    """Batches of 20 rows, each of which says when it is asked for."""
    schema = pa.schema({"ids": type})

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, len(ROWS), 20):
            asked.append(first)
            yield pa.record_batch([pa.array(ROWS[first : first + 20], type)], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


@pytest.mark.parametrize("type", [pa.list_(pa.int64()), pa.large_list(pa.int32())], ids=str)
def test_a_chunk_is_read_when_it_is_asked_for(type):
    asked: list[int] = []
    parsed = hs.columns.parse_chunks(reader(asked, type), finish_reason="stop", fields=["content", "note"])
    whole = pa.array(
        hs.columns.parse_many(pa.array(ROWS, type), finish_reason="stop", fields=["content", "note"])
    ).to_pylist()
    assert asked == []
    chunks = iter(parsed)
    assert pa.array(next(chunks)).to_pylist() == whole[:20]
    assert asked == [0]
    rest = pa.chunked_array(parsed)  # those that are left
    assert (rest.to_pylist(), rest.num_chunks, asked) == (whole[20:], 2, [0, 20, 40])
    assert list(chunks) == []


def test_libraries_read_the_stream(tmp_path):
    whole = pa.array(hs.columns.parse_many(pa.array(ROWS))).to_pylist()
    column = pa.chunked_array([ROWS[:9], ROWS[9:]])
    assert pl.Series(hs.columns.parse_chunks(column)).to_list() == whole
    made = pa.RecordBatchReader.from_stream(hs.columns.parse_chunks(column))
    with pq.ParquetWriter(tmp_path / "answers.parquet", made.schema) as writer:
        for batch in made:
            writer.write_batch(batch)
    assert pq.read_table(tmp_path / "answers.parquet").to_pylist() == whole

    answers = pa.RecordBatchReader.from_stream(hs.columns.parse_chunks(column))
    found = duckdb.from_arrow(answers).query("answers", "select content, usage.content from answers").fetchall()
    assert found == [(row["content"], (row["usage"] or {}).get("content")) for row in whole]


def test_texts_views_and_slices_of_batches():
    texts = ["<think>a</think>b" * 3, None, "x"]
    for type in (pa.string(), pa.large_string(), pa.string_view()):
        batch = pa.record_batch({"text": pa.array(["cut", *texts], type)})[1:]
        assert [row and row["content"] for row in pa.array(hs.columns.parse_many(batch, "think")).to_pylist()] == [
            row and row["content"] for row in pa.array(hs.columns.parse_many(pa.array(texts), "think")).to_pylist()
        ]
    frame = pl.DataFrame({"text": texts})
    assert pa.chunked_array(hs.columns.parse_chunks(frame, "think", fields=["content"])).to_pylist()[2] == {
        "content": "x"
    }


def test_errors_come_at_once_or_with_their_chunk():
    with pytest.raises(ValueError, match="fields are some of"):
        hs.columns.parse_chunks(pa.array([ROW]), fields=["nope"])
    with pytest.raises(TypeError, match="a column is an Arrow array"):
        hs.columns.parse_chunks([ROW])
    with pytest.raises(TypeError, match="a column is an Arrow array"):
        list(hs.columns.parse_chunks(pa.table({"a": [ROW], "b": [ROW]})))

    def failing() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"ids": [ROW]})
        raise OSError("the disk is gone")

    source = pa.RecordBatchReader.from_batches(pa.schema({"ids": pa.list_(pa.int64())}), failing())
    made = pa.RecordBatchReader.from_stream(hs.columns.parse_chunks(source))
    assert made.read_next_batch().num_rows == 1
    with pytest.raises(OSError, match="the disk is gone"):
        made.read_next_batch()
    assert list(made) == []


def test_capsules_that_nobody_takes_are_released():
    parsed = hs.columns.parse_chunks(pa.array([ROW]))
    parsed.__arrow_c_stream__()
    assert len(list(parsed)) == 1
    stream = pa.chunked_array([[ROW]]).__arrow_c_stream__()
    assert len(list(hs.columns.parse_chunks(Taken(stream)))) == 1
    with pytest.raises(ValueError, match="has been released"):
        hs.columns.parse_chunks(Taken(stream))  # a stream is read once


class Taken:
    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self) -> Any:
        return self.capsule


def test_a_stream_belongs_to_its_reader():
    """It is moved out of its capsule: nobody else takes chunks, or releases it, between two of ours."""
    stream = Taken(pa.chunked_array([[ROW], [ROW], [ROW]]).__arrow_c_stream__())
    chunks = iter(hs.columns.parse_chunks(stream))
    next(chunks)
    with pytest.raises(ValueError, match="has been released"):
        hs.columns.parse_chunks(stream)
    assert len(list(chunks)) == 2
