"""Responses for requests with tools in namespaces, and custom tools. Both are offered to the model in another form."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from ...events import ToolCallStart
from ..common.custom_input import CustomInput
from ..common.payload import to_json
from ..common.stream import Call
from .stream import ResponsesStream
from .templates import VARIANTS

__all__ = ["OfferedResponses"]


class OfferedResponses(ResponsesStream):
    """A ResponsesStream that sends calls in the form in which the request declared their tools.

    namespaces: maps the name under which the model calls a tool to its namespace and own name.
    custom: names of custom tools that are offered as functions with the argument "input". Their items have its text.
    Other options are those of ResponsesStream. It cannot be moved by `to_bytes`.
    """

    def __init__(
        self, *arguments: Any, namespaces: Mapping[str, tuple[str, str]], custom: Collection[str], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._namespaces, self._custom = namespaces, custom
        self._tools = (self._tools or frozenset()) | {("custom", name) for name in custom}

        self._always_asked |= self._question_bits(False, True, False)

    def _answer_call(self, event: ToolCallStart, index: int, item: int) -> Call:
        variant, name, call_id, fields, id, through = super()._answer_call(event, index, item)
        if event.name in self._namespaces and variant in (0, VARIANTS["custom_tool_call"], VARIANTS["mcp_call"]):
            made = {"call_id": call_id, "name": name} if variant == 0 else json.loads(f"{{{fields[1:]}}}")
            space, own = self._namespaces[event.name]
            fields = f",{to_json({**made, 'name': own, 'namespace': space})[1:-1]}"
            variant = variant or VARIANTS["function_call"]
        if variant == VARIANTS["custom_tool_call"] and event.name in self._custom:
            through = CustomInput()
        return variant, name, call_id, fields, id, through

    def to_bytes(self, *, key: bytes | None = None) -> NoReturn:
        raise ValueError("a response with such tools cannot be moved")
