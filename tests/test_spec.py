"""The format rows are sound data."""

from __future__ import annotations

from pathlib import Path

import pytest

import harmonystream as hs
from harmonystream.formats import format_of

ROWS = [format_of(name) for name in hs.formats()]


@pytest.mark.parametrize("row", ROWS, ids=hs.formats())
def test_rows(row):
    assert row.required <= set(row.markers)
    assert len(set(row.markers.values())) == len(row.markers)
    assert format_of(row) is row


def test_rows_carry_no_code():
    for path in (Path(hs.__file__).parent / "formats").glob("[!_]*.py"):
        assert "def " not in path.read_text() and "lambda" not in path.read_text(), path.name
