"""Rows as dicts and files: what is written reads back, and what is wrong is refused with its field."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.formats import format_of
from harmonystream.formats.files import LARGEST, read_format

ROWS = [row for row in map(format_of, hs.formats.names()) if isinstance(row, hs.Format)]
MINE = {"name": "mine", "think": [["<think>", "<reason>"], "</think>"], "stops": ["<end>"]}
TEXT = "<reason>Hm</think>Hi<end>"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_reads_back_from_json(row: hs.Format, tmp_path: Path) -> None:
    fields = row.to_dict()
    assert hs.Format.from_dict(fields) == row
    assert hs.Format.from_dict(json.loads(json.dumps(fields))) == row
    file = tmp_path / "row.json"
    file.write_text(json.dumps(fields), encoding="utf-8")
    assert read_format(file) == row
    assert {name for name in fields if name != "name"} == {
        name for name, value in row._asdict().items() if name != "name" and value != hs.Format._field_defaults[name]
    }


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_a_row_in_toml(tmp_path: Path) -> None:
    file = tmp_path / "row.toml"
    file.write_text('name = "mine"\nthink = [["<think>", "<reason>"], "</think>"]\nstops = ["<end>"]\n')
    assert read_format(file) == hs.Format.from_dict(MINE)
    assert hs.parse(TEXT, read_format(file))[1:3] == ("Hm", "Hi")


def test_a_row_in_toml_before_python_3_11(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tomllib", None)
    file = tmp_path / "row.toml"
    file.write_text('name = "mine"\n')
    with pytest.raises(hs.errors.FormatError, match=r"row\.toml: a format in TOML needs Python 3\.11 or newer"):
        read_format(file)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "a format is an object with fields, not list"),
        ({"think": ["<a>", "</a>"]}, "a format needs the field 'name'"),
        (MINE | {"thinks": None}, "unknown field 'thinks' of a format; did you mean 'think'"),
        (MINE | {"think": "<think>"}, "think is a list of 2 markers, not '<think>'"),
        (MINE | {"call": ["<a>", "</a>"]}, "call is a list of 3 markers"),
        (MINE | {"think": ["<a>", 1]}, "think holds strings, not 1"),
        (MINE | {"think": [["<a>", None], "</a>"]}, "think holds strings, not None"),
        (MINE | {"stops": "<end>"}, "stops is a list of strings, not '<end>'"),
        (MINE | {"wrapped": 1}, "wrapped is true or false, not 1"),
        (MINE | {"typed": []}, r"typed is an object, not \[\]"),
        (MINE | {"typed": {"x": 1}}, "typed holds strings, not 1"),
        (MINE | {"newlines": None}, "newlines holds strings, not None"),
        (MINE | {"name": 7}, "name holds strings, not 7"),
    ],
)
def test_what_is_wrong_is_named(fields: Any, message: str) -> None:
    with pytest.raises(hs.errors.FormatError, match=f"^{message}"):
        hs.Format.from_dict(fields)


def test_what_is_wrong_with_a_file_is_named(tmp_path: Path) -> None:
    def refused(data: bytes | None, name: str = "row.json") -> str:
        file = tmp_path / name
        if data is not None:
            file.write_bytes(data)
        with pytest.raises(hs.errors.FormatError) as raised:
            read_format(file)
        return str(raised.value).removeprefix(f"{file}: ")

    assert refused(None) == "No such file or directory"
    assert refused(b" " * (LARGEST + 1)) == "larger than a format can be (65,536 bytes)"
    assert refused(b"{").startswith("Expecting property name")
    assert "recursion" in refused(b"[" * LARGEST)
    assert "utf-8" in refused(b'{"name": "\xff"}')
    assert refused(b'{"name": 1}') == "name holds strings, not 1"
    if sys.version_info >= (3, 11):
        assert "Invalid value" in refused(b"name = ", "row.toml")


@given(st.recursive(st.none() | st.booleans() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=4)))
def test_a_field_of_any_shape_is_taken_or_refused(value: Any) -> None:
    for name in hs.Format._fields:
        try:
            row = hs.Format.from_dict({"name": "mine", "think": ["<a>", "</a>"], name: value})
            hs.Parser(row)
        except hs.errors.FormatError:
            continue
        assert hs.Format.from_dict(row.to_dict()) == row
