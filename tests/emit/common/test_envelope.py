"""The envelope of an emitter's state: its parts, its version and its signature."""

from __future__ import annotations

import pytest

import harmonystream as hs
from harmonystream.emit.common.envelope import Saved, pack, unpack

KEY = b"nobody knows"
SAVED = Saved(b"c", True, 7, b"parser", b"{}", b"state", "é".encode(), b"1.5")


@pytest.mark.parametrize("key", [None, KEY])
def test_what_is_packed_is_unpacked(key):
    for saved in (SAVED, Saved(b"m", False, 0, b"", b"", b"", b"", b"")):
        data = pack(saved, key)
        for given in (data, bytearray(data), memoryview(data)):
            assert unpack(given, key) == saved


def test_it_is_refused_if_any_byte_is_altered():
    stream = hs.ChatStream(hs.Parser(), id="chatcmpl-1", model="m", created=1)
    stream.start()
    stream.feed_text("<|channel|>analysis<|message|>Look")
    data = stream.to_bytes(key=KEY)
    assert hs.ChatStream.from_bytes(data, key=KEY).to_bytes(key=KEY) == data
    for at in range(len(data)):
        altered = data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]
        with pytest.raises(ValueError):
            hs.ChatStream.from_bytes(altered, key=KEY)
    for size in range(len(data)):
        with pytest.raises(ValueError):
            unpack(data[:size], KEY)
    with pytest.raises(ValueError):
        unpack(data + b"\0", KEY)


def test_keys():
    signed, plain = pack(SAVED, KEY), pack(SAVED)
    assert len(signed) == len(plain) + 32
    with pytest.raises(ValueError, match="not signed with this key"):
        unpack(signed, b"another")
    with pytest.raises(ValueError, match="not signed with this key"):
        unpack(plain, KEY)
    with pytest.raises(ValueError, match="is signed: pass the key"):
        unpack(signed, None)
    with pytest.raises(ValueError):
        unpack(signed[:-32], None)
    for key in ("text", b"", 5):
        with pytest.raises(TypeError, match="key is bytes"):
            pack(SAVED, key)
        with pytest.raises(TypeError, match="key is bytes"):
            unpack(plain, key)


def test_what_is_no_state():
    with pytest.raises(TypeError, match="takes bytes, not str"):
        unpack("text", None)
    for data in (b"", b"HSE", b"HSP" + bytes(60)):
        with pytest.raises(ValueError, match="does not begin like one"):
            unpack(data, None)
    data = bytearray(pack(SAVED))
    data[3] = 9
    with pytest.raises(ValueError, match="has version 9; this release reads version 4"):
        unpack(data, None)
    for at, value in ((5, 4), (13, 0x80), (14, 99), (26, 99)):  # a flag, the number's sign, sizes
        data = bytearray(pack(SAVED))
        data[at] = value
        with pytest.raises(ValueError, match="its length does not fit"):
            unpack(data, None)


def test_an_id_has_a_length():
    for id, created in ((b"x" * 0x10000, b""), (b"", b"1" * 0x10000)):
        with pytest.raises(ValueError, match="longer than 65,535 bytes"):
            pack(SAVED._replace(id=id, created=created))
    stream = hs.MessagesStream(hs.Parser(), id="x" * 0x10000, model="m")
    stream.start()
    with pytest.raises(ValueError, match="cannot be moved: its id"):
        stream.to_bytes()
