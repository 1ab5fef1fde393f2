"""Arrow's C structs made by hand, so that they can say what no library would."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", Release),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", Release),
    ("private_data", ctypes.c_void_p),
]
Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ("release", Release),
    ("private_data", ctypes.c_void_p),
]

capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Column:
    """A column of structs. It keeps their memory, and counts how often each was released."""

    def __init__(self, schema: Schema, array: Array) -> None:
        self.schema, self.array, self.released = schema, array, 0
        self._release = Release(self._count)
        schema.release = array.release = self._release

    def _count(self, at: int) -> None:
        self.released += 1
        (Array if at == ctypes.addressof(self.array) else Schema).from_address(at).release = Release()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> Any:
        capsules = ((self.schema, b"arrow_schema"), (self.array, b"arrow_array"))
        return tuple(capsule(ctypes.addressof(one), name, None) for one, name in capsules)


def pointers(kind: Any, items: Sequence[Any]) -> Any:
    """An array of pointers; None is null."""
    made = (ctypes.POINTER(kind) * max(1, len(items)))()
    for at, one in enumerate(items):
        if one is not None:
            made[at] = ctypes.pointer(one)
    return ctypes.cast(made, ctypes.POINTER(ctypes.POINTER(kind)))


def schema_of(format: bytes, children: Sequence[Schema | None] = ()) -> Schema:
    return Schema(format=format, n_children=len(children), children=pointers(Schema, children))


def array_of(n: int, buffers: Sequence[bytes | None], children: Sequence[Array | None] = (), /, **fields: int) -> Array:
    made = Array(length=n, n_buffers=len(buffers), n_children=len(children), children=pointers(Array, children))
    kept = [None if one is None else ctypes.create_string_buffer(one, len(one) + 1) for one in buffers]
    block = (ctypes.c_void_p * max(1, len(buffers)))(*[one and ctypes.addressof(one) for one in kept])
    made.buffers = ctypes.cast(block, ctypes.POINTER(ctypes.c_void_p))
    made._kept = kept, block  # type: ignore[attr-defined]
    for name, value in fields.items():
        setattr(made, name, value)
    return made
