from typing import final

from typing_extensions import Self

from ._vocab import Vocab
from .formats.spec import Format

DEBUG: bool

@final
class Row:
    def __new__(cls, format: Format, vocab: Vocab) -> Self: ...
