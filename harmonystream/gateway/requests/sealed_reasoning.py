"""Reasoning that clients send back without its text: `encrypted_content` of Responses, `signature` of Messages.

It is packed, but neither secret nor signed. A client that has it may ask for the text anyway, and may send any
reasoning as text.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from ..refused import Refused

__all__ = ["opened", "opened_blocks", "sealed"]

_PREFIX = "hs1."
MOST = 1 << 24
"""The most bytes of unpacked reasoning in one request."""


def sealed(text: str) -> str:
    """The packed text."""
    return _PREFIX + urlsafe_b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()


def _text(packed: str, where: str, most: int) -> str:
    """The text. where: the field. Raises `Refused` if it is longer than `most` bytes, or was not packed here."""
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(urlsafe_b64decode(packed.removeprefix(_PREFIX)), most + 1)
        if len(text) > most:
            what = f"The reasoning in {where.rpartition('.')[2]} has more than {MOST} bytes in all."
            raise Refused(400, what, param=where, code="invalid_encrypted_content")
        if not reader.eof or reader.unconsumed_tail:
            raise ValueError
        return text.decode()
    except (ValueError, zlib.error):
        what = f"{where} was not made by this gateway, or has been altered."
        raise Refused(400, what, param=where, code="invalid_encrypted_content") from None


def opened(items: list[Any]) -> list[Any]:
    """The items. Each reasoning item that has only `encrypted_content` gets its text. Raises `Refused`."""
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
                text = _text(packed, f"input[{at}].encrypted_content", left)
                left -= len(text.encode())
                item = {**item, "content": [{"type": "reasoning_text", "text": text}]}
        made.append(item)
    return made


def opened_blocks(messages: list[Any]) -> list[Any]:
    """The messages of Messages. Each thinking block gets the text that is in its signature. Raises `Refused`.

    Signatures that were made elsewhere have no text, and stay unchanged.
    """
    left = MOST
    made = []
    for at, message in enumerate(messages):
        blocks = message.get("content") if isinstance(message, dict) else None
        if isinstance(blocks, list) and any(map(_is_packed, blocks)):
            opened_ones = []
            for number, block in enumerate(blocks):
                if _is_packed(block):
                    text = _text(block["signature"], f"messages[{at}].content[{number}].signature", left)
                    left -= len(text.encode())
                    block = {**block, "thinking": text}
                opened_ones.append(block)
            message = {**message, "content": opened_ones}
        made.append(message)
    return made


def _is_packed(block: Any) -> bool:
    if not isinstance(block, dict) or block.get("type") != "thinking" or block.get("thinking"):
        return False
    signature = block.get("signature")
    return isinstance(signature, str) and signature.startswith(_PREFIX)
