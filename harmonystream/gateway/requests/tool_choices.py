"""The tools that a request offers, and its choice among them, in the form of any of the three APIs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any

from ...errors import PromptError
from ...prompt.tool_definitions import check_parameters
from ..refused import Refused
from .request import ApiRequest

__all__ = ["SERVER", "choose", "fields_of", "listed", "offer", "pick", "tool_name"]

SERVER = "gateway"
"""The server that, for clients, has run a call."""

MOST_TOOLS = 1024
LONGEST_NAME = 256
_NAME = re.compile(rf"[^\s<>|\x00-\x1f\x7f]{{1,{LONGEST_NAME}}}")
"""A name becomes a part of the text with markers at a call's beginning, so it must not contain markers."""
_WORDS = {"none": "none", "auto": "auto", "required": "required", "any": "required"}
_CHOICES = {
    "chat": '"none", "auto", "required", or {"type": "function", "function": {"name": …}}',
    "responses": '"none", "auto", "required", or {"type": "function", "name": …}',
    "messages": '{"type": "none"}, {"type": "auto"}, {"type": "any"}, or {"type": "tool", "name": …}',
}
_SHAPES = {
    "chat": '{"type": "function", "function": {"name": …, "parameters": …}} or of the type custom',
    "responses": '{"type": "function", "name": …, "parameters": …} or of the type custom',
    "messages": '{"name": …, "input_schema": …}',
}
_SHOWN = 10
"""How many names an error lists."""


def fields_of(tool: dict[str, Any]) -> dict[str, Any]:
    """The object with a tool's fields, or with those of a choice of it. Chat nests them in an object of their own."""
    kind = tool.get("type")
    inner = tool.get("custom" if kind == "custom" else "function")
    return inner if isinstance(inner, dict) else tool


def tool_name(tool: Any) -> Any:
    """The name in a tool's definition, or in a choice of it."""
    return fields_of(tool).get("name") if isinstance(tool, dict) else None


def offer(request: ApiRequest, tools: Any, types: Collection[str | None]) -> None:
    """Take the request's tools. types: the types of tools that a client runs itself.

    Other tools would have to run at the API's provider. They are passed over if the request has usable tools, and
    refused otherwise.
    """
    listed = _flat(request, [] if tools is None else tools)
    if len(listed) > MOST_TOOLS:
        raise Refused(400, f"There are more than {MOST_TOOLS} tools.", param="tools")
    adds = any(isinstance(tool, dict) and _kind(tool) in types for _, tool in listed)
    strict: list[str] = []
    names: set[str] = set()
    for where, tool in listed:
        if not isinstance(tool, dict):
            raise Refused(400, f"{where} must be an object.", param=where, code="invalid_value")
        if _kind(tool) not in types:
            what = (
                f"{where}.type is not supported: a request's tools run at the client, and are {_SHAPES[request.api]}."
            )
            refusal = Refused(400, what, param=f"{where}.type", code="unsupported_parameter")
            request.unsupported.meet(f"{where} ({str(_kind(tool))[:64]})", refusal, adds=adds)
            continue
        name = tool_name(tool)
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            what = f"{where} needs a name of 1 to {LONGEST_NAME} characters, without spaces and any of <>|."
            raise Refused(400, what, param=where, code="invalid_value")
        if name in names:
            what = f"{where} has the name of an earlier tool, {name!r}: each tool needs its own name."
            raise Refused(400, what, param=where, code="invalid_value")
        names.add(name)
        _check_parameters(tool, where)
        if fields_of(tool).get("strict") is True:
            strict.append(where)
        request.tools.append(tool)
    request.strict = strict[0] if strict else None


def _check_parameters(tool: dict[str, Any], where: str) -> None:
    """Raises `Refused` for a wrong schema, with its place in the request. A prompt's error would not have this place,
    because some tools are left out and others are added.
    """
    fields = fields_of(tool)
    path = where if fields is tool else f"{where}.{'custom' if _kind(tool) == 'custom' else 'function'}"
    path = f"{path}.{'input_schema' if 'input_schema' in fields else 'parameters'}"
    try:
        check_parameters(fields.get("input_schema", fields.get("parameters")), path)
    except PromptError as error:
        raise Refused(400, f"{error}.", param=path, code="invalid_value") from None


def _kind(tool: dict[str, Any]) -> str | None:
    kind = tool.get("type")
    return kind if isinstance(kind, str) else None if kind is None else "?"


def _flat(request: ApiRequest, tools: list[Any]) -> list[tuple[str, Any]]:
    """The tools with their places. Tools in a namespace are listed one by one.

    A model sees one list of names. A tool in a namespace keeps its name if no other tool has it. Otherwise the
    namespace is put before the name. `request.namespaces` maps each such name to the tool.
    """
    found: list[tuple[str, Any, str | None]] = []
    for at, tool in enumerate(tools):
        inner = tool.get("tools") if isinstance(tool, dict) and tool.get("type") == "namespace" else None
        if inner is None:
            found.append((f"tools[{at}]", tool, None))
            continue
        space = tool.get("name")
        if not isinstance(inner, list) or not isinstance(space, str):
            what = f"tools[{at}] needs a name and a list of tools."
            raise Refused(400, what, param=f"tools[{at}]", code="invalid_value")
        found += [(f"tools[{at}].tools[{place}]", one, space) for place, one in enumerate(inner)]
    counts = Counter(str(tool_name(tool)) for _, tool, _ in found)
    made = []
    for where, tool, space in found:
        name = tool_name(tool)
        if space is not None and isinstance(name, str) and isinstance(tool, dict):
            shown = name if counts[name] == 1 else f"{space}__{name}"
            request.namespaces[shown] = (space, name)
            tool = {**tool, "name": shown}
        made.append((where, tool))
    return made


def choose(request: ApiRequest, choice: Any) -> None:
    """Take the request's `tool_choice`. Later, `pick` looks for the tools that it names."""
    if choice is None:
        return
    kind = choice.get("type") if isinstance(choice, dict) else choice
    if isinstance(choice, dict) and kind == "allowed_tools":
        _allow(request, choice.get("allowed_tools", choice))
    elif isinstance(kind, str) and kind in _WORDS:
        request.choice = _WORDS[kind]  # type: ignore[assignment]
    elif isinstance(choice, dict) and kind in ("function", "custom", "tool", "mcp"):
        request.choice, request.named, request.picks = "required", True, [choice]
    else:
        raise _wrong(f"tool_choice must be one of {_CHOICES[request.api]}.")
    if request.choice == "none":
        request.tools = []


def _allow(request: ApiRequest, allowed: Any) -> None:
    tools = allowed.get("tools") if isinstance(allowed, dict) else None
    if not isinstance(tools, list):
        raise _wrong("tool_choice.tools must be a list.")
    if allowed.get("mode") not in ("auto", "required"):
        raise _wrong("tool_choice.mode must be auto or required.")
    request.choice, request.picks = allowed["mode"], tools


def pick(request: ApiRequest, here: Collection[str] = ()) -> None:
    """Keep the tools that `tool_choice` permits, once all tools are known. here: names of the tools that run here.

    Raises `Refused` if it names a tool that is not there, or demands a call and there are no tools.
    """
    if request.picks is not None:
        known = {tool_name(tool) for tool in request.tools}
        names = {name for choice in request.picks for name in _picked(choice, known, here)}
        request.tools = [tool for tool in request.tools if tool_name(tool) in names]
    if request.choice == "required" and not request.tools:
        raise _wrong("tool_choice asks for a call, and there are no tools: pass some, or leave tool_choice out.")


def _picked(choice: Any, known: Collection[Any], here: Collection[str]) -> Collection[str]:
    """The names of the tools that a choice permits. A server's choice without a name permits all of its tools."""
    name = tool_name(choice)
    if isinstance(choice, dict) and choice.get("type") == "mcp":
        if choice.get("server_label") != SERVER:
            raise _wrong(f"tool_choice names a server that is not here; tools run on the server {SERVER} alone.")
        known = here
        if name is None:
            return here
    if not isinstance(name, str) or name not in known:
        shown = repr(name[:64]) if isinstance(name, str) else "a tool without a name"
        raise _wrong(f"tool_choice names {shown}. The tools that may be named are {listed(known)}.")
    return (name,)


def listed(names: Collection[Any]) -> str:
    """Some of these names, for an error."""
    known = sorted({str(name)[:64] for name in names})
    more = [f"and {len(known) - _SHOWN} more"] if len(known) > _SHOWN else []
    return ", ".join([*known[:_SHOWN], *more]) or "none"


def _wrong(what: str) -> Refused:
    return Refused(400, what, param="tool_choice", code="invalid_value")
