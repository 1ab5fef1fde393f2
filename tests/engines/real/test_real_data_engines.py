"""Columns in the real Ray, Spark, Daft and datasets, each on this machine. What is not installed is skipped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import harmonystream as hs
from harmonystream.integrations.columns import Labelled, ParsedColumn

pyarrow = pytest.importorskip("pyarrow")

TEXTS = [
    "<|channel|>analysis<|message|>Hm, {}.<|end|><|start|>assistant<|channel|>final<|message|>It is {}.<|return|>",
    '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{{"n": {}, "m": {}}}<|call|>',
]


def table_of(rows: int) -> Any:
    vocab = hs.vocab.o200k_harmony()
    known = [vocab.encode(text.format(n, n), control=True) for n in range(50) for text in TEXTS]
    ids = [known[row % len(known)] for row in range(rows)]
    return pyarrow.table({"row": range(rows), "ids": pyarrow.array(ids, pyarrow.list_(pyarrow.int32()))})


@pytest.fixture(scope="module")
def table() -> Any:
    return table_of(2000)


@pytest.fixture(scope="module")
def column(tmp_path_factory: pytest.TempPathFactory) -> ParsedColumn:
    """With a vocabulary that each worker maps."""
    path = tmp_path_factory.mktemp("vocab") / "o200k"
    hs.vocab.o200k_harmony().save(path)
    return ParsedColumn(
        "ids", vocab=hs.Vocab.load(path), finish_reason="stop", fields=("reasoning", "content", "calls")
    )


def want(table: Any) -> list[Any]:
    fields = ("reasoning", "content", "calls")
    made: list[Any] = pyarrow.array(
        hs.columns.parse_many(table.column("ids"), finish_reason="stop", fields=fields)
    ).to_pylist()
    return made


def test_ray(table, column):
    ray_data = started_ray()
    from harmonystream.integrations.ray import add_column

    dataset = add_column(ray_data.from_arrow(table).repartition(4), column).materialize()
    assert "MapBatches(ParsedColumn)" in dataset.stats()  # the operator of which Ray's bars show the progress
    made = dataset.take_all()
    assert [row["parsed"] for row in sorted(made, key=lambda row: row["row"])] == want(table)
    labelled = add_column(ray_data.from_arrow(table.slice(0, 10)), Labelled("ids")).take_all()
    assert all(len(row["regions"]) == len(row["ids"]) for row in labelled)


def started_ray() -> Any:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, ignore_reinit_error=True, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray.data


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def test_spark(spark, table, column, tmp_path):
    from harmonystream.integrations.spark import add_column

    write(table, tmp_path / "rows.parquet")
    frame = add_column(spark.read.parquet(str(tmp_path)).repartition(3), column)
    made = {row["row"]: row["parsed"].asDict(recursive=True) for row in frame.collect()}
    assert [made[row] for row in range(len(table))] == want(table)
    labelled = add_column(spark.read.parquet(str(tmp_path)), Labelled("ids")).collect()
    assert all(len(row["regions"]) == len(row["ids"]) for row in labelled)


def write(table: Any, path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path)


def test_datasets(table, column, tmp_path, capfd):
    datasets = pytest.importorskip("datasets")
    from harmonystream.integrations.datasets import add_column

    write(table, tmp_path / "rows.parquet")
    loaded = datasets.Dataset.from_parquet(str(tmp_path / "rows.parquet"), cache_dir=str(tmp_path))
    made = add_column(loaded, column, num_proc=2)
    assert "2000/2000" in capfd.readouterr().err  # the bar
    assert made.format["type"] is None
    assert made.to_list()[7]["parsed"] == want(table)[7]
    assert [row["parsed"] for row in made.to_list()] == want(table)


def test_streaming_datasets(table, tmp_path):
    """An IterableDataset, of a file that is read row by row, and a dict of them; rows with their own tools."""
    datasets = pytest.importorskip("datasets")
    from harmonystream.integrations.column_summary import summarize
    from harmonystream.integrations.datasets import add_column

    tools = ['[{"type": "function", "function": {"name": "f"}}]', None]
    rows = table.append_column("tools", pyarrow.array([tools[at % 2] for at in range(len(table))], pyarrow.string()))
    write(rows, tmp_path / "rows.parquet")
    files = {"data_files": str(tmp_path / "rows.parquet"), "cache_dir": str(tmp_path)}
    streamed = datasets.load_dataset("parquet", split="train", streaming=True, **files)
    assert isinstance(streamed, datasets.IterableDataset)
    parsed = pyarrow.array(hs.columns.parse_many(table.column("ids"), finish_reason="stop")).to_pylist()
    column = ParsedColumn("ids", finish_reason="stop", tools_column="tools")
    made = add_column(streamed, column, batch_size=300)
    assert [row["parsed"] for row in made] == parsed
    assert [row["parsed"] for row in made.take(3)] == parsed[:3]
    splits = add_column(datasets.IterableDatasetDict({"train": streamed}), column)
    assert [row["parsed"] for row in splits["train"].skip(1990)] == parsed[1990:]
    summary = summarize(made.with_format("arrow").iter(256))
    assert (summary.rows, summary.clean) == (len(table), sum(not row["deviations"] for row in parsed))
    assert summary.finish_reasons == {"stop": len(table) // 2, "tool_calls": len(table) // 2}


def test_daft(table, column):
    daft = pytest.importorskip("daft")
    from harmonystream.integrations.daft import expression

    made = daft.from_arrow(table).with_column("parsed", expression(column)).to_pydict()
    assert made["parsed"] == want(table)
