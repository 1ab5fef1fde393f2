from typing import final

from typing_extensions import Self

from ._vocab import Vocab
from .formats.spec import Format

DEBUG: bool
__pyx_capi__: dict[str, object]

@final
class Program:
    def __new__(cls, format: Format, vocab: Vocab) -> Self: ...
    @property
    def format(self) -> Format: ...
    @property
    def vocab(self) -> Vocab: ...
