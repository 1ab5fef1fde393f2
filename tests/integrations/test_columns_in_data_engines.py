"""Columns of data engines: pyarrow's tables and Polars' frames here, the others in tests/engines/real."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from typing import Any

import polars
import pyarrow
import pytest

import harmonystream as hs
from harmonystream.integrations.column_summary import summarize
from harmonystream.integrations.columns import Labelled, ParsedColumn
from harmonystream.integrations.polars import expression

VOCAB = hs.vocab.o200k_harmony()
TEXTS = [
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>",
    '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>',
    "",
]
ROWS = [VOCAB.encode(text, control=True) for text in TEXTS]
TABLE = pyarrow.table({"n": [1, 2, 3], "ids": pyarrow.array(ROWS, pyarrow.list_(pyarrow.int32()))})


def whole(**options: Any) -> list[Any]:
    return pyarrow.array(hs.columns.parse_many(TABLE.column("ids"), **options)).to_pylist()


@pytest.mark.parametrize("chunks", [1, 3])
def test_a_table_gets_a_column(chunks):
    table = pyarrow.concat_tables([TABLE] * chunks)
    made = ParsedColumn("ids", finish_reason="stop")(table)
    assert made.column_names == ["n", "ids", "parsed"]
    assert made.column("parsed").to_pylist() == whole(finish_reason="stop") * chunks


def test_a_record_batch_stays_one():
    (batch,) = TABLE.to_batches()
    made = ParsedColumn("ids", into="said", fields=["content"])(batch)
    assert isinstance(made, pyarrow.RecordBatch)
    assert made.column("said").to_pylist() == whole(fields=["content"])
    empty = ParsedColumn("ids")(batch.slice(0, 0))
    assert (len(empty), empty.schema.names) == (0, ["n", "ids", "parsed"])


def test_reasons_and_prompts_are_columns():
    prompt = "<|start|>assistant<|channel|>final<|message|>"
    table = pyarrow.table(
        {"text": ["a", "b"], "why": ["length", "stop"], "before": [prompt, None]},
    )
    made = ParsedColumn("text", finish_reason_column="why", prompt_column="before")(table).column("parsed").to_pylist()
    assert [row["finish_reason"] for row in made] == ["length", "stop"]
    assert made[0]["content"] == "a"
    with pytest.raises(ValueError, match="not both"):
        ParsedColumn("text", finish_reason="stop", finish_reason_column="why")


INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.mark.parametrize("item", INTEGERS)
@pytest.mark.parametrize("kind", ["list_", "large_list", "fixed"])
def test_ids_of_every_type_are_read(item, kind):
    small = hs.Vocab([b"a", b"b"], {})
    rows = [[0, 1], None, [1, 1]]
    of = getattr(pyarrow, item)()
    type = pyarrow.list_(of, 2) if kind == "fixed" else getattr(pyarrow, kind)(of)
    for column in (pyarrow.array(rows, type), pyarrow.chunked_array([pyarrow.array(rows, type)])):
        made = ParsedColumn("ids", "think", small)(pyarrow.table({"ids": column})).column("parsed").to_pylist()
        assert [row["content"] for row in made] == ["ab", None, "bb"]
        labels = Labelled("ids", "think", small)(pyarrow.table({"ids": column})).column("regions").to_pylist()
        assert [labels[0], labels[2]] == [list(hs.label(row, "think", vocab=small)) for row in (rows[0], rows[2])]


def test_an_id_that_no_vocabulary_has_is_noted():
    column = pyarrow.array([[2**64 - 1], [0]], pyarrow.list_(pyarrow.uint64()))
    made = ParsedColumn("ids", "think", hs.Vocab([b"a"], {}))(pyarrow.table({"ids": column})).column("parsed")
    assert [row["note"] for row in made.to_pylist()] == ["not-an-id", None]


def test_a_column_of_nulls_and_a_dictionary_of_texts():
    table = pyarrow.table({"ids": pyarrow.nulls(2), "text": pyarrow.array(["Hi", "Hi"]).dictionary_encode()})
    assert [row["note"] for row in ParsedColumn("ids")(table).column("parsed").to_pylist()] == ["null", "null"]
    made = ParsedColumn("text", "think")(table).column("parsed").to_pylist()
    assert [row["content"] for row in made] == ["Hi", "Hi"]


def test_a_column_of_the_same_name_is_replaced():
    for batch in (TABLE, TABLE.to_batches()[0]):
        once = ParsedColumn("ids")(batch)
        assert ParsedColumn("ids", fields=["content"])(once).schema.names == ["n", "ids", "parsed"]
        assert ParsedColumn("ids", into="n")(batch).schema.names == ["n", "ids"]


def test_labels():
    made = Labelled("ids")(TABLE).column("regions").to_pylist()
    assert made == [list(hs.label(ids)) for ids in ROWS]


def test_wrong_options_are_refused_before_a_worker_has_them():
    with pytest.raises(hs.errors.FormatError):
        ParsedColumn("ids", "nothing")
    with pytest.raises(hs.errors.FormatError):
        Labelled("ids", "nothing")
    with pytest.raises(ValueError, match="fields"):
        ParsedColumn("ids", fields=["nothing"])


def test_it_can_be_pickled_with_a_vocabulary_of_a_file(tmp_path):
    VOCAB.save(tmp_path / "vocab")
    column = pickle.loads(
        pickle.dumps(ParsedColumn("ids", vocab=hs.Vocab.load(tmp_path / "vocab"), finish_reason="stop"))
    )
    assert column(TABLE).column("parsed").to_pylist() == whole(finish_reason="stop")


@pytest.mark.parametrize("lazy", [False, True])
def test_polars(lazy):
    frame: Any = polars.from_arrow(TABLE)
    frame = frame.lazy() if lazy else frame
    made = frame.with_columns(expression(ParsedColumn("ids", finish_reason="stop")), expression(Labelled("ids")))
    made = made.collect() if lazy else made
    assert (
        made["parsed"].to_list()
        == polars.Series(hs.columns.parse_many(TABLE.column("ids"), finish_reason="stop")).to_list()
    )
    assert made["regions"].to_list() == [list(hs.label(ids)) for ids in ROWS]
    with pytest.raises(ValueError, match="one column"):
        expression(ParsedColumn("ids", finish_reason_column="why"))


@pytest.mark.parametrize("kind", [ParsedColumn, Labelled])
def test_progress_is_counted_in_rows_of_the_batch(kind):
    rows = 2500
    frame: Any = polars.from_arrow(TABLE).sample(rows, with_replacement=True, seed=1)
    told: list[tuple[int, int]] = []
    column = kind("ids", progress=lambda done, total: told.append((done, total)))
    assert len(frame.with_columns(expression(column))) == rows
    assert told == [(1024, rows), (2048, rows), (rows, rows)]


def test_each_row_has_its_own_tools():
    call = '<tool_call>\n{"name": "f", "arguments": {"n": 1}}\n</tool_call>'
    mine = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}}]
    other = [{"type": "function", "function": {"name": "g", "parameters": None}}]
    rows = [mine, other, None, mine]
    texts = [call, call, call, "Hi"]
    for column in ([None if tools is None else json.dumps(tools) for tools in rows], rows):
        table = pyarrow.table({"text": texts, "tools": column})
        made = (
            ParsedColumn("text", "hermes", finish_reason="stop", tools_column="tools")(table)
            .column("parsed")
            .to_pylist()
        )
        for row, text, tools in zip(made, texts, rows, strict=True):
            (want,) = pyarrow.array(
                hs.columns.parse_many(pyarrow.array([text]), "hermes", finish_reason="stop", tools=tools)
            ).to_pylist()
            assert row == want
    empty = ParsedColumn("text", "hermes", tools_column="tools")(table.slice(0, 0))
    assert (len(empty), empty.column_names) == (0, ["text", "tools", "parsed"])
    with pytest.raises(ValueError, match="column 'tools' is not JSON in row 1"):
        ParsedColumn("text", "hermes", tools_column="tools")(pyarrow.table({"text": ["", ""], "tools": ["[]", "["]}))


def test_a_summary_counts_what_was_repaired():
    broken = ("<|channel|>analysis<|message|>Hm.<|start|>assistant" + TEXTS[0].removesuffix("<|return|>"), "<|end|>Hi")
    texts = [TEXTS[0], None, *broken, broken[0], TEXTS[1]]
    made = ParsedColumn("text", finish_reason="stop")(pyarrow.table({"text": texts}))
    rows = [hs.parse(text, finish_reason="stop") for text in texts if text is not None]
    summary = summarize(made)
    codes = [{deviation.code for deviation in row.deviations} for row in rows]
    assert (summary.rows, summary.clean) == (6, sum(not each for each in codes))
    assert summary.notes == {"null": 1}
    assert summary.deviations == Counter(code for each in codes for code in each) != {}
    where = [0, *range(2, 6)]  # the second row is null
    assert summary.first == {
        code: next(where[at] for at, each in enumerate(codes) if code in each) for code in summary.deviations
    }
    assert summary.finish_reasons == Counter(row.finish_reason for row in rows)
    pieces = [made.slice(0, 2), made.slice(2, 3).to_batches()[0], made.slice(5), made.slice(0, 0)]
    assert summarize(pieces) == summary
    with pytest.raises(ValueError, match="no field 'note'"):
        summarize(ParsedColumn("text", fields=["deviations", "finish_reason"])(made))
