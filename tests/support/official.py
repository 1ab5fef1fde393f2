"""openai-harmony's strict parser and ours, asked for the same thing: a list of `Read` messages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import openai_harmony
import rank_file

import harmonystream as hs

os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", rank_file.folder())


class Read(NamedTuple):
    """One message. `author` is a tool's name, or the role."""

    author: str
    channel: str | None
    recipient: str | None
    content_type: str | None
    text: str


@cache
def encoding() -> Any:
    return openai_harmony.load_harmony_encoding(openai_harmony.HarmonyEncodingName.HARMONY_GPT_OSS)


def marked(text: str) -> list[int]:
    """The ids of a text; spelled markers are control ids."""
    return encoding().encode(text, allowed_special="all")


def plain(text: str) -> list[int]:
    """The ids of a text; spelled markers are nothing but text."""
    return encoding().encode(text, disallowed_special=())


def read_message(message: Any) -> Read:
    author = message.author.name or message.author.role.value
    text = "".join(part.text for part in message.content)
    return Read(author, message.channel, message.recipient, message.content_type, text)


def theirs(ids: Sequence[int]) -> tuple[list[Read] | None, str]:
    """What openai-harmony reads after `<|start|>assistant`: the messages, or None if it refuses; and all deltas."""
    parser = openai_harmony.StreamableParser(encoding(), openai_harmony.Role.ASSISTANT, strict=True)
    deltas = ""
    try:
        for tid in ids:
            parser.process(tid)
            deltas += parser.last_content_delta or ""
        parser.process_eos()
    except openai_harmony.HarmonyError:
        return None, deltas
    return [read_message(message) for message in parser.messages], deltas


def ours(ids: Sequence[int], *, start: str = "auto", prompt: Sequence[int] | None = None) -> list[Read]:
    """What harmonystream reads; a call without arguments has none here, as there."""
    parser = hs.Parser(start=start, prompt=prompt, empty_args="")
    messages: list[Read] = []
    text = ""
    for event in (*parser.feed(list(ids)), *parser.finish("stop")):
        match event:
            case hs.ReasoningDelta(text=piece) | hs.ContentDelta(text=piece) | hs.ToolCallDelta(arguments=piece):
                text += piece
            case hs.MessageEnd():
                messages.append(Read(event.role, event.channel, event.recipient, event.content_type, text))
                text = ""
    return messages


def comparable(message: Read) -> Read:
    """Two differences in form: the marker that they leave in a content type, and what others say, which we suppress."""
    content_type = message.content_type and message.content_type.removeprefix("<|constrain|>")
    return message._replace(content_type=content_type, text=message.text if message.author == "assistant" else "")
