from collections.abc import Iterable, Mapping
from typing import Any, final

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

@final
class Tools:
    def __new__(cls, tools: Iterable[str | Mapping[str, Any]] | None = None) -> Self: ...

def tool_name(tool: str | Mapping[str, Any]) -> str | None: ...
