from collections.abc import Mapping

from harmonystream._native.core.vocab import Vocab
from harmonystream.vocabs.encoders import Encoder

DEBUG: bool

def load_ranks(
    data: bytes, count: int, control: Mapping[str, int], name: str = "", encoder: Encoder | None = None
) -> Vocab:
    """A Vocab of `count` tokens, which `data` describes, and of control tokens after them.

    Each token has two numbers of three bytes. They are the ranks of two tokens before it, whose bytes together are the
    token's. A token of one byte has its own rank, and its value. First come the low bytes of all first numbers, then
    their middle and high ones, then those of the second numbers. A token has at most 255 bytes.
    Raises VocabError for data that is not like that.
    """
