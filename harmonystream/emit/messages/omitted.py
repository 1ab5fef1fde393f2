"""Messages whose thinking blocks have a signature but no text, for requests with `display: "omitted"`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .stream import MessagesStream

__all__ = ["OmittedMessages"]


class OmittedMessages(MessagesStream):
    """A MessagesStream that sends only the signature of each thinking block.

    signature: makes the signature from the block's text. If it can be turned back into the text, a client that sends
    the blocks back also sends the thoughts. Other options are those of MessagesStream. It cannot be moved by
    `to_bytes`.
    """

    _omits = True

    def __init__(self, *arguments: Any, signature: Callable[[str], str], **options: Any) -> None:
        super().__init__(*arguments, signature=signature, **options)

    def to_bytes(self, *, key: bytes | None = None) -> NoReturn:
        raise ValueError("a message whose thoughts are omitted cannot be moved")
