"""JSON bodies: those of requests are read within limits of size, time and depth, and those of responses are written."""

from __future__ import annotations

import asyncio
import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined,unused-ignore]
from json.scanner import py_make_scanner  # type: ignore[attr-defined,unused-ignore]
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from ...surrogates import without_surrogates
from ..refused import Refused

__all__ = ["IN_A_THREAD", "Json", "read_json"]

DEEPEST = 200
"""The most levels of lists and objects in a body."""
IN_A_THREAD = 1 << 15
"""From this many bytes on, a body is handled in a thread, so that other requests go on."""
MOST_GROUPS = 500_000
"""The most lists and objects in a body. Each takes some hundred bytes, and the garbage collector visits each."""
_PIECE = 1 << 20
STEPS, MOST_STEPS = 200_000, 4_000_000
"""How many values and escapes of a body the fast parser may read at once, and how many a body may have."""


class Json(JSONResponse):
    """A JSON response. JSON text may have half of a surrogate pair, which UTF-8 cannot encode. It becomes U+FFFD."""

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        try:
            return text.encode()
        except UnicodeEncodeError:
            return without_surrogates(text).encode()


async def read_json(request: Request, most: int, seconds: float) -> tuple[Any, int]:
    """The value, and its size in bytes. Raises `Refused`, and ClientDisconnect if the client leaves."""
    if not _is_json(request.headers.get("content-type", "")):
        what = "The request's body must be JSON, and say so: content-type: application/json."
        raise Refused(415, what, code="unsupported_media_type")
    if (coding := request.headers.get("content-encoding", "identity")).lower() != "identity":
        what = f"A body with the content-encoding {coding[:32]!r} is not read: send it as it is."
        raise Refused(415, what, code="unsupported_media_type")
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > most:
        raise _too_large(most)
    try:
        data = await asyncio.wait_for(_read(request, most), seconds)
    except asyncio.TimeoutError:
        raise Refused(408, f"The request's body did not arrive within {seconds:g} s.") from None
    if len(data) < IN_A_THREAD:
        return _value(data), len(data)
    return await asyncio.to_thread(_value, data), len(data)


def _value(data: bytes) -> Any:
    """The value of a body. Raises `Refused`."""
    data = data.strip(b" \t\r\n")
    if _count(data, b"[", b"{") > MOST_GROUPS:
        what = f"The request's body has more than {MOST_GROUPS} lists and objects."
        raise Refused(400, what, code="invalid_json")
    steps = _count(data, b",", b":", b"[", b"\\")
    if steps > MOST_STEPS:
        what = f"The request's body has more than {MOST_STEPS} values and escapes."
        raise Refused(400, what, code="invalid_json")
    try:
        value = (json.loads if steps < STEPS else _in_steps)(data.decode(), parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:  # also for bytes that are not UTF-8
        what = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"not JSON: {error}"
        raise Refused(400, f"The request's body is {what}"[:300] + ".", code="invalid_json") from None
    if _is_deeper(value, DEEPEST):
        raise _too_deep()
    return value


def _count(data: bytes, *marks: bytes) -> int:
    """How often these marks occur in the data. Other threads run between the pieces that are counted."""
    pieces = range(0, len(data), _PIECE)
    return sum(data.count(mark, start, start + _PIECE) for start in pieces for mark in marks)


def _in_steps(text: str, parse_constant: Any) -> Any:
    """The result of `json.loads`, made by the standard library's parser in Python.

    The parser in C would hold the GIL until it has read everything, and so stop the event loop.
    """
    reader: Any = json.JSONDecoder(parse_constant=parse_constant)
    reader.parse_string = _string
    reader.scan_once = py_make_scanner(reader)
    return reader.decode(text)


_PART = re.compile(
    r'(?:[^"\\\x00-\x1f]{1,4096}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^\x00-\x1f]){0,512}'
)
"""A part of a JSON string that splits no surrogate pair."""


def _string(text: str, start: int, strict: bool = True) -> tuple[str, int]:
    """The string that begins after a quote, and where it ends. The result is that of the parser in C, made part by
    part.
    """
    parts, at = [], start
    while (end := _end_of_part(text, at)) > at:
        try:
            parts.append(scanstring(f'{text[at:end]}"', 0, strict)[0])
        except json.JSONDecodeError as error:
            raise json.JSONDecodeError(error.msg, text, at + error.pos) from None
        at = end
    if text[at : at + 1] == '"':
        return "".join(parts), at + 1
    what = "Unterminated string starting at" if at >= len(text) - 1 else "Invalid control character at"
    raise json.JSONDecodeError(what, text, start - 1 if at >= len(text) - 1 else at)


def _end_of_part(text: str, at: int) -> int:
    found = _PART.match(text, at)
    assert found is not None
    return found.end()


def _is_json(kind: str) -> bool:
    """Is this the type of JSON? A page may send other types to any server, but for this one a browser asks the server
    first.
    """
    name = kind.partition(";")[0].strip().lower()
    return name == "application/json" or (name.startswith("application/") and name.endswith("+json"))


def _is_deeper(value: Any, levels: int) -> bool:
    """Are the value's lists and objects nested more deeply? Code that writes the value again needs stack for each
    level.
    """
    found = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        inner = [one.values() if isinstance(one, dict) else one for one in found]
        found = [one for group in inner for one in group if isinstance(one, (dict, list))]
        if not found:
            return False
    return True


def _too_deep() -> Refused:
    return Refused(400, f"The request's body is nested in more than {DEEPEST} levels.", code="invalid_json")


async def _read(request: Request, most: int) -> bytes:
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise _too_large(most)
        pieces.append(piece)
    return b"".join(pieces)


def _too_large(most: int) -> Refused:
    return Refused(413, f"The request's body has more than {most} bytes.", code="request_too_large")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")
