"""The keys of clients. A file has their hashes, so that whoever reads it cannot use them."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from .refused import Refused

__all__ = ["Keys", "line_of", "new_key"]

_LINE = re.compile(r"([A-Za-z0-9._-]{1,64})\s+([0-9a-f]{64})")
MOST = 10_000
LONGEST = 512
"""Characters of a key that is sent."""


def new_key() -> str:
    """A key that nobody can guess."""
    return "hs-" + secrets.token_urlsafe(32)


def line_of(name: str, key: str) -> str:
    """The line of a key in a file of keys. Raises ValueError for a name that such a line cannot have."""
    line = f"{name} {sha256(key.encode()).hexdigest()}"
    if _LINE.fullmatch(line) is None:
        raise ValueError(f"a key's name has 1 to 64 letters, digits and ._-, unlike {name!r}")
    return line


class Keys:
    """Who may ask. hashes: the SHA-256 of each key, in hexadecimal, and its owner's name."""

    def __init__(self, hashes: Mapping[str, str]) -> None:
        self._hashes = [(digest.encode(), owner) for digest, owner in hashes.items()]

    def __len__(self) -> int:
        return len(self._hashes)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Keys:
        """Of a file: a line for each key, its owner's name and its hash; empty lines and those with # are skipped.

        An owner may have several keys. Raises ValueError, which names the line, and OSError.
        """
        hashes: dict[str, str] = {}
        for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            found = _LINE.fullmatch(line.strip())
            if found is None:
                raise ValueError(f"{path}, line {number}: expected a name and the SHA-256 of a key")
            if found[2] in hashes:
                raise ValueError(f"{path}, line {number}: this key is there already")
            if len(hashes) == MOST:
                raise ValueError(f"{path} has more than {MOST} keys")
            hashes[found[2]] = found[1]
        if not hashes:
            raise ValueError(f"{path} has no keys: nobody could ask")
        return cls(hashes)

    def owner(self, headers: Mapping[str, str]) -> str:
        """The owner of the key in a request's headers, `Authorization: Bearer` or `x-api-key`. Raises `Refused`.

        It takes the same time whichever key is right, and whether one is.
        """
        scheme, _, given = headers.get("authorization", "").partition(" ")
        key = given.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        if not key:
            what = "There is no key: send it as Authorization: Bearer, or as x-api-key."
            raise Refused(401, what, code="invalid_api_key")
        digest = sha256(key[:LONGEST].encode("utf-8", "replace")).hexdigest().encode()
        found = None
        for known, owner in self._hashes:
            if hmac.compare_digest(known, digest):
                found = owner
        if found is None or len(key) > LONGEST:
            raise Refused(401, "The key is not valid.", code="invalid_api_key")
        return found
