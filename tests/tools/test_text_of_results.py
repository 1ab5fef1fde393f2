"""The JSON of a tool's result, beside the standard library's."""

from __future__ import annotations

import json
from collections import OrderedDict, UserDict, deque, namedtuple
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import PurePosixPath
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from harmonystream.tools.text import Writer

keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.integers(-9, 9) | st.booleans() | st.none()
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
)
values = st.recursive(
    scalars.filter(lambda value: not isinstance(value, str) or value.isprintable()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=10,
)


def written(value: object, limit: int = 10**6) -> str:
    writer = Writer(limit)
    writer.write(value)
    return "".join(writer.pieces)


@settings(max_examples=150)
@given(values, st.integers(1, 60))
def test_plain_values_are_written_as_json_writes_them(value, limit):
    whole = json.dumps(value, ensure_ascii=False)
    assert written(value) == whole
    part = written(value, limit)
    assert whole.startswith(part[:limit])
    assert len(part) > limit or part == whole


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Model(BaseModel):
    day: date
    level: Level


@dataclass
class Point:
    x: float
    tags: set[str]


Row = namedtuple("Row", ["a", "b"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "null"),
        ([float("inf"), -float("inf")], "[null, null]"),
        ({1: Color.RED, Level.LOW: Level.LOW}, '{"1": 1}'),
        ({"c": Color.RED}, '{"c": "red"}'),
        (Model(day=date(2026, 11, 22), level=Level.LOW), '{"day": "2026-11-22", "level": 1}'),
        (Point(0.5, {"a"}), '{"x": 0.5, "tags": ["a"]}'),
        (Row(1, [2]), '{"a": 1, "b": [2]}'),
        (datetime(2026, 11, 22, 1, 2, tzinfo=timezone.utc), '"2026-11-22T01:02:00+00:00"'),
        ([time(1, 2), timedelta(seconds=90)], '["01:02:00", "0:01:30"]'),
        (
            [Decimal("1.10"), UUID(int=1), PurePosixPath("a/b")],
            '["1.10", "00000000-0000-0000-0000-000000000001", "a/b"]',
        ),
        ([deque([1]), frozenset([2]), range(2), b"\xc3\xa9"], '[[1], [2], [0, 1], "é"]'),
        ([OrderedDict(a=1), UserDict(b=2), {"c": 3}.keys()], '[{"a": 1}, {"b": 2}, ["c"]]'),
        ([np.float32(0.5), np.array([[1, 2]]), np.int64(3)], "[0.5, [[1, 2]], 3]"),
        ({(1, 2): 3, None: 4}, '{"(1, 2)": 3, "null": 4}'),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_richer_values_are_written_in_their_plain_form(value, text):
    assert written(value) == text
    json.loads(text)


def test_an_object_that_contains_itself_ends():
    ring: list = []
    ring.append(ring)
    with pytest.raises(ValueError, match="contains itself"):
        written(ring)
    tree: dict = {}
    tree.update(a=tree, b=tree)
    with pytest.raises(ValueError, match="contains itself"):
        written(tree)
    many: list = []
    many += [1, 2, 3, many]
    assert len(written(many, 50)) > 50  # the limit comes first


@pytest.mark.parametrize("value", [object(), Fraction(1, 2), 1j, type, print])
def test_what_json_cannot_say_is_refused(value):
    with pytest.raises(TypeError, match="has no JSON form"):
        written([value])


def test_a_large_value_is_not_walked_to_its_end():
    class Endless(list):
        def __iter__(self):
            while True:
                seen.append(1)
                yield "item"

    seen: list[int] = []
    assert len(written(Endless(), 1000)) > 1000
    assert len(seen) < 1000
