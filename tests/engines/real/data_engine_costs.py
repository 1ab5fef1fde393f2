"""Ray and Spark, each on this machine, over shards of Parquet: what the parsing of a row costs there, as a table.

`python data_engine_costs.py --rows 1000000`. A job reads the shards, adds the column, and writes Parquet again. The
parsing is timed where it happens, in processor time of the worker's thread, beside `parse_many` of the same shards in
this process, by one thread. What the jobs have written is compared with what `parse_many` says.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.dataset
from pyarrow import parquet

import harmonystream as hs
from harmonystream.integrations.columns import ParsedColumn

SHARDS, WORKERS, DISTINCT = 16, 2, 400
FIELDS = ("reasoning", "content", "calls")
REASONING = "<|channel|>analysis<|message|>Hm, {}. {}<|end|><|start|>assistant"
ANSWER = "<|channel|>final<|message|>It is {}: {}<|return|>"
CALL = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{{"n": {}, "text": "{}"}}<|call|>'


class Timed(ParsedColumn):
    """A column that appends the seconds of processor time of each batch to a file."""

    log = ""

    def __call__(self, batch: Any) -> Any:
        begun = time.thread_time()
        made = super().__call__(batch)
        took = time.thread_time() - begun
        with open(self.log, "a") as file:
            file.write(f"{took}\n")
        return made

    def seconds(self) -> float:
        return sum(map(float, Path(self.log).read_text().split()))


def distinct() -> Any:
    """The outputs that the rows repeat: 100 to 380 ids, half of them with a call."""
    vocab = hs.vocab.o200k_harmony()
    rows = []
    for n in range(DISTINCT):
        thought, answer = (
            " ".join(f"word{(n + at) % 97}" for at in range(words)) for words in (10 + n % 40, 20 + n % 90)
        )
        text = REASONING + (ANSWER, CALL)[n % 2]
        rows.append(vocab.encode(text.format(n, thought, n, answer), control=True))
    return pyarrow.array(rows, pyarrow.list_(pyarrow.int32()))


def write_shards(directory: Path, rows: int) -> tuple[Any, float]:
    """The distinct outputs, and how many ids a row has."""
    outputs = distinct()
    directory.mkdir()
    for shard in range(SHARDS):
        numbers = range(shard * rows // SHARDS, (shard + 1) * rows // SHARDS)
        at = pyarrow.array([number % DISTINCT for number in numbers])
        table = pyarrow.table({"row": pyarrow.array(numbers), "ids": outputs.take(at)})
        parquet.write_table(table, directory / f"{shard:02}.parquet")
    return outputs, sum(map(len, outputs.to_pylist())) / DISTINCT


def check(directory: Path, outputs: Any, rows: int) -> None:
    """Raises AssertionError unless each row has been written once, with what `parse_many` says of it."""
    said = pyarrow.array(hs.columns.parse_many(outputs, finish_reason="stop", fields=FIELDS))
    seen = 0
    for batch in pyarrow.dataset.dataset(directory, format="parquet").to_batches(columns=["row", "parsed"]):
        at = pyarrow.array([row % DISTINCT for row in batch.column("row").to_pylist()], pyarrow.int64())
        found = batch.column("parsed").cast(said.type)
        assert found.equals(said.take(at)), f"{directory}: another result"
        seen += len(batch)
    assert seen == rows, f"{directory}: {seen} rows of {rows}"


def alone(column: ParsedColumn, shards: Path) -> float:
    """Seconds of processor time of `parse_many` by one thread."""
    took = 0.0
    for path in sorted(shards.iterdir()):
        table = parquet.read_table(path)
        begun = time.thread_time()
        column(table)
        took += time.thread_time() - begun
    return took


Job = Callable[[ParsedColumn, Path, Path], None]


def ray_job() -> Job:
    import ray

    ray.init(num_cpus=WORKERS, include_dashboard=False, logging_level="ERROR", object_store_memory=2 << 30)
    ray.data.DataContext.get_current().enable_progress_bars = False
    from harmonystream.integrations.ray import add_column

    def run(column: ParsedColumn, shards: Path, written: Path) -> None:
        made = add_column(ray.data.read_parquet(str(shards)), column)
        made.select_columns(["row", "parsed"]).write_parquet(str(written))
        ray.shutdown()

    return run


def spark_job() -> Job:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = SparkSession.builder.master(f"local[{WORKERS}]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    from harmonystream.integrations.spark import add_column

    def run(column: ParsedColumn, shards: Path, written: Path) -> None:
        add_column(session.read.parquet(str(shards)), column).select("row", "parsed").write.parquet(str(written))
        session.stop()

    return run


def table(rows: int, directory: Path) -> Iterator[str]:
    shards = directory / "shards"
    outputs, ids = write_shards(shards, rows)
    vocab = directory / "o200k"
    hs.vocab.o200k_harmony().save(vocab)
    column = Timed("ids", vocab=hs.Vocab.load(vocab), finish_reason="stop", fields=FIELDS)
    column.log = str(directory / "warm")
    alone(column, shards)
    one = alone(column, shards)
    yield f"{rows:,} rows of {ids:.0f} ids in {SHARDS} shards, {WORKERS} workers; load {os.getloadavg()[0]:.1f}\n"
    yield "| | µs of processor time per row | beside `parse_many` | the whole job, s |\n|---|---|---|---|"
    yield f"| `parse_many`, one thread | {1e6 * one / rows:.2f} | 1 | |"
    for name, make in {"Ray": ray_job, "Spark": spark_job}.items():
        run = make()
        column.log = str(directory / name)
        begun = time.perf_counter()
        run(column, shards, directory / f"{name} has written")
        whole = time.perf_counter() - begun
        check(directory / f"{name} has written", outputs, rows)
        took = column.seconds()
        yield f"| {name} | {1e6 * took / rows:.2f} | {took / one:.2f} | {whole:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    with tempfile.TemporaryDirectory() as directory:
        for line in table(parser.parse_args().rows, Path(directory)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
