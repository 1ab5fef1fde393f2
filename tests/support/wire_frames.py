"""What the tests of all three APIs share: streams as frames and as dicts, and the clients' models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, get_args

from pydantic import BaseModel

import harmonystream as hs
from harmonystream.call_arguments import UNREADABLE
from harmonystream.completion import cut_call

Payload = dict[str, Any]
Emitter = Any  # ChatStream, ResponsesStream or MessagesStream
FRAME = re.compile(rb"(?:event: ([\w.]+)\n)?data: (\{[^\n]*\}|\[DONE\])\n\n")


def payloads_of(data: bytes) -> list[Any]:
    """The payloads of whole frames, "[DONE]" included: nothing else may stand between or after them."""
    found: list[Any] = []
    position = 0
    while position < len(data):
        match = FRAME.match(data, position)
        assert match, data[position:][:200]
        payload = "[DONE]" if match[2] == b"[DONE]" else json.loads(match[2])
        named = payload.get("type") if isinstance(payload, dict) else None
        assert named == (match[1] and match[1].decode()), "the event's name is its type"
        found.append(payload)
        position = match.end()
    return found


def fed(stream: Emitter, piece: Any) -> bytes:
    frames: bytes = stream.feed_text(piece) if isinstance(piece, (str, bytes)) else stream.feed(piece)
    return frames


def as_bytes(
    stream: Emitter, pieces: Iterable[Any], reason: str | None = None, usage: Payload | None = None
) -> list[bytes]:
    """What each call of a whole stream gives."""
    return [stream.start(), *(fed(stream, piece) for piece in pieces), stream.finish(reason, usage)]


def described(stream: Emitter) -> Any:
    """What this emitter, which is new, should say: its parser and options, described event by event."""
    from reference_chat import Chat
    from reference_messages import Messages
    from reference_responses import Responses

    kinds = {hs.ChatStream: Chat, hs.ResponsesStream: Responses, hs.MessagesStream: Messages}
    return next(made for kind, made in kinds.items() if isinstance(stream, kind))(stream)


def as_dicts(
    stream: Emitter, pieces: Iterable[Any], reason: str | None = None, usage: Payload | None = None
) -> list[Payload]:
    found: list[Payload] = stream.events()
    for piece in pieces:
        found += stream.events(piece)
    return [*found, *stream.events(finish=True, reason=reason, usage=usage)]


def events_of(parser: hs.Parser, pieces: Iterable[Any], reason: str | None = None) -> list[hs.Event]:
    found: list[hs.Event] = []
    for piece in pieces:
        found += parser.feed_text(piece) if isinstance(piece, (str, bytes)) else parser.feed(piece)
    return [*found, *parser.finish(reason)]


# --- the official clients' models ---


def models_of(union: Any) -> dict[str, type[BaseModel]]:
    """The models of a union of events, by type."""
    members = get_args(get_args(union)[0])
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in members}


def validated(model: type[BaseModel], payload: Payload, spare: frozenset[str] = frozenset()) -> Any:
    """Every field is the model's, but for these, has the model's type, and none that it needs is missing."""
    read: Any = model.model_validate(payload, strict=True)
    assert_nothing_extra(read, spare)
    assert read.to_dict(mode="python") == payload
    return read


def assert_nothing_extra(value: Any, spare: frozenset[str]) -> None:
    if isinstance(value, BaseModel):
        assert set(value.model_extra or ()) <= spare, f"{type(value).__name__} has no {list(value.model_extra or ())}"
        for name in type(value).model_fields:
            assert_nothing_extra(getattr(value, name), spare)
    elif isinstance(value, list):
        for one in value:
            assert_nothing_extra(one, spare)


# --- what a response should say, from the parser's events alone ---


def outline(events: Iterable[hs.Event]) -> list[tuple[Any, ...]]:
    """Reasoning, messages and calls with their texts, one by one: ("reasoning", text), ("message", channel, text),
    ("call", name, text, was it closed?)."""
    events = list(events)
    cut = cut_call(events)
    found: list[list[Any]] = []
    fresh = True  # is the next delta the first of its item?
    for event in events:
        match event:
            case hs.ReasoningDelta(text=text):
                if fresh or found[-1][0] != "reasoning":
                    found.append(["reasoning", ""])
                found[-1][-1] += text
                fresh = False
            case hs.ContentDelta(text=text, channel=channel):
                if fresh or found[-1][0] != "message":
                    found.append(["message", channel, ""])
                found[-1][-1] += text
                fresh = False
            case hs.ToolCallStart(name=name):
                found.append(["call", name, "", None])
            case hs.ToolCallDelta(arguments=text):
                found[-1][2] += text
            case hs.ToolCallEnd(complete=complete):
                found[-1][2] += "" if complete or event is cut else UNREADABLE
                found[-1][3] = event is not cut
                fresh = True
            case hs.MessageStart() | hs.MessageEnd():
                fresh = True
    return [tuple(item) for item in found]
