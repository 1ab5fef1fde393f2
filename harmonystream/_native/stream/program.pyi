from typing import final

from typing_extensions import Self

from harmonystream._native.core.vocab import Vocab
from harmonystream.formats.spec import Format, HeaderFormat

DEBUG: bool
__pyx_capi__: dict[str, object]

@final
class Program:
    """What each id does, in flat tables. Immutable; shared by all parsers of one format and vocabulary."""
    def __new__(cls, format: Format | HeaderFormat, vocab: Vocab) -> Self: ...
    @property
    def format(self) -> Format | HeaderFormat: ...
    @property
    def vocab(self) -> Vocab: ...
    @property
    def stop_ids(self) -> tuple[int, ...]: ...
