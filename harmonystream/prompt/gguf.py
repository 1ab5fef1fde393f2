"""The metadata at the beginning of a GGUF file: the chat template, and the names of the tokens that it uses."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import PromptError

__all__ = ["metadata"]

MAX_ENTRIES = 100_000
MAX_STRING = 16_000_000
MAX_ARRAY = 16_000_000
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def metadata(path: Path, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """The entries whose keys are wanted. Others are skipped. Raises `PromptError` if the file is damaged."""
    found: dict[str, Any] = {}
    try:
        with open(path, "rb") as file:
            if file.read(4) != b"GGUF":
                raise PromptError(f"{path} is not a GGUF file")
            if (version := _number(file, "I")) not in (2, 3):
                raise PromptError(f"{path} is GGUF of version {version}; 2 and 3 are known")
            _number(file, "Q")
            entries = _bounded(_number(file, "Q"), MAX_ENTRIES)
            for _ in range(entries):
                key = _string(file)
                value = _value(file, _number(file, "I"), wanted(key), 0)
                if wanted(key):
                    found[key] = value
    except (struct.error, UnicodeDecodeError) as error:
        raise PromptError(f"{path} is a damaged GGUF file: {error}") from error
    return found


def _number(file: BinaryIO, code: str) -> Any:
    size = struct.calcsize("<" + code)
    return struct.unpack("<" + code, file.read(size))[0]


def _bounded(size: int, most: int) -> int:
    if size > most:
        raise PromptError(f"the GGUF file has an entry of {size} items; at most {most} are read")
    return size


def _string(file: BinaryIO) -> str:
    size = _bounded(_number(file, "Q"), MAX_STRING)
    data = file.read(size)
    if len(data) != size:
        raise struct.error("the file ends inside a text")
    return data.decode()


def _value(file: BinaryIO, kind: int, keep: bool, depth: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind == _ARRAY:
        inner = _number(file, "I")
        count = _bounded(_number(file, "Q"), MAX_ARRAY)
        if inner in _NUMBERS and not keep:
            file.seek(count * struct.calcsize("<" + _NUMBERS[inner]), 1)
            return None
        if depth > 8:
            raise struct.error("arrays nest too deep")
        values = [_value(file, inner, keep, depth + 1) for _ in range(count)]
        return values if keep else None
    if kind not in _NUMBERS:
        raise struct.error(f"a value of the unknown type {kind}")
    return _number(file, _NUMBERS[kind])
