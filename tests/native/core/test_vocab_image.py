"""An image is believed only if it holds what memory safety depends on."""

from __future__ import annotations

import struct

import pytest

import harmonystream as hs
from harmonystream._native.core.vocab_image import encoder_of, give_encoder, image_of, vocab_of

TABLE = [b"a", None, b"\xe6", "日本".encode(), b"", b"xyz"]
VOCAB = hs.vocab.from_bytes(TABLE, {"<|end|>": 6, "<|é|>": 9})
PARTS = image_of(VOCAB)
IMAGE, SIZE = b"".join(PARTS), len(PARTS[2]) - 16


def image(
    offsets: dict[int, int] | None = None, flags: dict[int, int] | None = None, text: bytes | None = None
) -> bytes:
    """The good image, altered."""
    numbers, marks = [*struct.unpack(f"<{len(VOCAB) + 1}I", PARTS[0])], bytearray(PARTS[1])
    for at, value in (offsets or {}).items():
        numbers[at] = value
    for at, value in (flags or {}).items():
        marks[at] = value
    return struct.pack(f"<{len(numbers)}I", *numbers) + bytes(marks) + (PARTS[2] if text is None else text)


def test_an_image_is_the_vocabulary():
    vocab = vocab_of(IMAGE, len(VOCAB), SIZE, VOCAB.fingerprint, "name", None)
    assert (len(vocab), vocab.control, vocab.fingerprint, vocab.name) == (10, VOCAB.control, VOCAB.fingerprint, "name")
    for tid in range(-1, 12):
        assert (tid in vocab) == (tid in VOCAB)
        assert vocab.is_control(tid) == VOCAB.is_control(tid)
        if tid in VOCAB:
            assert vocab.token_bytes(tid) == VOCAB.token_bytes(tid)
    assert image_of(vocab) == PARTS


@pytest.mark.parametrize(
    ("data", "n", "size", "why"),
    [
        (IMAGE, 0, SIZE, "a count is out of range"),
        (IMAGE, -1, SIZE, "a count is out of range"),
        (IMAGE, 2**24 + 1, SIZE, "a count is out of range"),
        (IMAGE, len(VOCAB), -1, "a count is out of range"),
        (IMAGE, len(VOCAB), 2**32, "a count is out of range"),
        (IMAGE[:-1], len(VOCAB), SIZE, "it is truncated"),
        (b"", len(VOCAB), SIZE, "it is truncated"),
        (IMAGE, len(VOCAB), SIZE - 1, "its offsets do not ascend"),
        (image({0: 1}), len(VOCAB), SIZE, "its offsets do not ascend"),
        (image({3: 2**32 - 1}), len(VOCAB), SIZE, "its offsets do not ascend"),
        (image(flags={0: 2}), len(VOCAB), SIZE, "its flags do not fit its tokens"),
        (image(flags={2: 1}), len(VOCAB), SIZE, "its flags do not fit its tokens"),
        (image(flags={0: 0}), len(VOCAB), SIZE, "its flags do not fit its tokens"),
        (image(flags={0: 9}), len(VOCAB), SIZE, "its flags do not fit its tokens"),
        (image(flags={1: 6}), len(VOCAB), SIZE, "its flags do not fit its tokens"),
        (image(flags={2: 4}), len(VOCAB), SIZE, "the name of a control id is not text"),
        (image(text=PARTS[2].replace(b"\xc3", b"\xff")), len(VOCAB), SIZE, "its flags do not fit its tokens"),
    ],
)
def test_any_other_image_is_refused(data, n, size, why):
    with pytest.raises(hs.errors.VocabError, match=f"not a usable vocabulary file: {why}"):
        vocab_of(data, n, size, 0, "", None)


def test_two_controls_of_one_name_are_refused():
    parts = image_of(hs.vocab.from_bytes([b"<|a|>"], {"<|a|>": 1}))
    data = parts[0] + bytes([5, 5]) + parts[2]
    with pytest.raises(hs.errors.VocabError, match="two control ids have the name '<|a|>'".replace("|", r"\|")):
        vocab_of(data, 2, 10, 0, "", None)


def test_the_buffer_is_kept_as_long_as_the_vocabulary():
    data = bytearray(IMAGE)
    vocab = vocab_of(data, len(VOCAB), SIZE, 0, "", None)
    with pytest.raises(BufferError):
        data.clear()
    del vocab
    data.clear()


def test_an_encoder_is_given_once_the_vocabulary_is_there():
    vocab = vocab_of(IMAGE, len(VOCAB), SIZE, 0, "", None)
    assert encoder_of(vocab) is None
    give_encoder(vocab, encoder_of(hs.vocab.o200k_harmony()))
    assert vocab.encode("Hello") == [13225]
