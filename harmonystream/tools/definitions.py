"""Makes tools from callers' items, and the definitions that APIs take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ..checks import shown
from .tool import Tool

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["Api", "definition", "tool_from"]

Api: TypeAlias = Literal["chat", "responses", "messages"]

# Types of definitions that describe a function. A tool of any other type runs on the API's server.
_FUNCTION_TYPES = (None, "function", "custom")


def tool_from(item: object, options: Mapping[str, Any]) -> Tool:
    """The tool that `item` describes. options: fields of `Tool` that replace those of the item.

    item: a `Tool`, a function, a definition of any of the three APIs, a name, or a class that pydantic knows.
    """
    if isinstance(item, Tool):
        return replace(item, **options) if options else item
    if isinstance(item, str):
        return Tool(**{"name": item, **options})
    if isinstance(item, Mapping):
        return Tool(**{**_fields(item), **options})
    if isinstance(item, (list, tuple)):
        raise TypeError(f"a list is not a tool: pass its items one by one, Tools(*tools), not {shown(item)}")
    if isinstance(item, type):
        from .functions import class_fields

        return Tool(**{**class_fields(item, options.get("function")), **options})
    if callable(item):
        from .functions import function_fields

        return Tool(**{**function_fields(item, described="description" in options), **options})
    if callable(dump := getattr(item, "model_dump", None)):  # a definition from an API's own client
        return tool_from(dump(exclude_none=True), options)
    raise TypeError(f"a tool is a function, a Tool, a name or a dict as the APIs have it, not {shown(item)}")


def _fields(item: Mapping[str, Any]) -> dict[str, Any]:
    inner = item.get("function")
    described = inner if isinstance(inner, Mapping) else item
    if described is item and item.get("type") not in _FUNCTION_TYPES:
        raise ValueError(f"a tool of type {item['type']!r} is not a function: the API's own server runs it")
    if "name" not in described:
        raise ValueError(f"a tool's definition must have a name; this one has {sorted(map(str, described))}")
    schemas = (described.get(key) for key in ("parameters", "input_schema", "inputSchema"))
    return {
        "name": described["name"],
        "description": "" if (text := described.get("description")) is None else text,
        "parameters": next((schema for schema in schemas if schema is not None), None),
        "strict": described.get("strict"),
    }


def definition(tool: Tool, api: Api) -> dict[str, Any]:
    """The tool's definition for an API's requests."""
    described: dict[str, Any] = {"name": tool.name}
    if tool.description:
        described["description"] = tool.description
    strict = {} if tool.strict is None else {"strict": tool.strict}
    if api == "chat":
        parameters = {} if tool.parameters is None else {"parameters": tool.parameters}
        return {"type": "function", "function": {**described, **parameters, **strict}}
    if api == "responses":  # this API always has these two fields
        return {"type": "function", **described, "parameters": tool.parameters, "strict": bool(tool.strict)}
    if api == "messages":
        return {
            **described,
            "input_schema": {"type": "object"} if tool.parameters is None else tool.parameters,
            **strict,
        }
    raise ValueError(f"an API is 'chat', 'responses' or 'messages', not {api!r}")
