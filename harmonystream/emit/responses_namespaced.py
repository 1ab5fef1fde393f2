"""Responses whose request has tools in namespaces: each call says which namespace its tool is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from ..events import ToolCallStart
from .items import Item
from .responses import ResponsesStream

__all__ = ["NamespacedResponses"]


class NamespacedResponses(ResponsesStream):
    """A ResponsesStream that gives tools in namespaces back under their own names.

    namespaces: the namespace and own name of each tool that is in one, by the name under which the model calls it.
    custom: those names of them that are custom tools. Other options are those of ResponsesStream. It cannot be moved by
    `to_bytes`.
    """

    def __init__(
        self, *arguments: Any, namespaces: Mapping[str, tuple[str, str]], custom: frozenset[str], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._namespaces = namespaces
        self._tools = (self._tools or frozenset()) | {("custom", name) for name in custom}

    def _call_of(self, call: ToolCallStart) -> Item:
        made = super()._call_of(call)
        if call.name in self._namespaces and "name" in made.fields:
            space, name = self._namespaces[call.name]
            made.fields.update(name=name, namespace=space)
        return made

    def to_bytes(self, *, key: bytes | None = None) -> NoReturn:
        raise ValueError("a response with tools in namespaces cannot be moved")
