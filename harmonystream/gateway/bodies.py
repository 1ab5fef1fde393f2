"""A request's body, read within bounds: so many bytes, in so much time, and JSON."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request

from .refused import Refused

__all__ = ["read_json"]


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
        return json.loads(data.decode(), parse_constant=_refuse_constant), len(data)
    except RecursionError:
        raise Refused(400, "The request's body is nested too deep.", code="invalid_json") from None
    except ValueError as error:  # what is not UTF-8, too
        what = "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"not JSON: {error}"
        raise Refused(400, f"The request's body is {what}"[:300] + ".", code="invalid_json") from None


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
