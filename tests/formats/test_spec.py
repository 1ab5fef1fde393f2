"""The format rows are sound data."""

from __future__ import annotations

from typing import Any

import pytest

import harmonystream as hs
from harmonystream.formats import HeaderFormat, format_of

ROWS = [format_of(name) for name in hs.formats.names()]


def is_data(value: Any) -> bool:
    if isinstance(value, dict):
        return all(is_data(item) for pair in value.items() for item in pair)
    if isinstance(value, (tuple, frozenset)):
        return all(is_data(item) for item in value)
    return isinstance(value, (str, bool, type(None)))


@pytest.mark.parametrize("row", ROWS, ids=hs.formats.names())
def test_rows_are_data(row):
    assert is_data(tuple(row))
    assert eval(repr(row), {"Format": hs.Format, "HeaderFormat": HeaderFormat, "frozenset": frozenset}) == row
    assert format_of(row) is row
    assert format_of(row.name) is row
    assert hs.Parser(row).format == row.name
    assert all(type(name) is str and name.isascii() for name in hs.formats.names())


def test_the_row_of_harmony():
    (row,) = (row for row in ROWS if isinstance(row, HeaderFormat))
    assert row.required <= set(row.markers)
    assert row.stops <= set(row.markers.values())
    assert len(set(row.markers.values())) == len(row.markers)


def test_what_a_row_says_if_it_says_nothing():
    row = hs.Format("mine", think=("<a>", "</a>"))
    assert row[2:] == (
        None,
        None,
        None,
        None,
        "item",
        False,
        {
            "name": "name",
            **dict.fromkeys(("arguments", "parameters", "args", "input"), "arguments"),
            "id": "id",
            "type": "other",
            **dict.fromkeys(("tool_name", "tool", "function", "function_name"), "alias"),
        },
        "",
        "json",
        "",
        "any",
        "plain",
        "",
        "",
        "keep",
        "string",
        {},
        None,
        None,
        False,
        (),
        (),
        (),
        (),
        "text",
        "text",
        "same",
        "",
        "",
        (),
        "text",
        "",
    )
    assert hs.parse("<a>Hm</a>Hi<call>", row)[1:4] == ("Hm", "Hi<call>", ())


def test_a_row_is_a_name_or_a_row():
    for wrong in ("Harmony", "", None, 7, ["harmony"]):
        with pytest.raises(
            hs.errors.FormatError,
            match=r"(unknown format .*; (did you mean 'harmony'|known: harmony, )|a format is a name of)",
        ):
            format_of(wrong)
