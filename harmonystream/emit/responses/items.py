"""The items of a Responses output: the events that open and close them, and the finished items."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from ...events import ToolCallStart
from ..common.payload import Payload, clean

__all__ = [
    *("CALLS", "Code", "Custom", "Function", "Item", "Mcp", "Message", "Reasoning", "Search"),
    *("Summary", "Text"),
    *("action_of", "declared", "item_type", "status_of"),
]

_ACTIONS = {"browser.search": "search", "browser.open": "open_page", "browser.find": "find_in_page"}


def status_of(complete: bool) -> str:
    return "completed" if complete else "incomplete"


def _empty(names: tuple[str, ...]) -> Payload:
    return {name: [] for name in names}


class Item:
    """An open item of the output. `kind`: the kind of deltas that it takes."""

    kind: ClassVar[str] = "arguments"
    type: ClassVar[str]
    progress: ClassVar[tuple[str, ...]] = ()  # events of this type of item alone, after "in_progress"

    def __init__(self, id: str, index: int, fields: Payload) -> None:
        self.id, self.index, self.fields = id, index, fields

    def added(self) -> list[Payload]:
        """The events that open the item."""
        added = self._of_item("added", self.item("", "in_progress"))
        return [added, *([self._event(f"{self.type}.in_progress")] if self.progress else ())]

    def delta(self, text: str) -> Payload | None:
        """The event of a delta. None if the API has no such event."""
        return None

    def done(self, text: str, complete: bool) -> list[Payload]:
        """The events that close the item. The last one contains the item. text: the text of all deltas."""
        progress = [self._event(f"{self.type}.{name}") for name in self.progress if complete]
        return [*progress, self._done(text, complete)]

    def item(self, text: str, status: str) -> Payload:
        """The item with its text."""
        raise NotImplementedError

    def _done(self, text: str, complete: bool) -> Payload:
        return self._of_item("done", self.item(text, status_of(complete)))

    def _event(self, name: str, **more: Any) -> Payload:
        return {"type": f"response.{name}", "item_id": self.id, "output_index": self.index, **more}

    def _of_item(self, what: str, item: Payload) -> Payload:
        return {"type": f"response.output_item.{what}", "output_index": self.index, "item": item}


class Text(Item):
    """Text, in one content part."""

    part_type: ClassVar[str]
    lists: ClassVar[tuple[str, ...]] = ()  # fields of its deltas that are always empty lists
    part_lists: ClassVar[tuple[str, ...]] = ()

    def added(self) -> list[Payload]:
        return [*super().added(), self._of_part("content_part.added", part=self._part(""))]

    def delta(self, text: str) -> Payload:
        return self._of_part(f"{self.part_type}.delta", delta=text, **_empty(self.lists))

    def done(self, text: str, complete: bool) -> list[Payload]:
        ended = self._of_part(f"{self.part_type}.done", text=text, **_empty(self.lists))
        return [ended, self._of_part("content_part.done", part=self._part(text)), *super().done(text, complete)]

    def _part(self, text: str) -> Payload:
        return {"type": self.part_type, "text": text, **_empty(self.part_lists)}

    def _of_part(self, name: str, **more: Any) -> Payload:
        return self._event(name, content_index=0, **more)

    def _content(self, text: str) -> list[Payload]:
        return [self._part(text)] if text else []


class Reasoning(Text):
    """Reasoning. fields: the fields that follow the text at its end."""

    kind, type, part_type = "reasoning", "reasoning", "reasoning_text"

    def item(self, text: str, status: str) -> Payload:
        return self._item([], text, status)

    def _item(self, summary: list[Payload], text: str, status: str) -> Payload:
        made = {"type": self.type, "id": self.id, "summary": summary, "content": self._content(text), "status": status}
        return {**made, **self.fields} if text else made


class Summary(Reasoning):
    """Reasoning that is streamed as its summary. Some clients show nothing else. The item has the text as both."""

    part_type = "summary_text"

    def added(self) -> list[Payload]:
        return [*Item.added(self), self._of_summary("part.added", part=self._part(""))]

    def delta(self, text: str) -> Payload:
        return self._of_summary("text.delta", delta=text)

    def done(self, text: str, complete: bool) -> list[Payload]:
        ended = [self._of_summary("text.done", text=text), self._of_summary("part.done", part=self._part(text))]
        return [*ended, *Item.done(self, text, complete)]

    def item(self, text: str, status: str) -> Payload:
        return self._item(super()._content(text), text, status)

    def _content(self, text: str) -> list[Payload]:
        return [{"type": "reasoning_text", "text": text}] if text else []

    def _of_summary(self, name: str, **more: Any) -> Payload:
        return self._event(f"reasoning_summary_{name}", summary_index=0, **more)


class Message(Text):
    kind, type, part_type = "content", "message", "output_text"
    lists = ("logprobs",)
    part_lists = ("annotations", "logprobs")

    def item(self, text: str, status: str) -> Payload:
        head = {"type": self.type, "id": self.id, "role": "assistant", "status": status, **self.fields}
        return {**head, "content": self._content(text)}


class Function(Item):
    type = "function_call"
    streamed: ClassVar[str] = "function_call_arguments"
    field: ClassVar[str] = "arguments"

    def delta(self, text: str) -> Payload:
        return self._event(f"{self.streamed}.delta", delta=text)

    def done(self, text: str, complete: bool) -> list[Payload]:
        return [self._event(f"{self.streamed}.done", **{self.field: text}), *super().done(text, complete)]

    def item(self, text: str, status: str) -> Payload:
        return {"type": self.type, "id": self.id, **self.fields, self.field: text, "status": status}


class Custom(Function):
    """A call that has text instead of arguments."""

    type, streamed, field = "custom_tool_call", "custom_tool_call_input", "input"


class Mcp(Function):
    type, streamed, progress = "mcp_call", "mcp_call_arguments", ("completed",)


class Code(Function):
    type, streamed, field = "code_interpreter_call", "code_interpreter_call_code", "code"
    progress = ("interpreting", "completed")


class Search(Item):
    """A use of the browser. It has an action instead of arguments, and only the finished item has the action.

    fields: the action.
    """

    type, progress = "web_search_call", ("searching", "completed")

    def item(self, text: str, status: str) -> Payload:
        return {"type": self.type, "id": self.id, **self.fields, "status": status}


def action_of(name: str, arguments: str) -> Payload:
    """The arguments as the API's action. Malformed arguments are kept verbatim."""
    type = _ACTIONS.get(name, "search")
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        given = None
    given = given if isinstance(given, dict) else {}

    def text_at(default: str, *names: str) -> str:
        text = next((given[name] for name in names if isinstance(given.get(name), str)), default)
        return clean(text)

    page = ":".join(f"{name}:{given[name]}" for name in ("cursor", "id") if isinstance(given.get(name), int))
    if type == "open_page":
        return {"type": type, "url": text_at(page or arguments, "id", "url")}
    if type == "find_in_page":
        return {"type": type, "pattern": text_at(arguments, "pattern"), "url": text_at(page, "url")}
    return {"type": type, "query": text_at(arguments, "query")}


# --- which call is which item ---

CALLS: dict[str, type[Item]] = {kind.type: kind for kind in (Function, Custom, Code, Search, Mcp)}


def declared(tools: object) -> frozenset[tuple[str, str]] | None:
    """The request's tools that have items of their own: (type, name or label). None if it has no list of tools."""
    if not isinstance(tools, list):
        return None
    found = set()
    for tool in tools:
        type, name = (tool.get("type"), tool.get("name")) if isinstance(tool, dict) else (None, None)
        if type == "custom" and isinstance(name, str):
            found.add((type, name))
        elif type == "mcp" and isinstance(tool.get("server_label"), str):
            found.add((type, tool["server_label"]))
        elif type == "code_interpreter":
            found.add((type, ""))
        elif isinstance(type, str) and type.startswith("web_search"):  # each version has a type of its own
            found.add(("web_search", ""))
    return frozenset(found)


def item_type(call: ToolCallStart, tools: frozenset[tuple[str, str]] | None = None) -> str:
    """The type of a call's item. tools: the result of declared(). If given, calls of other tools are function calls."""
    server, _, name = call.name.partition(".")
    if tools is not None and ("custom", call.name) in tools:
        return "custom_tool_call"
    if call.kind == "builtin" and call.name == "python":
        made, tool = "code_interpreter_call", ("code_interpreter", "")
    elif call.kind == "builtin" and call.name in _ACTIONS:
        made, tool = "web_search_call", ("web_search", "")
    elif call.kind == "other" and server and name:
        made, tool = "mcp_call", ("mcp", server)
    else:
        return "function_call"
    return made if tools is None or tool in tools else "function_call"
