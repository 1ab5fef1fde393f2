"""The parser of openai-harmony, native."""

from __future__ import annotations

import sys
from enum import Enum
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from ..._native.stream.message_reader import Header, MessageReader
from ...errors import HarmonyStreamError
from ...vocab import o200k_harmony

if TYPE_CHECKING:
    from .chat import Role

__all__ = ["HarmonyError", "StreamState", "StreamableParser"]


class HarmonyError(HarmonyStreamError, RuntimeError):
    """Tokens that are not Harmony, or text with a special token that is not allowed there."""


class StreamState(Enum):
    """What the parser waits for."""

    EXPECT_START = "ExpectStart"
    HEADER = "Header"
    CONTENT = "Content"


class Encoding(Protocol):
    """The part of an encoding that a parser reads. `HarmonyEncoding` has it, here and in openai-harmony."""

    @property
    def name(self) -> str: ...


class StreamableParser(MessageReader):
    """Reads the messages of a completion, or of a whole conversation, token by token.

    encoding: what `load_harmony_encoding` gives, here or in openai-harmony; the messages and errors are of the classes
    of the same package. role: who writes, if the prompt has begun the message; None: the tokens begin with `<|start|>`.
    strict: False also takes a message that ends inside its header, as openai-harmony does. recover: takes whatever
    comes, and raises nothing: a message may lack its `<|start|>`, its channel or its role, and words of a header that
    have no place are left out.

    Three answers differ from openai-harmony's: an id that does not exist is U+FFFD, after which the text goes on;
    `messages` gives the same objects each time; and with `recover` a delta keeps no decoded text back.
    """

    def __init__(self, encoding: Encoding, role: Role | None, *, strict: bool = True, recover: bool = False) -> None:
        if getattr(encoding, "name", None) != "HarmonyGptOss":
            raise TypeError(f"encoding must be what load_harmony_encoding() gives, not {type(encoding).__name__}")
        package = _package(type(encoding).__module__)
        roles = {member.value: member for member in package.Role}
        if role is not None:
            role = package.Role(role)
        super().__init__(
            o200k_harmony(), role, strict and not recover, recover, roles, _maker(package), package.HarmonyError
        )

    @property
    def state(self) -> StreamState:
        """What the parser waits for."""
        return StreamState(self.reading[0])

    @property
    def state_data(self) -> dict[str, Any]:
        """The state as a dict. The ids of the content are those of its text, which needs the extra `prompt`."""
        state, header, ids = self.reading
        if state == "Header":
            return {"state": state, "header_tokens": ids}
        if header is None:
            return {"state": state}
        author = {"role": header.role.value} | ({} if header.name is None else {"name": header.name})
        fields = {"recipient": header.recipient, "channel": header.channel, "content_type": header.content_type}
        tokens = o200k_harmony().encode(self.current_content)
        return {"state": state, "header": {"author": author, **fields}, "content_tokens": tokens}


def _package(module: str) -> ModuleType:
    """The package whose encoding it is: this one, or openai-harmony."""
    if module.startswith("harmonystream."):
        module = module.rpartition(".")[0]
    return sys.modules[module]


@cache
def _maker(package: ModuleType) -> Any:
    """What makes a Message of a header and a text, of the package's own classes."""
    author, message, content = package.Author, package.Message, package.TextContent

    def make(header: Header, text: str) -> Any:
        return message(
            author=author(role=header.role, name=header.name),
            content=[content(text=text)],
            channel=header.channel,
            recipient=header.recipient,
            content_type=header.content_type,
        )

    return make
