"""parse_many() says of every row what parse() says, whoever gives the column and whoever reads the result."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import random_streams
import random_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs
from harmonystream.columns.outputs import CHUNK, COLUMNS

ROW = [200005, 35644, 200008, 13225, 200007, 200006, 173781, 200005, 17196, 200008, 12194, 0, 200002]
INTEGERS = (pa.int32(), pa.uint32(), pa.int64())
NULL = {**dict.fromkeys(COLUMNS), "note": "null"}


def of(whole: hs.Completion) -> dict[str, Any]:
    """A completion as its row."""
    return {
        "reasoning": whole.reasoning,
        "content": whole.content,
        "calls": [call._asdict() for call in whole.tool_calls],
        "finish_reason": whole.finish_reason,
        "usage": whole.usage._asdict(),
        "deviations": [deviation._asdict() for deviation in whole.deviations],
        "note": None,
    }


def read(parsed: hs.columns.Parsed) -> list[Any]:
    made = pa.array(parsed)
    made.validate(full=True)
    return made.to_pylist()


@settings(max_examples=25)
@given(
    st.lists(random_streams.id_streams, max_size=4),
    st.sampled_from([None, "stop", "length", "abort"]),
    st.sampled_from(INTEGERS),
    st.booleans(),
    st.integers(1, 3),
)
def test_harmony(rows, finish, item, large, threads):
    rows = [[tid for tid in row if item != pa.int32() or tid < 2**31] for row in rows]
    column = pa.array(rows, (pa.large_list if large else pa.list_)(item))
    expected = [of(hs.parse(row, finish_reason=finish, tools=["f"])) for row in rows]
    assert read(hs.columns.parse_many(column, finish_reason=finish, tools=["f"], threads=threads)) == expected
    assert read(hs.columns.parse_many(column[1:], finish_reason=finish, tools=["f"])) == expected[1:]


@settings(max_examples=40)
@given(st.data())
def test_tags(data):
    name = data.draw(st.sampled_from(TAG_FORMATS))
    options = data.draw(random_tags.options(name))
    more: dict[str, Any] = {"tools": options.declared, "start": options.start}
    texts = data.draw(st.lists(random_tags.texts(name), max_size=3))
    expected = [of(hs.parse(text, name, finish_reason=options.finish, **more)) for text in texts]
    assert (
        read(hs.columns.parse_many(pa.array(texts, pa.large_binary()), name, finish_reason=options.finish, **more))
        == expected
    )
    vocab = tokens(name).vocab
    rows = [data.draw(random_tags.id_streams(name, "added")) for _ in texts]
    if vocab.missing(name):
        return
    expected = [of(hs.parse(row, name, vocab=vocab, finish_reason=options.finish, **more)) for row in rows]
    column = (array("I", [tid for row in rows for tid in row]), [0, *np.cumsum([len(row) for row in rows]).tolist()])
    assert read(hs.columns.parse_many(column, name, vocab, finish_reason=options.finish, **more)) == expected


def test_many_chunks_and_threads_keep_the_order():
    rows = [[200005, 17196, 200008, *[13225 + k] * (k % 5)] for k in range(2 * CHUNK + 7)]
    reasons = [("stop", "length", None)[k % 3] for k in range(len(rows))]
    seen: list[tuple[int, int]] = []
    got = hs.columns.parse_many(pa.array(rows), finish_reason=reasons, threads=3, progress=lambda *at: seen.append(at))
    assert read(got) == [of(hs.parse(row, finish_reason=reason)) for row, reason in zip(rows, reasons)]
    assert seen == [(CHUNK, len(rows)), (2 * CHUNK, len(rows)), (len(rows), len(rows))]
    assert (len(got), repr(got)) == (len(rows), f"<Parsed: {len(rows)} rows>")


def test_a_null_is_null_and_a_bad_row_has_a_note():
    got = read(hs.columns.parse_many(pa.array([ROW, None, [1, -1], [1, 2**32], [], ROW], pa.list_(pa.int64()))))
    assert got[1] == NULL
    for bad in (got[2], got[3]):
        assert (bad["note"], bad["content"], bad["calls"], bad["finish_reason"]) == ("not-an-id", "", [], None)
        assert set(bad["usage"].values()) == {0}
    assert [got[0], got[4], got[5]] == [of(hs.parse(ROW)), of(hs.parse([])), of(hs.parse(ROW))]
    assert read(hs.columns.parse_many(pa.array([[-5], ROW], pa.list_(pa.int32())))) == [got[2], got[0]]


def test_libraries_give_columns_and_read_results():
    rows = [ROW, ROW[:4], None]
    expected = [NULL if row is None else of(hs.parse(row)) for row in rows]
    columns = [
        pa.array(rows),
        pa.chunked_array([pa.array(rows[:1]), pa.array(rows[1:], pa.list_(pa.int64()))]),
        pl.Series(rows, dtype=pl.List(pl.Int32)),
    ]
    for column in columns:
        assert read(hs.columns.parse_many(column)) == expected
    parsed = hs.columns.parse_many(columns[0])
    assert pl.Series(parsed).to_list() == expected
    assert pa.table(parsed).to_pylist() == pa.record_batch(parsed).to_pylist() == expected
    outputs = pa.table({"row": pa.array(parsed)})
    assert duckdb.from_arrow(outputs).query(
        "outputs", "select row.reasoning, row.usage.content from outputs"
    ).fetchall() == [
        ("Hello", 2),
        ("Hello", 0),
        (None, None),
    ]
    texts = ["<think>a</think>b", None, "日本"]
    for strings in (pa.array(texts), pa.array(texts, pa.large_string()), pa.chunked_array([pa.array(texts)])):
        assert [row and row["content"] for row in read(hs.columns.parse_many(strings, "think"))] == ["b", None, "日本"]


def test_the_result_outlives_what_it_came_from():
    parsed = hs.columns.parse_many(pa.array([ROW] * 3))
    made = pa.array(parsed)
    calls, usage = made.field("calls"), made.field("usage")
    del parsed, made
    assert (len(calls), usage[2].as_py()["reasoning"]) == (3, 1)
    hs.columns.parse_many(pa.array([ROW])).__arrow_c_array__()  # capsules that nobody takes are released


def test_fields():
    got = pa.array(hs.columns.parse_many(pa.array([ROW]), fields=["content", "calls"]))
    assert [field.name for field in got.type] == ["content", "calls"]
    assert set(COLUMNS) == {field.name for field in pa.array(hs.columns.parse_many(pa.array([ROW]))).type}
    assert read(hs.columns.parse_many(pa.array([], pa.list_(pa.int32())))) == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"fields": ["text"]}, "fields are some of"),
        ({"threads": -1}, "threads is 0 or more"),
        ({"finish_reason": ["stop", "stop"]}, "finish_reason has 2 reasons, for 1 rows"),
        ({"format": "nope"}, "nope"),
    ],
)
def test_wrong_options(options, why):
    with pytest.raises(ValueError, match=why):
        hs.columns.parse_many(pa.array([ROW]), **options)


def test_too_many_reasons():
    with pytest.raises(ValueError, match="more than 250 different reasons"):
        hs.columns.parse_many(pa.array([[1]] * 300), finish_reason=[f"reason {k}" for k in range(300)])


def raw(offsets: list[int], values: int = 3, kind: Any = np.int32) -> pa.Array:
    """A list array whose offsets nobody has checked."""
    item = pa.array(range(values), pa.int32())
    type = pa.list_(pa.int32()) if kind == np.int32 else pa.large_list(pa.int32())
    buffer = np.zeros(len(offsets), kind)
    made = pa.Array.from_buffers(type, len(offsets) - 1, [None, pa.py_buffer(buffer)], children=[item])
    buffer[:] = offsets  # pyarrow has looked at them before
    return made


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("offsets", "why"),
    [
        ([0, 4], "the offsets end at 4, beyond the 3 values"),
        ([-1, 2], r"offsets\[0\] is -1"),
        ([0, 3, 1, 3], r"offsets\[2\] is 1, less than offsets\[1\], 3"),
        ([0, 2**31 - 1, 3], "less than"),
    ],
)
def test_offsets_that_lie_are_refused(kind, offsets, why):
    with pytest.raises(ValueError, match=why):
        hs.columns.parse_many(raw(offsets, kind=kind))


@settings(max_examples=200)
@given(st.lists(st.integers(-3, 9), min_size=1, max_size=6), st.integers(0, 6))
def test_any_offsets_are_refused_or_right(offsets, values):
    try:
        got = read(hs.columns.parse_many(raw(offsets, values)))
    except ValueError:
        assert offsets != sorted(offsets) or offsets[0] < 0 or offsets[-1] > values
        return
    assert got == [of(hs.parse(list(range(begin, stop)))) for begin, stop in pairwise(offsets)]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2]),
        pa.array([[1.0]]),
        pa.array([["a"]]),
        pa.array([[[1]]]),
        pa.array(["a"]).dictionary_encode(),
        pa.array([[1]], pa.list_(pa.int8())),
        pa.array([{"a": 1}]),
        [[1]],
        None,
        "text",
    ],
    ids=str,
)
def test_other_types_are_refused(column):
    with pytest.raises(TypeError, match="a column is an Arrow array of lists"):
        hs.columns.parse_many(column)


def test_a_row_with_a_null_among_its_ids_has_a_note():
    rows = [[1, None], ROW, None, [None], [], ROW]
    for kind in INTEGERS:
        column = pa.array(rows, pa.list_(kind))
        for some, left in ((column, rows), (column[1:], rows[1:]), (column[3:5], rows[3:5])):
            notes = [row["note"] for row in read(hs.columns.parse_many(some))]
            assert notes == ["null" if row is None else "not-an-id" if None in row else None for row in left]
    got = read(hs.columns.parse_many(column))
    assert (got[0]["content"], got[0]["finish_reason"], got[1]) == ("", None, of(hs.parse(ROW)))


STRINGS = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())


@settings(max_examples=30)
@given(st.lists(st.none() | st.text(max_size=30), max_size=5), st.sampled_from(STRINGS), st.integers(0, 5))
def test_every_kind_of_text(texts, kind, first):
    data = [text if text is None or "string" in str(kind) else text.encode() for text in texts]
    expected = [NULL if text is None else of(hs.parse(text, "think")) for text in texts]
    column = pa.chunked_array([pa.array(data, kind), pa.array(data[:1], kind)])
    assert read(hs.columns.parse_many(column[first:], "think")) == [*expected, *expected[:1]][first:]
    assert read(hs.columns.parse_many(pl.Series(texts, dtype=pl.String), "think")) == expected


def views(*rows: tuple[int, int, int]) -> pa.Array:
    """Views of strings (size, block, where it begins) that nobody has checked, of blocks of 20 and 3 bytes."""
    data = np.array([(size, 0, block, begin) for size, block, begin in rows], np.int32)
    buffer = np.zeros_like(data)
    blocks = [pa.py_buffer(b"x" * 20), pa.py_buffer(b"yyy")]
    made = pa.Array.from_buffers(pa.string_view(), len(rows), [None, pa.py_buffer(buffer), *blocks])
    buffer[:] = data
    return made


def test_views_that_lie_are_refused():
    good = [(20, 0, 0), (13, 0, 7), (0, 9, 9), (3, 0, 0)]
    texts = ["x" * 20, "x" * 13, "", "\0\0\0"]
    assert [row["content"] for row in read(hs.columns.parse_many(views(*good), "think"))] == texts
    lies = (
        (21, 0, 0),
        (-1, 0, 0),
        (13, 0, 8),
        (13, 2, 0),
        (13, -1, 0),
        (13, 1, 0),
        (13, 0, -1),
        (2**31 - 1, 0, 2**31 - 1),
    )
    for lie in lies:
        with pytest.raises(ValueError, match="string 4 of this Arrow array lies outside of its buffers"):
            hs.columns.parse_many(views(*good, lie), "think")


def test_pairs_that_do_not_fit_are_refused():
    for offsets in ([], [1, 3], [0, 2], [0, 4]):
        with pytest.raises(ValueError, match="offsets begin at 0 and end at the number of ids, 3"):
            hs.columns.parse_many(([1, 2, 3], offsets))
    with pytest.raises(ValueError, match="less than"):
        hs.columns.parse_many(([1, 2, 3], [0, 3, 2, 3]))


def test_what_has_been_taken_cannot_be_taken_again():
    class Same:
        def __init__(self, capsules: Any) -> None:
            self.capsules = capsules

        def __arrow_c_array__(self) -> Any:
            return self.capsules

    column = Same(pa.array([ROW]).__arrow_c_array__())
    assert len(hs.columns.parse_many(column)) == 1
    with pytest.raises(ValueError, match="has been released"):
        hs.columns.parse_many(column)
    with pytest.raises(ValueError, match="ids need the model's vocabulary"):
        hs.columns.parse_many(pa.array([ROW]), "hermes")


def test_one_thread_is_the_callers_own(monkeypatch):
    """A measurement of the caller's time then has the reading in it."""
    monkeypatch.setattr("harmonystream.columns.outputs.ThreadPoolExecutor", None)
    assert len(pa.array(hs.columns.parse_many(pa.array(["a", "b"]), threads=1))) == 2


@settings(max_examples=25)
@given(st.data())
def test_prompts(data):
    name = data.draw(st.sampled_from(TAG_FORMATS))
    texts = data.draw(st.lists(random_tags.texts(name), min_size=1, max_size=4))
    prompts = [data.draw(st.none() | random_tags.texts(name)) for _ in texts]
    expected = [of(hs.parse(text, name, prompt=prompt)) for text, prompt in zip(texts, prompts)]
    column = pa.array(texts, pa.binary())
    assert read(hs.columns.parse_many(column, name, prompts=pa.array(prompts, pa.binary()))) == expected
    cut = data.draw(st.integers(0, len(texts)))
    given = pa.chunked_array([pa.array(prompts[:cut], pa.binary_view()), pa.array(prompts[cut:], pa.binary_view())])
    assert read(hs.columns.parse_many(column, name, prompts=given, threads=2)) == expected


def test_prompts_of_ids_and_of_many_chunks():
    ends = [
        ROW,
        [200006, 173781],
        [200006, 173781, 200005, 35644, 200008],
        [200006, 173781, 200005],
        None,
        [-1],
        [7, None],
    ]
    rows = [[13225 + k, 200007] for k in range(2 * CHUNK + 9)]
    prompts = [ends[k % len(ends)] for k in range(len(rows))]
    got = read(hs.columns.parse_many(pa.array(rows), prompts=pa.array(prompts, pa.list_(pa.int64())), threads=2))
    for k, (row, prompt) in enumerate(zip(rows, prompts)):
        if prompt in ([-1], [7, None]):
            assert (got[k]["note"], got[k]["content"], got[k]["calls"]) == ("bad-prompt", "", [])
        else:
            assert got[k] == of(hs.parse(row, prompt=prompt))
    assert len({str(row["reasoning"] != "") for row in got}) == 2
    texts = read(
        hs.columns.parse_many(
            pa.array(["Hm", "Hm"]), prompts=pa.array(["<|start|>assistant<|chan", "<|start|>assistant"])
        )
    )
    assert [row["note"] for row in texts] == ["bad-prompt", None]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"prompts": pa.array([ROW, ROW])}, "prompts has 2 rows, for 1 rows"),
        ({"prompts": pa.array([ROW]), "start": "answer"}, "pass prompts= or start='answer', not both"),
        ({"prompts": pa.array([ROW]), "format": "hermes"}, "need the model's vocabulary"),
    ],
)
def test_prompts_that_do_not_fit(options, why):
    with pytest.raises(ValueError, match=why):
        hs.columns.parse_many(pa.array(["text"]), **options)
