from typing_extensions import Buffer

from harmonystream._native.core.vocab import Vocab

from ...vocabs.encoders import Encoder

DEBUG: bool

def image_of(vocab: Vocab) -> tuple[bytes, bytes, bytes]:
    """Offsets (uint32, one more than there are ids), flags (a byte each) and the padded text, as bytes."""

def vocab_of(image: Buffer, n: int, size: int, fingerprint: int, name: str, path: str | None) -> Vocab:
    """The vocabulary of n ids and `size` bytes of text whose image begins this buffer, which it keeps.

    Raises VocabError for an image that save() cannot have written.
    """

def give_encoder(vocab: Vocab, encoder: Encoder | None) -> None:
    """Sets the Encoder, once, before the vocabulary is shared."""

def encoder_of(vocab: Vocab) -> Encoder | None:
    """The Encoder that encode() calls, or None."""
