"""Messages whose blocks of thinking have a signature and no text, as a request with `display: "omitted"` wants them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .stream import MessagesStream

__all__ = ["OmittedMessages"]


class OmittedMessages(MessagesStream):
    """A MessagesStream that sends only the signature of each thought.

    signature: makes it from the thought's text. If the text can be had from the signature again, a client that sends
    the blocks back sends the thoughts. Other options are those of MessagesStream. It cannot be moved by `to_bytes`.
    """

    _omits = True

    def __init__(self, *arguments: Any, signature: Callable[[str], str], **options: Any) -> None:
        super().__init__(*arguments, signature=signature, **options)

    def to_bytes(self, *, key: bytes | None = None) -> NoReturn:
        raise ValueError("a message whose thoughts are omitted cannot be moved")
