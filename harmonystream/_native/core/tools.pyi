from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, final

from typing_extensions import Self

DEBUG: bool
__pyx_capi__: dict[str, object]

class _HasSchemas(Protocol):
    """What `harmonystream.Tools` is to the core."""

    def schemas(self, api: Literal["chat"], /) -> list[dict[str, Any]]: ...

_Tools: TypeAlias = Iterable[str | Mapping[str, Any]] | _HasSchemas | Tools

@final
class Tools:
    """Declared tools, and the types of their parameters. Immutable. Of two tools with one name, the later counts."""
    def __new__(cls, tools: _Tools | None = None) -> Self: ...
    def index(self, name: str) -> int:
        """The tool's number among the sorted names; -1: it is not declared."""
    def types(self, name: str, parameter: str) -> int:
        """The types of a tool's parameter, declared or not, one bit each; 0: anything, or unknown."""

def compiled_tools(tools: _Tools | None) -> Tools:
    """The `Tools` that a parser makes of its argument `tools=`. Other parsers take it in place of that argument."""

def tool_name(tool: str | Mapping[str, Any]) -> str | None:
    """The name in a tool's description; None for a tool without one (a server-side tool such as web search)."""
