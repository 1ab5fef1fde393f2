"""Stored responses, as they are kept outside of the gateway: sealed with a key, if there is one."""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from typing import Any

from ...errors import missing_extra

__all__ = ["Seal"]

LEAST = 32
"""The fewest characters of the text from which the key is made: 16 bytes in hexadecimal."""
_PLAIN, _SEALED = b"0", b"1"
_NONCE = 12


class Seal:
    """Packs values, and makes the names under which they are kept.

    text: the key is made from it. With None, values are readable, and names are plain hashes. A value opens only under
    its own name, so that a writer to the store cannot give one owner another owner's data. Raises ValueError for a
    text that is too short, and ImportError without the package `cryptography`.
    """

    def __init__(self, text: str | None) -> None:
        self._key = b""
        self._cipher: Any = None
        if text is None:
            return
        if len(text) < LEAST:
            raise ValueError(
                f"the key by which responses are sealed has {LEAST} characters or more: openssl rand -hex 32"
            )
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            raise missing_extra("store", error) from error
        secret = text.encode("utf-8", "surrogateescape")
        self._key = blake2b(secret, digest_size=32, person=b"names").digest()
        self._cipher = AESGCM(blake2b(secret, digest_size=32, person=b"values").digest())

    def name(self, *parts: str) -> str:
        """A name of bounded length, made from names that clients or operators chose."""
        data = json.dumps(parts).encode()  # an id may have lone surrogates
        return blake2b(data, digest_size=16, key=self._key).hexdigest()

    def packed(self, name: str, value: Any) -> bytes:
        """This value as sealed JSON."""
        plain = json.dumps(value, separators=(",", ":")).encode()
        if self._cipher is None:
            return _PLAIN + plain
        nonce = os.urandom(_NONCE)
        sealed: bytes = self._cipher.encrypt(nonce, plain, name.encode())
        return _SEALED + nonce + sealed

    def opened(self, name: str, packed: bytes) -> Any:
        """The value. Raises ValueError unless it was packed under this name and with this key."""
        if packed[:1] != (_PLAIN if self._cipher is None else _SEALED):
            raise ValueError("a stored value is not sealed as the settings say")
        if self._cipher is None:
            return json.loads(packed[1:])
        try:
            return json.loads(self._cipher.decrypt(packed[1 : 1 + _NONCE], packed[1 + _NONCE :], name.encode()))
        except Exception as error:  # InvalidTag, or ValueError for bytes that are too short
            raise ValueError("a stored value does not open with this key") from error
