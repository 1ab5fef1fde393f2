"""Custom tools of Responses and Chat, which take text instead of arguments. The model gets them as functions."""

from __future__ import annotations

import json
from typing import Any

from ...emit.common.custom_input import INPUT
from ..refused import Refused
from .request import ApiRequest
from .tool_choices import fields_of, tool_name

__all__ = ["offer_custom", "with_functions"]


def offer_custom(request: ApiRequest) -> None:
    """Offer the request's custom tools as functions. A grammar is described to the model, but not enforced."""
    tools = []
    for tool in request.tools:
        if tool.get("type") == "custom":
            request.custom.append(tool_name(tool))
            tool = _function(request, tool)
        tools.append(tool)
    request.tools = tools


def _function(request: ApiRequest, tool: dict[str, Any]) -> dict[str, Any]:
    given = fields_of(tool)
    name, description, form = given["name"], given.get("description"), given.get("format")
    shown = description if isinstance(description, str) else ""
    if isinstance(form, dict) and form.get("type") == "grammar":
        inner = form.get("grammar")
        rules = inner if isinstance(inner, dict) else form
        syntax, definition = rules.get("syntax"), rules.get("definition")
        if not isinstance(syntax, str) or not isinstance(definition, str):
            what = f"The grammar of the tool {name} needs a syntax and a definition."
            raise Refused(400, what, param="tools", code="invalid_value")
        what = f"The grammar of the tool {name} cannot be enforced: the engine continues a prompt."
        refusal = Refused(400, what, param="tools", code="unsupported_parameter")
        request.unsupported.meet(f"the grammar of {name}", refusal, adds=True)
        shown = f"{shown}\n\nThe input must fit this grammar ({syntax}):\n{definition}".strip()
    text = {"type": "string", "description": "The input, as plain text."}
    schema = {"type": "object", "properties": {INPUT: text}, "required": [INPUT]}
    function = {"name": name, **({"description": shown} if shown else {}), "parameters": schema}
    return {"type": "function", "function": function} if request.api == "chat" else {"type": "function", **function}


def with_functions(items: list[Any]) -> list[Any]:
    """The conversation with calls of custom tools turned into calls of functions."""
    return [_called(item) for item in items]


def _called(item: Any) -> Any:
    if isinstance(item, dict) and isinstance(calls := item.get("tool_calls"), list):
        return {**item, "tool_calls": list(map(_chat_call, calls))}
    if not isinstance(item, dict) or item.get("type") != "custom_tool_call" or not isinstance(item.get("input"), str):
        return item
    rest = {name: value for name, value in item.items() if name != "input"}
    return {**rest, "type": "function_call", "arguments": json.dumps({INPUT: item["input"]}, ensure_ascii=False)}


def _chat_call(call: Any) -> Any:
    custom = call.get("custom") if isinstance(call, dict) else None
    if not isinstance(custom, dict) or not isinstance(custom.get("input"), str):
        return call
    arguments = json.dumps({INPUT: custom["input"]}, ensure_ascii=False)
    rest = {name: value for name, value in call.items() if name != "custom"}
    return {**rest, "type": "function", "function": {"name": custom.get("name"), "arguments": arguments}}
