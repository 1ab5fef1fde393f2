"""Responses whose request has tools that the model is offered in another form: in namespaces, and custom ones."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NoReturn

from ..events import Event, ToolCallDelta, ToolCallStart
from .items import Custom, Item
from .payload import Payload
from .responses import ResponsesStream

__all__ = ["INPUT", "OfferedResponses"]

INPUT = "input"
"""The argument that has the text of a custom tool which is offered as a function."""


class OfferedResponses(ResponsesStream):
    """A ResponsesStream that gives calls back as the request declared their tools.

    namespaces: the namespace and own name of each tool that is in one, by the name under which the model calls it.
    custom: names of custom tools that are offered as functions with the argument `INPUT`. Their items have its text.
    Other options are those of ResponsesStream. It cannot be moved by `to_bytes`.
    """

    def __init__(
        self, *arguments: Any, namespaces: Mapping[str, tuple[str, str]], custom: Collection[str], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._namespaces, self._custom = namespaces, custom
        self._tools = (self._tools or frozenset()) | {("custom", name) for name in custom}

    def _call_of(self, call: ToolCallStart) -> Item:
        made = super()._call_of(call)
        if call.name in self._namespaces and "name" in made.fields:
            space, name = self._namespaces[call.name]
            made.fields.update(name=name, namespace=space)
        if isinstance(made, Custom) and call.name in self._custom:
            return _Unwrapped(made.id, made.index, made.fields)
        return made

    def describe(self, event: Event) -> Iterable[Payload]:
        if isinstance(self._open, _Unwrapped) and isinstance(event, ToolCallDelta):
            return self._said_input(self._open, self._open.text.feed(event.arguments))
        return super().describe(event)

    def _said_input(self, opened: _Unwrapped, text: str) -> list[Payload]:
        shown = self._keep("arguments", text) if text else ""
        return [opened.said(shown)] if shown else []

    def _close(self, complete: bool = True) -> Iterable[Payload]:
        opened = self._open
        said = self._said_input(opened, opened.text.finish()) if isinstance(opened, _Unwrapped) else []
        return [*said, *super()._close(complete)]

    def to_bytes(self, *, key: bytes | None = None) -> NoReturn:
        raise ValueError("a response with such tools cannot be moved")


class _Unwrapped(Custom):
    """A call of a custom tool, whose text is in the arguments of a function."""

    def __init__(self, id: str, index: int, fields: Payload) -> None:
        super().__init__(id, index, fields)
        self.text = _InputText()

    def delta(self, text: str) -> Payload | None:
        return None

    def said(self, text: str) -> Payload:
        return self._event(f"{self.streamed}.delta", delta=text)


_OPENING = re.compile(rf'\s*\{{\s*"{INPUT}"\s*:\s*"')
_WHOLE = re.compile(
    r'(?:[^"\\]+|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*"
)
"""What can be decoded of a JSON text: all but an escape that has not ended, and half of a surrogate pair."""
_LONGEST_OPENING = 256


class _InputText:
    """The text in a function's arguments, as it comes; all of the arguments, if they are no such object."""

    def __init__(self) -> None:
        self._arguments: list[str] = []
        self._rest = ""  # what is not decoded
        self._state = "before"  # "before", "inside" or "after" the text
        self._said: list[str] = []

    def feed(self, arguments: str) -> str:
        """More of the arguments: more of the text."""
        self._arguments.append(arguments)
        if self._state == "after":
            return ""
        self._rest += arguments
        if self._state == "before":
            found = _OPENING.match(self._rest)
            if found is None:
                if len(self._rest) > _LONGEST_OPENING:
                    self._state = "after"
                return ""
            self._state, self._rest = "inside", self._rest[found.end() :]
        found = _WHOLE.match(self._rest)
        assert found is not None
        self._rest = self._rest[found.end() :]
        if self._rest.startswith('"'):
            self._state = "after"
        text: str = json.loads(f'"{found[0]}"', strict=False)
        self._said.append(text)
        return text

    def finish(self) -> str:
        """What is left of the text at the end of the arguments."""
        said, arguments = "".join(self._said), "".join(self._arguments)
        try:
            given = json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            return "" if said else arguments
        text = given.get(INPUT) if isinstance(given, dict) else None
        whole = text if isinstance(text, str) else arguments
        return whole[len(said) :] if whole.startswith(said) else ""
