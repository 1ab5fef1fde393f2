"""The tools that a request offers, and what it says about calling them, in the words of any of the three APIs."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from .asked import Asked
from .refused import Refused

__all__ = ["choose", "offer", "tool_name"]

MOST_TOOLS = 1024
LONGEST_NAME = 256
_NAME = re.compile(rf"[^\s<>|\x00-\x1f\x7f]{{1,{LONGEST_NAME}}}")
"""A name becomes a part of the text with markers that a call begins with, so that it must have none itself."""
_WORDS = {"none": "none", "auto": "auto", "required": "required", "any": "required"}


def tool_name(tool: Any) -> Any:
    """The name in a tool's definition, or in a choice of it."""
    if not isinstance(tool, dict):
        return None
    for inner in ("function", "custom"):
        if isinstance(tool.get(inner), dict):
            return tool[inner].get("name")
    return tool.get("name")


def offer(asked: Asked, tools: Any, types: Collection[str | None]) -> None:
    """Take the request's tools. types: those that a client runs itself. Others would have to run here: refused."""
    tools = [] if tools is None else tools
    if len(tools) > MOST_TOOLS:
        raise Refused(400, f"There are more than {MOST_TOOLS} tools.", param="tools")
    for at, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise Refused(400, f"tools[{at}] must be an object.", param=f"tools[{at}]", code="invalid_value")
        if tool.get("type") not in types:
            known = ", ".join(str(kind) for kind in types if kind)
            what = f"tools[{at}].type is not supported: a request's tools run at the client, and are of type {known}."
            raise Refused(400, what, param=f"tools[{at}].type", code="unsupported_parameter")
        name = tool_name(tool)
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            what = f"tools[{at}] needs a name of 1 to {LONGEST_NAME} characters, without spaces and any of <>|."
            raise Refused(400, what, param=f"tools[{at}]", code="invalid_value")
    asked.tools = tools


def choose(asked: Asked, choice: Any) -> None:
    """Take the request's `tool_choice`, after its tools."""
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, dict) else choice
    if kind == "allowed_tools":
        _allow(asked, choice.get("allowed_tools", choice))
        return
    if isinstance(kind, str) and kind in _WORDS:
        asked.choice = _WORDS[kind]  # type: ignore[assignment]
    elif isinstance(choice, dict) and kind in ("function", "custom", "tool"):
        _keep(asked, [tool_name(choice)])
        asked.choice, asked.named = "required", True
    else:
        raise Refused(400, "tool_choice is none of those that this API has.", param="tool_choice", code="invalid_value")
    if asked.choice == "required" and not asked.tools:
        raise Refused(400, "tool_choice asks for a call, and there are no tools.", param="tool_choice")
    if asked.choice == "none":
        asked.tools, asked.only = [], True


def _allow(asked: Asked, allowed: Any) -> None:
    tools = allowed.get("tools") if isinstance(allowed, dict) else None
    if not isinstance(tools, list):
        raise Refused(400, "tool_choice.tools must be a list.", param="tool_choice", code="invalid_value")
    _keep(asked, [tool_name(tool) for tool in tools])
    if allowed.get("mode") in ("auto", "required"):
        choose(asked, allowed["mode"])
    else:
        raise Refused(400, "tool_choice.mode must be auto or required.", param="tool_choice", code="invalid_value")


def _keep(asked: Asked, names: list[Any]) -> None:
    """Offer these tools alone."""
    asked.only = True
    known = [tool_name(tool) for tool in asked.tools]
    for name in names:
        if name not in known:
            raise Refused(
                400, "tool_choice names a tool that is not in tools.", param="tool_choice", code="invalid_value"
            )
    asked.tools = [tool for tool in asked.tools if tool_name(tool) in names]
