from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, final

from typing_extensions import Self

DEBUG: bool
__pyx_capi__: dict[str, object]

class _HasSchemas(Protocol):
    """What `harmonystream.Tools` is to the core."""

    def schemas(self, api: Literal["chat"], /) -> list[dict[str, Any]]: ...

_Tools: TypeAlias = Iterable[str | Mapping[str, Any]] | _HasSchemas

@final
class Tools:
    def __new__(cls, tools: _Tools | None = None) -> Self: ...
    def index(self, name: str) -> int: ...
    def types(self, name: str, parameter: str) -> int: ...

def tool_name(tool: str | Mapping[str, Any]) -> str | None: ...
