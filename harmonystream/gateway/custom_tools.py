"""Custom tools of Responses, which take text instead of arguments, as the functions that a model is offered."""

from __future__ import annotations

import json
from typing import Any

from ..emit.responses_offered import INPUT
from .asked import Asked
from .refused import Refused

__all__ = ["offer_custom", "with_functions"]


def offer_custom(asked: Asked) -> None:
    """Offer the request's custom tools as functions. A grammar is described to the model, and not enforced."""
    tools = []
    for tool in asked.tools:
        if tool.get("type") == "custom":
            asked.custom.append(tool["name"])
            tool = _function(asked, tool)
        tools.append(tool)
    asked.tools = tools


def _function(asked: Asked, tool: dict[str, Any]) -> dict[str, Any]:
    name, description, form = tool["name"], tool.get("description"), tool.get("format")
    said = description if isinstance(description, str) else ""
    if isinstance(form, dict) and form.get("type") == "grammar":
        syntax, definition = form.get("syntax"), form.get("definition")
        if not isinstance(syntax, str) or not isinstance(definition, str):
            what = f"The grammar of the tool {name} needs a syntax and a definition."
            raise Refused(400, what, param="tools", code="invalid_value")
        what = f"The grammar of the tool {name} cannot be enforced: the engine continues a prompt."
        refusal = Refused(400, what, param="tools", code="unsupported_parameter")
        asked.unsupported.meet(f"the grammar of {name}", refusal, adds=True)
        said = f"{said}\n\nThe input must fit this grammar ({syntax}):\n{definition}".strip()
    text = {"type": "string", "description": "The input, as plain text."}
    schema = {"type": "object", "properties": {INPUT: text}, "required": [INPUT]}
    return {"type": "function", "name": name, **({"description": said} if said else {}), "parameters": schema}


def with_functions(items: list[Any]) -> list[Any]:
    """The conversation, in which calls of custom tools are calls of functions."""
    return [_called(item) for item in items]


def _called(item: Any) -> Any:
    if not isinstance(item, dict) or item.get("type") != "custom_tool_call" or not isinstance(item.get("input"), str):
        return item
    rest = {name: value for name, value in item.items() if name != "input"}
    return {**rest, "type": "function_call", "arguments": json.dumps({INPUT: item["input"]}, ensure_ascii=False)}
