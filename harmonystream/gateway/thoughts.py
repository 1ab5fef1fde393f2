"""Reasoning as `encrypted_content`, for clients that send nothing else of it back, because nothing is stored.

It is packed and not secret: the model's reasoning is in the same response as text.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from .refused import Refused

__all__ = ["opened", "sealed"]

_PREFIX = "hs1."
MOST = 1 << 24
"""Bytes of reasoning that the items of one request may have when they are unpacked."""


def sealed(text: str) -> str:
    """The `encrypted_content` of a reasoning item with this text."""
    return _PREFIX + urlsafe_b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()


def _text(packed: str, where: str, most: int) -> str:
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(urlsafe_b64decode(packed.removeprefix(_PREFIX)), most + 1)
        if len(text) > most:
            what = f"The reasoning in encrypted_content has more than {MOST} bytes in all."
            raise Refused(400, what, param=f"{where}.encrypted_content", code="invalid_encrypted_content")
        if not reader.eof or reader.unconsumed_tail:
            raise ValueError
        return text.decode()
    except (ValueError, zlib.error):
        what = f"{where}.encrypted_content was not made by this gateway, or has been altered."
        raise Refused(400, what, param=f"{where}.encrypted_content", code="invalid_encrypted_content") from None


def opened(items: list[Any]) -> list[Any]:
    """The items, with its text in each reasoning item that has only `encrypted_content`. Raises `Refused`."""
    made = []
    left = MOST
    for at, item in enumerate(items):
        if (
            isinstance(item, dict)
            and item.get("type") == "reasoning"
            and not (item.get("content") or item.get("summary"))
        ):
            packed = item.get("encrypted_content")
            if isinstance(packed, str) and packed:
                text = _text(packed, f"input[{at}]", left)
                left -= len(text.encode())
                item = {**item, "content": [{"type": "reasoning_text", "text": text}]}
        made.append(item)
    return made
