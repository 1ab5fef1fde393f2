"""Vocabularies in files that are mapped: a header, the image of the vocabulary, its name, and the encoder's data.

All numbers are little-endian. The header has a checksum of everything before the encoder. The encoder has its own
checksum, because it is read only when the first text is encoded.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from struct import Struct
from typing import NamedTuple
from weakref import WeakValueDictionary
from zlib import crc32

from .._native.core.vocab import Vocab
from .._native.core.vocab_image import encoder_of, give_encoder, image_of, vocab_of
from ..errors import VocabError
from .encoders import Encoder, Pieces, Saved

__all__ = ["cached", "load", "save", "shared"]

VERSION = 1
_MAGIC = b"HSVOCAB\0"
_HEADER = Struct("<8sIIQQIIIIQQ")
"""64 bytes: the magic, the version, and the fields of `Header`."""


class Header(NamedTuple):
    """The header of a file."""

    n: int  # how many ids
    size: int  # bytes of their text
    fingerprint: int
    n_name: int  # bytes of the name
    checksum: int  # of the sections before the encoder, with this as 0
    encoder_checksum: int
    reserved: int
    n_encoder: int  # bytes of it; 0: texts cannot be encoded
    reserved_too: int = 0

    @property
    def name_at(self) -> int:
        return _HEADER.size + 4 * (self.n + 1) + self.n + self.size + 16

    @property
    def encoder_at(self) -> int:
        return self.name_at + self.n_name

    def pack(self) -> bytes:
        return _HEADER.pack(_MAGIC, VERSION, *self)


def save(vocab: Vocab, path: str | os.PathLike[str]) -> None:
    """See `Vocab.save`."""
    _check_order()
    encoder = encoder_of(vocab)
    more = b"" if encoder is None else encoder.saved()
    name = vocab.name.encode("utf-8", "replace")
    image = image_of(vocab)
    size = len(image[2]) - 16
    header = Header(len(vocab), size, vocab.fingerprint, len(name), 0, crc32(more), 0, len(more))
    checksum = crc32(header.pack())
    for part in (*image, name):
        checksum = crc32(part, checksum)
    _replace(path, (header._replace(checksum=checksum).pack(), *image, name, more))


def _check_order() -> None:
    if sys.byteorder != "little":
        raise VocabError("files of vocabularies are for little-endian machines: load the tokenizer itself")


def _replace(path: str | os.PathLike[str], parts: tuple[bytes, ...]) -> None:
    """Write a file beside `path`, and move it there. Processes that have mapped the old file keep it."""
    made = f"{os.fspath(path)}.{secrets.token_hex(8)}"
    try:
        with open(made, "xb") as file:
            file.writelines(parts)
        os.replace(made, path)
    except BaseException:
        if os.path.exists(made):
            os.unlink(made)
        raise


def load(path: str | os.PathLike[str], *, encode: Callable[[str], list[int]] | None = None) -> Vocab:
    """See `Vocab.load`."""
    import mmap

    _check_order()
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"path is that of a file that save() wrote, not {type(path).__name__}")
    path = os.fspath(path)
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size < _HEADER.size:
            raise VocabError("not a usable vocabulary file: it is truncated")
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    header = _header(data)
    try:
        name = str(data[header.name_at : header.encoder_at], "utf-8")
    except UnicodeDecodeError:
        raise VocabError("not a usable vocabulary file: its name is not text") from None
    vocab = vocab_of(data[_HEADER.size :], header.n, header.size, header.fingerprint, name, os.path.abspath(path))
    encoder: Encoder | None = None
    if encode is not None:
        encoder = Pieces(vocab.control, encode)
    elif header.n_encoder:
        encoder = Saved(vocab.control, data[header.encoder_at :], header.encoder_checksum)
    give_encoder(vocab, encoder)
    return vocab


def _header(data: memoryview) -> Header:
    """The header, after checks of lengths and contents."""
    magic, version, *fields = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise VocabError("not a vocabulary file: Vocab.save() writes one")
    if version != VERSION:
        raise VocabError(f"this vocabulary file has version {version}; this release reads version {VERSION}")
    header = Header(*fields)
    if len(data) != header.encoder_at + header.n_encoder:
        raise VocabError("not a usable vocabulary file: its length does not fit its content")
    found = crc32(data[_HEADER.size : header.encoder_at], crc32(header._replace(checksum=0).pack()))
    if found != header.checksum:
        raise VocabError("not a usable vocabulary file: it is damaged")
    return header


_SHARED: WeakValueDictionary[tuple[str, int], Vocab] = WeakValueDictionary()


def shared(path: str, fingerprint: int) -> Vocab:
    """The vocabulary of a pickle, loaded once per process. Raises VocabError if the file now holds another
    vocabulary.
    """
    vocab = _SHARED.get((path, fingerprint))
    if vocab is None:
        vocab = load(path)
        if vocab.fingerprint != fingerprint:
            raise VocabError(f"{path} holds another vocabulary than when this was pickled")
        vocab = _SHARED.setdefault((path, fingerprint), vocab)
    return vocab


def cached(directory: str | os.PathLike[str], key: tuple[str | bytes, ...], make: Callable[[], Vocab]) -> Vocab:
    """The result of `make`. It is read from this directory if there is a complete file with this key. Otherwise it is
    made and saved.
    """
    from hashlib import sha256

    digest = sha256(b"%d" % VERSION)
    for part in key:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    path = os.path.join(directory, f"{digest.hexdigest()}.hsvocab")
    try:
        return load(path)
    except (FileNotFoundError, VocabError):
        os.makedirs(directory, exist_ok=True)
        save(make(), path)
        return load(path)
