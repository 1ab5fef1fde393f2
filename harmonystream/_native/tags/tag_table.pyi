from typing import final

from typing_extensions import Self

from harmonystream._native.core.vocab import Vocab
from harmonystream.formats.spec import Format

DEBUG: bool

@final
class Row:
    """A tag format's tables. Immutable once its Program is made."""
    def __new__(cls, format: Format, vocab: Vocab) -> Self: ...
