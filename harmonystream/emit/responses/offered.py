"""Responses whose request has tools that the model is offered in another form: in namespaces, and custom ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NoReturn

from ...events import Event, ToolCallDelta, ToolCallStart
from ..common.custom_input import CustomInput
from ..common.payload import Payload
from .items import Custom, Item
from .stream import ResponsesStream

__all__ = ["OfferedResponses"]


class OfferedResponses(ResponsesStream):
    """A ResponsesStream that gives calls back as the request declared their tools.

    namespaces: the namespace and own name of each tool that is in one, by the name under which the model calls it.
    custom: names of custom tools that are offered as functions with the argument "input". Their items have its text.
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
            return self._input_events(self._open, self._open.text.feed(event.arguments))
        return super().describe(event)

    def _input_events(self, opened: _Unwrapped, text: str) -> list[Payload]:
        shown = self._keep("arguments", text) if text else ""
        return [opened.of_text(shown)] if shown else []

    def _close(self, complete: bool = True) -> Iterable[Payload]:
        opened = self._open
        rest = self._input_events(opened, opened.text.finish()) if isinstance(opened, _Unwrapped) else []
        return [*rest, *super()._close(complete)]

    def to_bytes(self, *, key: bytes | None = None) -> NoReturn:
        raise ValueError("a response with such tools cannot be moved")


class _Unwrapped(Custom):
    """A call of a custom tool, whose text is in the arguments of a function."""

    def __init__(self, id: str, index: int, fields: Payload) -> None:
        super().__init__(id, index, fields)
        self.text = CustomInput()

    def delta(self, text: str) -> Payload | None:
        return None

    def of_text(self, text: str) -> Payload:
        return self._event(f"{self.streamed}.delta", delta=text)
