"""An emitter's state as bytes: the envelope, its signature, and the parts in it."""

from __future__ import annotations

import hmac
from struct import Struct
from typing import Any, NamedTuple

__all__ = ["Saved", "pack", "unpack"]

_VERSION = 4
_DICTS, _SIGNED = 1, 2  # flags
_HEAD = Struct("<3sBcBqIIIHH")  # "HSE", version, API, flags, number, and the sizes of the parts
_DIGEST = 32
_MOST_ID = 0xFFFF  # bytes of an id


class Saved(NamedTuple):
    """The state of an emitter.

    api: one letter. dicts: was it a stream of dicts? number: the next payload's. parser: the parser's state. options,
    state: JSON. id, created: the response's; `created` is JSON, or empty.
    """

    api: bytes
    dicts: bool
    number: int
    parser: bytes
    options: bytes
    state: bytes
    id: bytes
    created: bytes


def pack(saved: Saved, key: bytes | None = None) -> bytes:
    """The state as bytes, signed if there is a key. Raises TypeError or ValueError if a part does not fit."""
    _check_key(key)
    api, dicts, number, *parts = saved
    if len(saved.id) > _MOST_ID or len(saved.created) > _MOST_ID:
        raise ValueError(f"this stream cannot be moved: its id, or its time, is longer than {_MOST_ID:,} bytes")
    flags = (_DICTS if dicts else 0) | (0 if key is None else _SIGNED)
    data = b"".join((_HEAD.pack(b"HSE", _VERSION, api, flags, number, *map(len, parts)), *parts))
    return data if key is None else data + hmac.digest(key, data, "sha256")


def unpack(given: Any, key: bytes | None = None) -> Saved:
    """Read what pack() wrote with this key. Raises TypeError unless given bytes, and ValueError for any other bytes."""
    _check_key(key)
    if not isinstance(given, (bytes, bytearray, memoryview)):
        raise TypeError(f"from_bytes() takes bytes, not {type(given).__name__}")
    data = bytes(given)
    if len(data) < _HEAD.size or not data.startswith(b"HSE"):
        raise ValueError("not an emitter state: it does not begin like one, or is truncated")
    _, version, api, flags, number, *sizes = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"this emitter state has version {version}; this release reads version {_VERSION}")
    signed = bool(flags & _SIGNED)
    if signed or key is not None:
        _check_signature(data, signed, key)
    size = _HEAD.size + sum(sizes) + (_DIGEST if signed else 0)
    if len(data) != size or flags > (_DICTS | _SIGNED) or number < 0:
        raise ValueError("not a usable emitter state: its length does not fit its content")
    parts, end = [], _HEAD.size
    for n in sizes:
        parts.append(data[end : end + n])
        end += n
    return Saved(api, bool(flags & _DICTS), number, *parts)


def _check_key(key: Any) -> None:
    if key is not None and (not isinstance(key, bytes) or not key):
        raise TypeError(
            f"key is bytes that only your servers know, not {'empty' if key == b'' else type(key).__name__}"
        )


def _check_signature(data: bytes, signed: bool, key: bytes | None) -> None:
    if key is None:
        raise ValueError("this emitter state is signed: pass the key")
    content, digest = data[:-_DIGEST], data[-_DIGEST:]
    if not signed or not hmac.compare_digest(hmac.digest(key, content, "sha256"), digest):
        raise ValueError("this emitter state was not signed with this key, or has been altered since")
