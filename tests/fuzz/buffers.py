"""What callers hand to feed() by mistake or design: refused with TypeError or ValueError and nothing consumed, or read
as the same ids in a list are."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import harmonystream as hs
from fuzz import tokens

Case = dict[str, Any]
FORMATS = "bBhHiIlLqQnNfdc?P"
TYPECODES = "bBhHiIlLqQfd"
KINDS = ("memoryview", "array", "list", "iterator", "range", "scalar", "ctypes")
CTYPES = (
    *(ctypes.c_int16, ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint8, ctypes.c_double),
    *(ctypes.c_int32.__ctype_be__, ctypes.c_int64.__ctype_be__, ctypes.c_long, ctypes.c_char, ctypes.c_bool),
)


class OwnError(Exception):
    """Raised by an object of the caller's: must come out as it is."""


class Index:
    """An integer of the caller's own type, or something that only looks like one."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __index__(self) -> Any:
        if self.value is OwnError:
            raise OwnError
        return self.value


class Tensor:
    """What has numpy() is asked for its memory."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def numpy(self) -> Any:
        return self.value


ODD = (
    *(-1, 2**32, 2**63, -(2**63) - 1, 2**200, True, None, 1.5, "a", b"a", [1], (), {}, {1}, object(), 1j),
    *(Index(3), Index(-1), Index(2**80), Index(OwnError), Index("a"), Index(True), Tensor(array.array("i", [1, 2]))),
    *(Tensor(None), Tensor([1]), memoryview(b"abc"), bytearray(b"ab"), range(3), range(5, 0, -2)),
)
FIRST_ODD = 0x100 - len(ODD)


def decode(options: bytes, payload: bytes) -> Case:
    shape = [options[4] % 5, options[5] % 5]
    step = options[3] % 7 - 3
    return {"kind": KINDS[options[0] % len(KINDS)], "data": payload, "form": options[1], "offset": options[2] % 9} | {
        "step": step or 1,
        "shape": shape,
        "opened": bool(options[6] & 1),
    }


def given(kind: str, data: bytes, form: int, offset: int, step: int, shape: list[int]) -> Any:
    """The object to feed. Raises ValueError or TypeError where Python itself cannot make it."""
    if kind == "memoryview":
        code = FORMATS[form % len(FORMATS)]
        view = memoryview(data)[offset:]
        view = view[: len(view) - len(view) % memoryview(bytes(8)).cast(code).itemsize].cast(code)
        if form & 0x80:
            size = shape[0] * shape[1]
            return memoryview(bytes(view[:size])).cast("B").cast(code, shape)
        return view[::step]
    if kind == "array":
        made = array.array(TYPECODES[form % len(TYPECODES)])
        made.frombytes(data[: len(data) - len(data) % made.itemsize])
        return made
    if kind == "ctypes":
        cls = CTYPES[form % len(CTYPES)]
        count = len(data) // ctypes.sizeof(cls)
        return (cls * count).from_buffer_copy(data) if form & 0x80 or count == 0 else cls.from_buffer_copy(data)
    if kind == "range":
        return range(form, form + len(data) * step, step)
    if kind == "scalar":
        return ODD[form % len(ODD)]
    items = [item_of(byte) for byte in data if byte < FIRST_ODD + offset]
    return items if kind == "list" else tuple(items) if form & 1 else iter(items)


def item_of(byte: int) -> Any:
    return tokens.TABLE[byte % len(tokens.TABLE)] if byte < FIRST_ODD else ODD[byte - FIRST_ODD]


def as_list(thing: Any) -> list[int] | None:
    """The ids in it, by Python's own means; None if they are not ids, or not one stream's."""
    if isinstance(thing, Tensor):
        thing = thing.numpy()
    if isinstance(thing, (int, Index)):
        thing = [thing]
    if not isinstance(thing, (list, tuple, range)):
        view = memoryview(thing)
        if view.format.lstrip("@=<") not in list("hHiIlLqQ") or sum(n != 1 for n in view.shape) > 1:
            return None
        thing = array.array(view.format.lstrip("@=<"), view.tobytes()).tolist()
    values = [int(item.value) if isinstance(item, Index) else item for item in thing]
    return values if all(isinstance(value, int) and 0 <= value < 2**32 for value in values) else None


def check(opened: bool, **case: Any) -> None:
    try:
        thing = given(**case)
        twin = given(**case)
    except (TypeError, ValueError):
        return
    parser = hs.Parser("harmony", tokens.vocab(), start="answer" if opened else "auto")
    before = parser.to_bytes()
    try:
        events = parser.feed(thing)
    except (TypeError, ValueError, OwnError):
        assert parser.to_bytes() == before
        return
    ids = as_list(list(twin) if hasattr(twin, "__next__") else twin)
    assert ids is not None, f"{thing!r} was taken"
    other = hs.Parser("harmony", tokens.vocab(), start="answer" if opened else "auto")
    assert events == other.feed(ids)
    assert parser.to_bytes() == other.to_bytes()
