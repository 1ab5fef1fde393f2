from collections.abc import Mapping

from harmonystream._encoders import Encoder
from harmonystream._native.core.vocab import Vocab

DEBUG: bool

def load_ranks(data: bytes, control: Mapping[str, int], name: str = "", encoder: Encoder | None = None) -> Vocab:
    """A Vocab from the content of a tiktoken rank file (ranks ascending) and its control tokens."""
