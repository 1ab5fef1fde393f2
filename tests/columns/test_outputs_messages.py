"""The messages of parse_many() are those of parse(), and share their texts with the row."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import random_streams
import random_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from tag_streams import TAG_FORMATS, tokens

import harmonystream as hs
from harmonystream.columns.outputs import CHUNK

ROW = [200005, 35644, 200008, 13225, 200007, 200006, 173781, 200005, 17196, 200008, 12194, 0, 200002]
FIELDS = ("messages", "content")


def of(whole: hs.Completion) -> list[dict[str, Any]]:
    """The messages of a completion as structs."""
    return [{**each._asdict(), "tool_calls": [call._asdict() for call in each.tool_calls]} for each in whole.messages]


def read(parsed: hs.columns.Parsed) -> list[Any]:
    made = pa.array(parsed)
    made.validate(full=True)
    return [row["messages"] for row in made.to_pylist()]


@settings(max_examples=40)
@given(st.lists(random_streams.id_streams, max_size=4), st.sampled_from([None, "stop", "length"]), st.booleans())
def test_harmony(rows, finish, many):
    rows *= CHUNK if many else 1  # then there are several pieces, and their offsets are joined
    rows = rows[: CHUNK + 9]
    known = {tuple(row): of(hs.parse(row, finish_reason=finish, tools=["f"])) for row in rows}
    column = pa.array(rows, pa.list_(pa.int64()))
    got = read(hs.columns.parse_many(column, finish_reason=finish, tools=["f"], threads=2, fields=FIELDS))
    assert got == [known[tuple(row)] for row in rows]


@settings(max_examples=40)
@given(st.data())
def test_tags(data):
    name = data.draw(st.sampled_from(TAG_FORMATS))
    options = data.draw(random_tags.options(name))
    more: dict[str, Any] = {"tools": options.declared, "start": options.start}
    texts = data.draw(st.lists(random_tags.texts(name), max_size=3))
    column = pa.array(texts, pa.large_binary())
    expected = [of(hs.parse(text, name, finish_reason=options.finish, **more)) for text in texts]
    assert read(hs.columns.parse_many(column, name, finish_reason=options.finish, fields=FIELDS, **more)) == expected
    vocab = tokens(name).vocab
    if not vocab.missing(name):
        rows = [data.draw(random_tags.id_streams(name, "added")) for _ in texts]
        expected = [of(hs.parse(row, name, vocab=vocab, finish_reason=options.finish, **more)) for row in rows]
        ids = pa.array(rows, pa.list_(pa.int64()))
        assert (
            read(hs.columns.parse_many(ids, name, vocab, finish_reason=options.finish, fields=FIELDS, **more))
            == expected
        )


def test_header_parts_and_rows_without_messages():
    texts = [
        "<|channel|>notes<|message|>a<|end|><|start|>tool to=functions.f<|channel|>commentary<|message|>b<|end|>",
        "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
        None,
        "",
    ]
    got = read(hs.columns.parse_many(pa.array(texts), tools=["f"], fields=["messages"]))
    assert got == [None if text is None else of(hs.parse(text, tools=["f"])) for text in texts]
    assert [(each["role"], each["channel"], each["recipient"], each["content_type"]) for each in got[0] + got[1]] == [
        ("assistant", "notes", None, None),
        ("tool", "commentary", "functions.f", None),
        ("assistant", "commentary", "functions.f", "json"),
    ]


def test_libraries_read_messages():
    parsed = hs.columns.parse_many(pa.array([ROW, None, ROW[:4]]), fields=FIELDS)
    expected = [{"messages": [], "content": ""} for _ in range(3)]
    for row, ids in zip(expected, (ROW, None, ROW[:4])):
        whole = None if ids is None else hs.parse(ids)
        row.update(messages=whole and of(whole), content=whole and whole.content)
    assert pl.Series(parsed).to_list() == pa.table(parsed).to_pylist() == expected
    outputs = pa.table(parsed)
    found = duckdb.from_arrow(outputs).query("outputs", "select len(messages), messages[1].reasoning from outputs")
    assert found.fetchall() == [(2, "Hello"), (None, None), (1, "Hello")]


def test_messages_are_a_column_only_if_they_are_asked_for():
    assert "messages" not in [field.name for field in pa.array(hs.columns.parse_many(pa.array([ROW]))).type]
    chunks = hs.columns.parse_chunks(pa.chunked_array([pa.array([ROW]), pa.array([ROW])]), fields=["messages"])
    assert [read(chunk) for chunk in chunks] == [[of(hs.parse(ROW))]] * 2
