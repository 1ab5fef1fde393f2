"""JSON bodies: a request's, read within bounds of bytes, time and depth, and a response's."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from .refused import Refused

__all__ = ["Json", "read_json"]

DEEPEST = 200
"""Levels of lists and objects in a body."""


class Json(JSONResponse):
    """A response that is JSON. JSON text may have half of a surrogate pair, which UTF-8 has not: it becomes "?"."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="replace")


async def read_json(request: Request, most: int, seconds: float) -> tuple[Any, int]:
    """The value, and how many bytes it had. Raises `Refused`, and ClientDisconnect if the client goes."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > most:
        raise _too_large(most)
    try:
        data = await asyncio.wait_for(_read(request, most), seconds)
    except asyncio.TimeoutError:
        raise Refused(408, f"The request's body did not arrive within {seconds:g} s.") from None
    try:
        value = json.loads(data.decode(), parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:  # what is not UTF-8, too
        what = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"not JSON: {error}"
        raise Refused(400, f"The request's body is {what}"[:300] + ".", code="invalid_json") from None
    if _is_deeper(value, DEEPEST):
        raise _too_deep()
    return value, len(data)


def _is_deeper(value: Any, levels: int) -> bool:
    """Are its lists and objects nested in more levels? Whatever writes the value again needs the stack for them."""
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
    raise ValueError(f"{name} is no number")
