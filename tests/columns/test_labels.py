"""label_many() says of every row what label() says."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import random_streams
import random_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from tag_streams import tokens

import harmonystream as hs
from harmonystream.columns.outputs import CHUNK

ROW = [200005, 17196, 200008, 12194, 0, 200002]


def read(labelled: hs.columns.Parsed) -> list[Any]:
    made = pa.array(labelled)
    made.validate(full=True)
    assert made.type == pa.large_list(pa.uint8())
    return made.to_pylist()


@settings(max_examples=25)
@given(
    st.lists(st.none() | random_streams.id_streams, max_size=4),
    st.sampled_from([pa.uint32(), pa.int64()]),
    st.integers(1, 2),
)
def test_harmony(rows, item, threads):
    expected = [None if row is None else list(hs.label(row, tools=["f"])) for row in rows]
    column = pa.array(rows, pa.list_(item))
    assert read(hs.columns.label_many(column, tools=["f"], threads=threads)) == expected
    assert read(hs.columns.label_many(column[1:], tools=["f"])) == expected[1:]


@pytest.mark.parametrize("conversation", [False, True])
@settings(max_examples=20)
@given(data=st.data())
def test_tags(conversation, data):
    name = data.draw(st.sampled_from(["hermes", "glm", "kimi_k2"]))
    vocab = tokens(name, "added").vocab
    rows = data.draw(st.lists(random_tags.id_streams(name, "added"), max_size=3))
    expected = [list(hs.label(row, name, vocab=vocab, conversation=conversation)) for row in rows]
    column = pa.array(rows, pa.large_list(pa.int32()))
    assert read(hs.columns.label_many(column, name, vocab, conversation=conversation)) == expected
    flat = np.array([tid for row in rows for tid in row], np.int32)
    pair = (flat, [0, *accumulate(map(len, rows))])
    assert read(hs.columns.label_many(pair, name, vocab, conversation=conversation)) == expected


def test_bad_rows_are_null_and_many_keep_their_order():
    rows = [ROW[: k % 7] if k % 5 else None for k in range(2 * CHUNK + 3)]
    rows[1:3] = [[1, None], [-1]]
    expected = [list(hs.label(row)) if row is not None and None not in row and -1 not in row else None for row in rows]
    seen: list[tuple[int, int]] = []
    got = hs.columns.label_many(
        pl.Series(rows, dtype=pl.List(pl.Int64)), threads=2, progress=lambda *at: seen.append(at)
    )
    assert read(got) == expected
    assert seen[-1] == (len(rows), len(rows))
    assert pl.Series(got).to_list() == expected


def test_what_cannot_be_labelled():
    with pytest.raises(TypeError, match="label_many\\(\\) reads ids"):
        hs.columns.label_many(pa.array(["text"]))
    with pytest.raises(ValueError, match="needs the model's vocabulary"):
        hs.columns.label_many(pa.array([ROW]), "hermes")
    with pytest.raises(ValueError, match="a conversation has its prompts in it"):
        hs.columns.label_many(pa.array([ROW]), start="answer", conversation=True)
    with pytest.raises(ValueError, match="has no turns"):
        hs.columns.label_many(
            pa.array([[0]]), "kimi_vl", hs.vocab.from_bytes([b"a", b"<|im_end|>"], {"<|im_end|>": 1}), conversation=True
        )
