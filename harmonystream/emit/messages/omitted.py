"""Messages whose blocks of thinking have a signature and no text, as a request with `display: "omitted"` wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ...events import Event, ReasoningDelta
from ..common.payload import Payload
from .stream import MessagesStream

__all__ = ["OmittedMessages"]


class OmittedMessages(MessagesStream):
    """A MessagesStream that sends only the signature of each thought.

    signature: makes it from the thought's text. If the text can be had from the signature again, a client that sends
    the blocks back sends the thoughts. Other options are those of MessagesStream. It cannot be moved by `to_bytes`.
    """

    def __init__(self, *arguments: Any, signature: Callable[[str], str], **options: Any) -> None:
        super().__init__(*arguments, signature=signature, **options)
        self._thought = ""  # of the block that is open

    def delta(self, kind: str, text: str) -> Payload | None:
        return None if kind == "reasoning" else super().delta(kind, text)

    def describe(self, event: Event) -> Iterable[Payload]:
        if not isinstance(event, ReasoningDelta):
            return super().describe(event)
        started = []
        if self._kind != "reasoning":
            started = self._begin("reasoning", {"type": "thinking", "thinking": "", "signature": ""})
            self._thought = ""
        self._keep("reasoning", event.text)
        return started

    def _settle(self) -> None:
        if self._kind == "reasoning":
            self._thought += self._take("reasoning")
        else:
            super()._settle()

    def _signed(self, text: str) -> str:
        return super()._signed(self._thought)

    def to_bytes(self, *, key: bytes | None = None) -> NoReturn:
        raise ValueError("a message whose thoughts are omitted cannot be moved")
