"""Chat Completions whose request has custom tools, which the model is offered as functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NoReturn

from ...events import Event, ToolCallDelta, ToolCallEnd
from ..common.custom_input import CustomInput
from ..common.payload import Payload
from .stream import ChatStream

__all__ = ["OfferedChat"]


class OfferedChat(ChatStream):
    """A ChatStream whose calls of custom tools have their text as `custom.input`.

    custom: names of custom tools that are offered as functions with the argument "input". Other options are those of
    ChatStream. It cannot be moved by `to_bytes`.
    """

    def __init__(self, *arguments: Any, custom: Collection[str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._custom = custom
        self._input: CustomInput | None = None  # of the open call, if it is one of a custom tool

    def _made_call(self, id: str, name: str) -> Payload:
        if name not in self._custom:
            return super()._made_call(id, name)
        self._input = CustomInput()
        return {"id": id, "type": "custom", "custom": {"name": name, "input": ""}}

    def delta(self, kind: str, text: str) -> Payload | None:
        return None if kind == "arguments" and self._input is not None else super().delta(kind, text)

    def describe(self, event: Event) -> Iterable[Payload]:
        if self._input is not None:
            if isinstance(event, ToolCallDelta):
                return self._input_events(self._input.feed(event.arguments))
            if isinstance(event, ToolCallEnd):
                made = self._input_events(self._input.finish())
                super().describe(event)
                self._input = None
                return made
        return super().describe(event)

    def _input_events(self, text: str) -> list[Payload]:
        shown = self._keep("arguments", text) if text else ""
        return [self._chunk({"tool_calls": [{"index": self._open, "custom": {"input": shown}}]})] if shown else []

    def _keep_arguments(self) -> None:
        if self._input is None:
            super()._keep_arguments()
        elif self._open is not None and isinstance(self._calls, list):
            self._calls[self._open]["custom"]["input"] += self._take("arguments")

    def to_bytes(self, *, key: bytes | None = None) -> NoReturn:
        raise ValueError("a response with custom tools cannot be moved")
