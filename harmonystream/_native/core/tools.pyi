from collections.abc import Iterable, Mapping
from typing import Any, final

from typing_extensions import Self

DEBUG: bool
__pyx_capi__: dict[str, object]

@final
class Tools:
    def __new__(cls, tools: Iterable[str | Mapping[str, Any]] | None = None) -> Self: ...
    def index(self, name: str) -> int: ...
    def types(self, name: str, parameter: str) -> int: ...

def tool_name(tool: str | Mapping[str, Any]) -> str | None: ...
