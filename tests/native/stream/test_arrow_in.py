"""Columns whose structs lie: counts, pointers and types that no library would make are refused, and then released."""

from __future__ import annotations

import ctypes
import random
import struct
from typing import Any

import pytest
from arrow_structs import Array, Column, Schema, array_of, schema_of

import harmonystream as hs
from harmonystream._native.stream.arrow_in import rows_of

OFFSETS = struct.pack("<3i", 0, 2, 3)
IDS = struct.pack("<3i", 200005, 17196, 5)


def lists(**fields: Any) -> Column:
    """Two rows of ids. fields: of the list's struct, or, with `child_` before, of that of its values."""
    child = array_of(3, [None, IDS], **{name[6:]: value for name, value in fields.items() if name.startswith("child_")})
    own = {name: value for name, value in fields.items() if not name.startswith("child_")}
    made = Column(schema_of(b"+l", [schema_of(b"i")]), array_of(2, [None, OFFSETS], [child], **own))
    made.array._child = child  # type: ignore[attr-defined]
    return made


def strings(**fields: Any) -> Column:
    return Column(schema_of(b"u"), array_of(2, [None, OFFSETS, b"abc"], **fields))


def test_a_column_made_by_hand_is_read_and_released():
    for made in (lists(), strings()):
        rows = rows_of(made)
        assert [len(chunk) for chunk in rows] == [2]
        del rows
        assert made.released == 1  # the schema is its capsule's
    assert len(hs.columns.parse_many(lists())) == len(hs.columns.parse_many(strings(), "think")) == 2


NULL = ctypes.POINTER(ctypes.c_void_p)()
NO_CHILDREN = ctypes.POINTER(ctypes.POINTER(Array))()
LIES: list[dict[str, Any]] = [
    *({"length": -1}, {"length": 2**62}, {"offset": -1}, {"offset": 2**62}, {"n_buffers": 0}, {"n_buffers": 3}),
    *({"buffers": NULL}, {"n_children": 0}, {"n_children": -1}, {"children": NO_CHILDREN}, {"n_children": 2}),
    *({"child_length": -1}, {"child_offset": -1}, {"child_n_buffers": 1}, {"child_buffers": NULL}, {"child_length": 2}),
    *({"child_offset": 2**62}, {"child_length": 2**62 - 1, "child_offset": 2**62 - 1}),
]


@pytest.mark.parametrize("lie", LIES, ids=", ".join)
def test_lists_that_lie_are_refused(lie):
    made = lists(**lie)
    with pytest.raises(ValueError, match=r"damaged|beyond the"):
        rows_of(made)
    assert made.released == 1


def test_strings_and_batches_that_lie_are_refused():
    for lie in ({"length": -1}, {"offset": -1}, {"n_buffers": 2}, {"buffers": NULL}):
        with pytest.raises(ValueError, match=r"damaged|one column"):
            rows_of(strings(**lie))
    inner = array_of(2, [None, OFFSETS, b"abc"])
    for length, children, fields in (
        (3, [inner], {}),
        (2, [None], {}),
        (2, [], {}),
        (2, [inner], {"null_count": 1}),
        (2, [inner], {"offset": 1}),
        (2, [inner], {"buffers": NULL}),
    ):
        outer = array_of(length, [None], children, **fields)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"damaged|one column|longer than its column"):
            rows_of(Column(schema_of(b"+s", [schema_of(b"u")]), outer))
    with pytest.raises(TypeError, match="a column is an Arrow array"):
        rows_of(Column(schema_of(b"+s", [schema_of(b"+s", [schema_of(b"u")])]), array_of(2, [None], [inner])))


@pytest.mark.parametrize("format", [b"", b"+", b"+w:3", b"+vl", b"\xff", b"tdD", b"+ud:0", b"l"])
def test_other_formats_are_refused(format):
    with pytest.raises(TypeError, match=r"a column is an Arrow array"):
        rows_of(Column(schema_of(format), array_of(1, [None, IDS])))


def test_schemas_with_null_pointers_are_refused():
    no_format, no_item = schema_of(b"+l", [schema_of(b"i")]), schema_of(b"i")
    no_format.format = no_item.format = None
    no_children = schema_of(b"+l", [schema_of(b"i")])
    no_children.children = ctypes.POINTER(ctypes.POINTER(Schema))()
    for schema in (no_format, no_children, schema_of(b"+l", [None]), schema_of(b"+l", [no_item])):
        with pytest.raises(ValueError, match="schema is damaged: a pointer in it is null"):
            rows_of(Column(schema, lists().array))


def test_random_counts_are_refused_or_read():
    dice = random.Random(7)
    names = ("length", "null_count", "offset", "n_buffers", "n_children")
    for _ in range(2000):
        fields = {
            dice.choice(["", "child_"]) + dice.choice(names): dice.choice(
                [-(2**63), -2, -1, 0, 1, 3, 4, 2**40, 2**63 - 1]
            )
            for _ in range(dice.randrange(1, 4))
        }
        offsets = {fields.get("offset", 0), fields.get("child_offset", 0)}
        if offsets & {1, 3, 4, 2**40} or fields.get("length", 0) in (3, 4, 2**40):
            continue  # it would be believed: C tells nobody the size of a buffer
        try:
            got = hs.columns.parse_many(lists(**fields), threads=1)
        except ValueError:
            continue
        assert len(got) in (0, 1, 2)
