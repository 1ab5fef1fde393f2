"""The C functions that a native module exports, for Python: called through ctypes, or watched while others call them.

Cython puts a module's exported functions into `__pyx_capi__`, as capsules that are named by their C signature.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TYPES = Path(__file__).resolve().parents[2] / "ext" / "harmonystream" / "_native" / "core" / "types.pxd"
C_TYPES: dict[str, Any] = {
    **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{"int": ctypes.c_int, "Py_ssize_t": ctypes.c_ssize_t, "bint": ctypes.c_int, "void": None, "char": ctypes.c_char},
}

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def c_type(spelled: str) -> Any:
    """`struct x const *` is a plain address; numbers keep their size."""
    if "*" in spelled:
        return ctypes.c_void_p
    return C_TYPES.get(spelled.replace("const", "").strip(), ctypes.c_int)  # an enum is an int


def prototype(signature: str) -> Any:
    result, arguments = re.fullmatch(r"(.*?)\((.*)\)", signature).groups()  # type: ignore[union-attr]
    return ctypes.CFUNCTYPE(c_type(result.strip()), *map(c_type, arguments.split(", ")))


def function(module: Any, name: str) -> Any:
    """The exported function, to be called with numbers, bytes and ctypes pointers."""
    capsule = module.__pyx_capi__[name]
    signature = _name_of(capsule)
    return prototype(signature.decode())(_pointer_of(capsule, signature))


# --- watching ---------------------------------------------------------------------------------------------------------

_keep: list[Any] = []  # what C still points at


def watch(module: Any, names: Iterator[str] | list[str], around: Callable[[str, Callable[..., Any], Any], Any]) -> None:
    """Whoever imports one of these functions from now on gets `around(name, function, arguments)` in its place."""
    for name in names:
        capsule = module.__pyx_capi__[name]
        signature = _name_of(capsule)
        original = function(module, name)

        def watched(*arguments: Any, name: str = name, original: Any = original) -> Any:
            return around(name, original, arguments)

        callback = prototype(signature.decode())(watched)
        text = ctypes.create_string_buffer(signature)
        _keep.extend((callback, text))
        module.__pyx_capi__[name] = _capsule(
            ctypes.cast(callback, ctypes.c_void_p), ctypes.cast(text, ctypes.c_char_p), None
        )


# --- structs ----------------------------------------------------------------------------------------------------------


def structs() -> dict[str, Any]:
    """The structs and unions of core/types.pxd, by name."""
    source = TYPES.read_text(encoding="utf-8")
    numbers = constants(source)
    source = re.sub(r"#.*", "", source)
    known: dict[str, Any] = dict(C_TYPES)
    found: dict[str, Any] = {}
    for sort, name, body in re.findall(r"^cdef (struct|union) (\w+): *\n((?: +\S.*\n|\s*\n)+)", source, re.MULTILINE):
        fields: list[tuple[str, Any]] = []
        for line in filter(None, map(str.strip, body.splitlines())):
            kind, names = re.fullmatch(r"((?:const )?\w+\**(?:\[\w+\])?) (.+)", line).groups()  # type: ignore[union-attr]
            fields += [(field[0], field[1]) for field in declared(kind, names, known, numbers)]
        base = ctypes.Structure if sort == "struct" else ctypes.Union
        found[name] = known[name] = type(name, (base,), {"_fields_": fields})
    return found


def declared(kind: str, names: str, known: dict[str, Any], numbers: dict[str, int]) -> Iterator[tuple[str, Any]]:
    base, stars, size = re.fullmatch(r"(?:const )?(\w+)(\**)(?:\[(\w+)\])?", kind).groups()  # type: ignore[union-attr]
    one = ctypes.c_void_p if stars else known[base]
    for name in names.split(", "):
        plain, own = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", name).groups()  # type: ignore[union-attr]
        length = own or size
        yield plain, one * int(numbers.get(length, length)) if length else one


def constants(source: str, only: str = "") -> dict[str, int]:
    """The members of the enums, or of one of them."""
    numbers: dict[str, int] = {}
    head = f"enum {only}" if only else "enum[^:]*"
    for body in re.findall(rf"^cdef {head}:\s*\n((?: +\S.*\n|\s*\n)+)", re.sub(r"#.*", "", source), re.MULTILINE):
        value = 0
        for member in filter(None, re.split(r"[,\s]*\n\s*|,\s*", body.strip())):
            name, _, given = member.partition("=")
            value = number(given.strip(), numbers) if given else value
            numbers[name.strip()] = value
            value += 1
    return numbers


def number(given: str, numbers: dict[str, int]) -> int:
    """A number, a shifted one, or the name of a member before."""
    if given in numbers:
        return numbers[given]
    base, _, shift = given.partition("<<")
    return int(base, 0) << int(shift or "0", 0)
