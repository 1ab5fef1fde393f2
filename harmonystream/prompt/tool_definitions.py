"""Converts declared tools of any request to Chat's dicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._schema import TYPES, type_mask
from ..errors import PromptError
from .parts import plain

__all__ = ["chat_tools", "check_parameters", "is_hosted"]


def chat_tools(tools: Any) -> list[dict[str, Any]]:
    """Tools as `{"type": "function", "function": {"name", "description", "parameters"}}`.

    tools: a `Tools`, or dicts of Chat Completions, of Responses (flat), of Anthropic (`input_schema`), or bare ones
    with a `name`. None gives no tools. Tools that an API's server runs are left out. Raises `PromptError` for anything
    else, with its index, and for two tools of one name.
    """
    if tools is None:
        return []
    if callable(schemas := getattr(tools, "schemas", None)):
        tools = schemas("chat")
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        raise PromptError(f"tools is {type(tools).__name__}; expected a list of tools, or a Tools")
    read = (plain(_declared(tool, i), f"tools[{i}]") for i, tool in enumerate(tools))
    made = {i: _definition(tool, f"tools[{i}]") for i, tool in enumerate(read) if not is_hosted(tool)}
    places: dict[str, int] = {}
    for i, tool in made.items():
        name = tool["function"]["name"]
        if (first := places.setdefault(name, i)) != i:
            raise PromptError(f"tools[{first}] and tools[{i}] have one name, {name!r}; each tool needs its own name")
    return list(made.values())


def is_hosted(tool: Any) -> bool:
    """Does an API's server run this tool, such as `{"type": "web_search"}`? A model here cannot call it."""
    if not isinstance(tool, dict) or "function" in tool or "parameters" in tool or "input_schema" in tool:
        return False
    return isinstance(tool.get("type"), str) and tool["type"] not in ("function", "custom")


def _declared(tool: Any, i: int) -> Any:
    """The item unchanged. Raises `PromptError` if only `Tools` can declare it."""
    if isinstance(tool, type) or (callable(tool) and not hasattr(tool, "model_dump")):
        name = getattr(tool, "__name__", None) or type(tool).__name__
        kind = "class" if isinstance(tool, type) else "function"
        raise PromptError(f"tools[{i}] is the {kind} {name}: pass tools=Tools({name}, …), which declares it")
    return tool


# `Tools` also reads definitions (tools/definitions.py), and keeps what it needs to run a tool. This package does not
# import that module. And a template may read any field of a client's definition, so all fields are kept here.
def _definition(tool: Any, where: str) -> dict[str, Any]:
    if not isinstance(tool, dict):
        raise PromptError(f"{where} is {type(tool).__name__}; expected a mapping with the tool's name and parameters")
    inner = tool.get("function", tool)
    name = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(name, str) or not name:
        raise PromptError(f"{where}: name is {name!r}; expected the tool's name")
    key = "input_schema" if "input_schema" in inner else "parameters"
    check_parameters(inner.get(key), f"{where}: {key} of the tool {name}")
    if "function" in tool:
        return {"type": "function", **tool}
    kept = {key: value for key, value in inner.items() if key in ("name", "description", "parameters", "strict")}
    if "input_schema" in inner:
        kept["parameters"] = inner["input_schema"]
    return {"type": "function", "function": kept}


def check_parameters(schema: Any, where: str) -> None:
    """Raises `PromptError` for a wrong schema: a model would silently read it as a tool without parameters."""
    if schema is None:
        return
    if not isinstance(schema, dict):
        raise PromptError(f"{where} is {type(schema).__name__}; expected a JSON Schema, which is an object")
    kind, inner = schema.get("type"), schema.get("properties")
    if isinstance(kind, str) and type_mask(kind) != TYPES["object"]:
        raise PromptError(f"{where} has the type {kind!r}; expected the JSON Schema of an object")
    if inner and not isinstance(inner, dict):  # PHP writes an empty object as []
        raise PromptError(f"{where} has properties that are {type(inner).__name__}; expected an object, by their names")
