"""The copy of a request's data: equal to what JSON would make of it, and it names the place of what does not fit."""

from __future__ import annotations

import copy
import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonystream._native.core.plain import MisfitError, plain_copy

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


def refuse(value: object) -> object:
    raise MisfitError(f"is {type(value).__name__}")


@given(JSON)
def test_plain_data_is_copied_and_nothing_is_shared(value):
    before = copy.deepcopy(value)
    made = plain_copy(value, refuse)
    assert json.dumps(made) == json.dumps(value)

    def spoil(item: Any) -> None:
        inside = list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else []
        for inner in inside:
            spoil(inner)
        if isinstance(item, (dict, list)):
            item.clear()

    spoil(made)
    assert value == before


def test_what_is_not_plain_is_converted_at_any_depth():
    def convert(value: object) -> object:
        return dict(value.items()) if isinstance(value, MappingProxyType) else list(value)  # type: ignore[call-overload]

    value = {"a": (1, MappingProxyType({2: {"b"}})), 3: []}
    assert plain_copy(value, convert) == {"a": [1, {"2": ["b"]}], "3": []}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"a": [1, {"b": object()}]}, ".a[1].b is object"),
        ([[], [b""]], "[1][0] is bytes"),
        (1j, " is complex"),
    ],
)
def test_an_error_says_where(value, error):
    with pytest.raises(MisfitError) as raised:
        plain_copy(value, refuse)
    assert str(raised.value) == error


def test_nesting_and_conversions_come_to_an_end():
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(MisfitError, match=r"nests more than 100 deep"):
        plain_copy(endless, refuse)
    with pytest.raises(MisfitError, match=r"nests more than 100 deep"):
        plain_copy((), lambda value: (value,))
