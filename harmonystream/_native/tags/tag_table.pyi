from typing import final

from typing_extensions import Self

from harmonystream._native.core.vocab import Vocab
from harmonystream.formats.spec import Format

DEBUG: bool

@final
class Row:
    def __new__(cls, format: Format, vocab: Vocab) -> Self: ...
