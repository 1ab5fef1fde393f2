from collections.abc import Mapping

from harmonystream._native.core.vocab import Vocab
from harmonystream.vocabs.encoders import Encoder

DEBUG: bool

def load_ranks(
    data: bytes, count: int, control: Mapping[str, int], name: str = "", encoder: Encoder | None = None
) -> Vocab:
    """A Vocab of `count` tokens, of which `data` has the lengths and then the bytes, and of control tokens after them.

    A token of no bytes is a hole. Raises VocabError where the lengths and the bytes do not fit.
    """
