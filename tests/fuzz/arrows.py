"""Columns of somebody else's Arrow arrays: refused with TypeError or ValueError, or read as their rows are.

The structs of the C data interface are made by hand, so that they may hold what no library would give: null pointers,
numbers of buffers and children that are not there, negative lengths, offsets that lie. Only buffers are never shorter
than their array says, because the interface does not give their sizes, so that nobody could check them.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from arrow_structs import Array, Column, Release, Schema, array_of, pointer, schema_of

import harmonystream as hs
from fuzz import tokens

Case = dict[str, Any]
CAPACITY = 12  # rows for which there are offsets, and ids for which there are values
FARTHEST = 128  # an offset of text, which is trusted
LISTS = {"+l": ctypes.c_int32, "+L": ctypes.c_int64}
TEXTS = {"u": ctypes.c_int32, "U": ctypes.c_int64, "z": ctypes.c_int32, "Z": ctypes.c_int64}
ITEMS = {"i": ctypes.c_int32, "I": ctypes.c_uint32, "l": ctypes.c_int64}
VIEWS, VIEW = "vu", 16  # a view has 16 bytes
FORMATS = (*LISTS, *TEXTS, VIEWS, "+s", "s", "", "+w:2", "i")
ITEM_FORMATS = (*ITEMS, "L", "f", "", "+l", "u")
MASKS = ("validity", "child validity")
HOLES = (
    *(*MASKS, "offsets", "values", "child", "array.buffers", "array.children", "child.buffers", "child.children"),
    *("schema.format", "schema.children", "schema.child", "item.format", "released", "dictionary"),
)
FIELDS = ("content", "messages", "note")
ODD = (0, 1, 2, 3, -1, 5, 1 << 41, -(1 << 62))


class Row(NamedTuple):
    """What a column says, in Python's own words."""

    format: str
    item: str
    numbers: dict[str, int]
    offsets: list[int]
    valid: tuple[int, int]
    holes: list[str]
    payload: bytes


class Lying:
    """A column of structs that say this, and how its rows read."""

    def __init__(self, said: Row) -> None:
        self.said, self.is_text = said, said.format in TEXTS
        wide, kind = {**LISTS, **TEXTS}.get(said.format, ctypes.c_int32), ITEMS.get(said.item, ctypes.c_int64)
        self.offsets = [*said.offsets, *[said.offsets[-1]] * CAPACITY][: CAPACITY + 1]
        ids = [*tokens.read_ids(said.payload), *[0] * CAPACITY][:CAPACITY]
        self.ids = [tid % 2**31 if kind is ctypes.c_int32 else tid for tid in ids]
        self.text = said.payload[:CAPACITY].ljust(FARTHEST, b"x")
        masks = [None if hole in said.holes else mask.to_bytes(4, "little") for hole, mask in zip(MASKS, said.valid)]
        self.masks = [said.valid[k] if masks[k] else -1 for k in range(2)]
        ends = bytes((wide * (CAPACITY + 1))(*self.offsets))
        values = None if "values" in said.holes else bytes((kind * CAPACITY)(*self.ids))
        child = array_of(CAPACITY, [masks[1], values], null_count=-1)
        if said.format == VIEWS:
            ends = bytes(VIEW * (CAPACITY + 1))  # all are empty
        own = [masks[0], None if "offsets" in said.holes else ends, *[self.text] * self.is_text]
        if said.format == VIEWS:
            own += [self.text, self.text, bytes(VIEW)]  # two buffers of text, and their sizes
        children = [None if "child" in said.holes else child] * (not self.is_text)
        array = array_of(0, own, children, null_count=-1)
        for name, value in said.numbers.items():
            of, field = name.split(".")
            setattr(child if of == "child" else array, field, value)
        self.child, self.array = child, array
        item = schema_of(said.item.encode())
        schema = schema_of(said.format.encode(), [None if "schema.child" in said.holes else item] * (not self.is_text))
        self.column = Column(schema, array)
        for hole in said.holes:
            self._dig(hole, schema, item)

    def _dig(self, hole: str, schema: Schema, item: Schema) -> None:
        """A null pointer in a struct."""
        if hole == "released":
            self.array.release = Release()
        elif hole == "dictionary":
            schema.dictionary = ctypes.pointer(item)
        elif "." in hole and hole != "schema.child":
            of, field = hole.split(".")
            struct = {"schema": schema, "item": item, "array": self.array, "child": self.child}[of]
            setattr(struct, field, type(getattr(struct, field))() if field != "format" else None)

    def row(self, i: int) -> Any:
        """As the format says: None, bytes, or ids, of which None are null."""
        at = self.array.offset + i
        if self.array.null_count and not self.masks[0] >> at & 1:
            return None
        if self.said.format == VIEWS:
            return b""
        begin, stop = self.offsets[at], self.offsets[at + 1]
        if self.is_text:
            return self.text[begin:stop]
        first, masked = self.child.offset, self.child.null_count != 0
        return [
            None if masked and not self.masks[1] >> k & 1 else self.ids[k] for k in range(first + begin, first + stop)
        ]


def decode(options: bytes, payload: bytes) -> Case:
    head, payload = payload[:CAPACITY].ljust(CAPACITY, b"\0"), payload[CAPACITY:]
    ascending = sorted(byte % (CAPACITY + 1) for byte in head[: 1 + options[2] % CAPACITY])
    lies = [byte - 128 for byte in head]
    numbers = {"array.length": options[3] % (CAPACITY - 3), "array.offset": options[3] // 16 % 4}
    if options[4] & 1:
        numbers["child.length"] = options[4] % CAPACITY
    if options[4] & 2:
        name = ("length", "null_count", "offset", "n_buffers", "n_children")[options[5] % 5]
        numbers[f"{('array', 'child')[options[5] // 5 % 2]}.{name}"] = ODD[options[5] // 10 % len(ODD)]
    return {
        "format": FORMATS[options[0] % len(FORMATS)],
        "item": ITEM_FORMATS[options[1] % len(ITEM_FORMATS)],
        "numbers": bounded(numbers),
        "offsets": lies if options[2] & 0x80 else ascending,
        "valid": (options[6] * 257 | 0xF000 * (options[6] & 1), 0xFFFF ^ (options[6] >> 4)),
        "holes": [HOLES[options[7] % len(HOLES)]] if options[7] & 0x40 else [],
        "payload": payload[:64],
    }


def bounded(numbers: dict[str, int]) -> dict[str, int]:
    """No array says more than its buffers have, unless it says what cannot be."""
    for of in ("array", "child"):
        rows, first = (numbers.get(f"{of}.{name}", 0) for name in ("length", "offset"))
        if 0 <= first < 1 << 41 and 0 <= rows < 1 << 41 and of == "array" and rows + first > CAPACITY:
            numbers["array.length"] = max(0, CAPACITY - first)
        if of == "child" and 0 <= first <= CAPACITY:
            numbers["child.length"] = min(numbers.get("child.length", CAPACITY), CAPACITY - first)
    return numbers


def check(**case: Any) -> None:
    made = Lying(Row(**case))
    try:
        parsed = hs.columns.parse_many(made.column, "harmony", tokens.vocab(), threads=1, fields=FIELDS)
    except (TypeError, ValueError):
        return
    rows = [made.row(i) for i in range(made.array.length)]
    assert len(rows) == len(parsed)
    for row, content, note in zip(rows, texts_of(parsed, "content"), texts_of(parsed, "note")):
        bad = row is not None and not made.is_text and any(tid is None or not 0 <= tid < 2**32 for tid in row)
        assert note == ("null" if row is None else "not-an-id" if bad else None)
        said = None if row is None or bad else hs.parse(row, "harmony", vocab=tokens.vocab()).content or None
        assert content == said


def texts_of(parsed: Any, field: str) -> list[str | None]:
    """A field of the structs, read out of its buffers; None: it is empty or null."""
    capsule = parsed.__arrow_c_array__()[1]
    whole = Array.from_address(pointer(capsule, b"arrow_array"))
    column = whole.children[FIELDS.index(field)].contents
    ends = ctypes.cast(column.buffers[1], ctypes.POINTER(ctypes.c_int64))
    spans = [(ends[i], ends[i + 1] - ends[i]) for i in range(column.length)]
    return [ctypes.string_at(column.buffers[2] + at, size).decode() if size else None for at, size in spans]
