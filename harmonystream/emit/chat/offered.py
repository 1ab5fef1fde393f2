"""Chat Completions for requests with custom tools, which are offered to the model as functions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NoReturn

from ...events import ToolCallStart
from ..common.custom_input import CustomInput
from ..common.stream import Call
from .stream import ChatStream
from .templates import CUSTOM

__all__ = ["OfferedChat"]


class OfferedChat(ChatStream):
    """A ChatStream that sends the text of a custom tool's call as `custom.input`.

    custom: names of custom tools that are offered as functions with the argument "input". Other options are those of
    ChatStream. It cannot be moved by `to_bytes`.
    """

    def __init__(self, *arguments: Any, custom: Collection[str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._custom = custom
        self._always_asked |= self._question_bits(True, True, False)

    def _answer_call(self, event: ToolCallStart, index: int, item: int) -> Call:
        made = super()._answer_call(event, index, item)
        return (CUSTOM, *made[1:5], CustomInput()) if event.name in self._custom else made

    def to_bytes(self, *, key: bytes | None = None) -> NoReturn:
        raise ValueError("a response with custom tools cannot be moved")
