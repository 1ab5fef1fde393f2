"""Emitters as bytes and back: what their script has told, or what Python remembers of the response."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._native.stream.parser import Parser
from .._native.wire.envelope import Saved, pack, unpack
from .._native.wire.moving import identity_of, parser_of, told_again
from .._native.wire.script import Script
from .arguments import Arguments
from .chat import ChatStream
from .chat_options import call
from .items import CALLS, Item, Message
from .kept import Forgotten, Kept
from .messages import MessagesStream
from .payload import Payload, to_json
from .request import CallIds
from .responses import ResponsesStream
from .saved import State, is_count, json_object, refused
from .saved_options import Callbacks, check_callbacks, made, options_of, shape_of, type_of
from .saved_tokens import of_logprobs, of_tokens, restore_logprobs, restore_tokens

if TYPE_CHECKING:
    from .stream import EventStream

__all__ = ["restored", "restored_choices", "saved"]

_KINDS = ("reasoning", "content", "arguments")
_TEXT_OF = {"reasoning": "thinking", "content": "text"}  # a kind of delta: the field of its block
_SMALL = 4096  # bytes of options that are worth remembering


def saved(stream: Any, key: bytes | None) -> bytes:
    """The stream as bytes. Raises ValueError for one that cannot be moved now, or not at all."""
    kind = type(stream) if type(stream) in _LETTER else type_of(stream)
    created = getattr(stream, _TIME[kind], None)
    time = b"%d" % created if type(created) is int else b"" if created is None else to_json(created).encode()
    options = stream._options or options_of(stream)
    if not isinstance(stream, ChatStream) or not _is_one_of_several(stream):
        made: bytes | None = stream._told_bytes(_LETTER[kind], options, stream.id, time, key)
        if made is not None:
            return made
    state = _remembered(stream, kind)
    dicts, number = stream._moving()
    parser, id = stream.parser.to_bytes(), stream.id.encode()
    return pack(Saved(_LETTER[kind], dicts, False, number, parser, options, id, time, state), key)


def restored(
    kind: type[EventStream], data: Any, vocab: Any, format: Any, tools: Any, key: bytes | None, callbacks: Callbacks
) -> EventStream:
    """The stream of these bytes. Raises TypeError or ValueError for bytes that cannot be used."""
    stream = _restored(kind, unpack(data, key), vocab, format, tools, callbacks)
    if isinstance(stream, ChatStream) and stream._choices > 1:
        raise ValueError(
            f"this state is of one of {stream._choices} choices: ChatStream.several_from_bytes() takes all"
        )
    return stream


def restored_choices(
    kind: type[ChatStream], states: Any, vocab: Any, format: Any, tools: Any, key: bytes | None, callbacks: Callbacks
) -> list[ChatStream]:
    """The streams of all choices of a response. Raises TypeError or ValueError for states that cannot be used."""
    if isinstance(states, (bytes, bytearray, memoryview)):
        raise TypeError("several_from_bytes() takes a list of states, one of each choice")
    each = [unpack(state, key) for state in states]
    if len({(saved.id, saved.created, saved.options) for saved in each}) > 1:
        raise ValueError("these states are not those of one response")
    streams: list[Any] = [_restored(kind, saved, vocab, format, tools, callbacks) for saved in each]
    if [(stream.choice, stream._choices) for stream in streams] != [(at, len(each)) for at in range(len(each))]:
        raise ValueError("these states are not those of all choices of a response, in order")
    if not streams or all(stream.ended for stream in streams):
        raise refused("no choice goes on")
    for stream in streams:
        stream._all = streams if len(streams) > 1 else None
    return list(streams)


def _restored(
    kind: type[EventStream], saved: Saved, vocab: Any, format: Any, tools: Any, callbacks: Callbacks
) -> EventStream:
    of = _OF_LETTER.get(saved.api)
    if of is None or not issubclass(kind, of):
        raise refused(f"it is not that of a {kind.__name__}")
    identity = _identity(of, saved)
    if not saved.told:
        parser = Parser.from_bytes(saved.parser, vocab, format=format, tools=tools)
        given = {name: callback for name, callback in callbacks.items() if callback is not None}
        return _remember(made(kind, saved.options, identity, given), of, parser, saved)
    if kind is not of:
        raise refused(f"it is that of a {of.__name__}, which a subclass cannot go on with")
    if callbacks:
        check_callbacks(callbacks, [])
    parser = parser_of(saved, vocab, format, tools)
    fields, script = _shape_of(kind, saved.options)
    if script is None or saved.dicts or parser.strict:
        raise refused("it has no script that could have told it")
    told, filter = saved.said, None
    if kind is MessagesStream:
        told, filter = _without_filter(fields.get("_text_key", kind._text_key), told)
    stream: EventStream = told_again(kind, parser, fields, identity, script, told, filter, saved.number)
    return stream


def _shape_of(kind: Any, options: bytes) -> tuple[Payload, Script | None]:
    return shape_of(kind, options) if len(options) <= _SMALL else shape_of.__wrapped__(kind, options)


def _identity(kind: type[EventStream], saved: Saved) -> Payload:
    """The response's id, and when it was created."""
    try:
        identity = identity_of(saved, _TIME[kind])
        if identity is None:
            time = json.loads(saved.created)
            if type(time) is not int and (type(time) is not float or not math.isfinite(time)):
                raise refused("its time is out of range")
            identity = {"id": saved.id.decode(), _TIME[kind]: time}
    except ValueError:
        raise refused("its id or its time is out of range") from None
    return identity


# --- what the script has told ---


def _without_filter(text_key: str, state: bytes) -> tuple[bytes, Arguments | None]:
    if state[:1] == b"\0":
        return state[1:], None
    end = 5 + int.from_bytes(state[1:5], "little")
    if state[:1] not in (b"\1", b"\2") or end > len(state):
        raise refused("it is truncated")
    try:
        text = state[5:end].decode()
    except UnicodeDecodeError:
        raise refused("its arguments are not text") from None
    return state[end:], _filter(text_key, state[:1] == b"\2", text)


# --- what Python remembers ---


def _remembered(stream: Any, kind: type[EventStream]) -> bytes:
    stream._catch_up()
    state = _REMEMBERED[kind][0](stream)
    state |= {kind: text for kind, text in zip(_KINDS, stream._kept()) if text}
    return to_json({name: value for name, value in state.items() if value or type(value) is int}).encode()


def _remember(stream: Any, kind: type[EventStream], parser: Parser, saved: Saved) -> EventStream:
    state = State(json_object(saved.said))
    kept = [state.text(name) for name in _KINDS]
    _REMEMBERED[kind][1](stream, state)
    state.end()
    stream._move_to(parser, saved.dicts, saved.number)
    for name, text in zip(_KINDS, kept):
        stream._keep(name, text)
    if isinstance(stream, MessagesStream):
        stream._arguments_through = stream._arguments
    if isinstance(stream, ChatStream) and stream._finish_reason is not None:
        stream._over()
    return stream  # type: ignore[no-any-return]


# --- lists of what is done ---


def _of_kept(done: Kept) -> list[Payload] | int:
    return done if isinstance(done, list) else len(done)


def _restored_list(stream: EventStream, state: State, name: str) -> Kept:
    return state.several(name) if stream._keeps_text else Forgotten(state.count(name))


# --- the ids of calls ---


def _of_ids(stream: Any) -> Payload:
    made: CallIds | None = stream.__dict__.get("_call_ids")
    return {} if made is None else {"given": sorted(made._given - stream._taken), "made": sorted(made._made)}


def _restore_ids(stream: Any, state: State) -> None:
    given, made = state.texts("given"), state.texts("made")
    if given or made:
        stream._call_ids._given |= set(given)
        stream._call_ids._made |= set(made)


# --- Chat Completions ---


def _is_one_of_several(stream: ChatStream) -> bool:
    """Then Python remembers it. It may have ended, unless all have."""
    if stream._all is None:
        return False
    if not stream.ended or all(one.ended for one in stream._all):
        stream._check_movable()
    return True


def _of_chat(stream: ChatStream) -> Payload:
    kept = stream._calls
    calls = [[one["id"], one["function"]["name"], one["function"]["arguments"]] for one in kept]
    several = {"choice": [stream.choice, len(stream._all)], "ended": stream.ended} if stream._all else {}
    return {
        **{"channel": stream._channel, "open": stream._open, "has_text": stream._has_text},
        **{"calls": calls if stream._keeps_text else len(kept), **_of_ids(stream)},
        "texts": {field: "".join(pieces) for field, pieces in stream._texts.items() if pieces},
        "tokens": of_tokens(stream._tokens) if stream._watched else None,
        **{**several, "finish": stream._finish_reason, "stopped": stream._stopped},
    }


def _restore_chat(stream: ChatStream, state: State) -> None:
    ended = state.flag("ended")
    stream.choice, stream._choices = state.take("choice", _is_choice, [0, 1])
    stream._channel, stream._has_text = state.maybe_text("channel"), state.flag("has_text")
    if not stream._keeps_text:
        stream._calls = Forgotten(state.count("calls"))
    for one in state.take("calls", _are_calls, []):
        made = call(one[0], one[1])
        made["function"]["arguments"] = one[2]
        stream._calls.append(made)
    stream._open = state.take("open", lambda value: value is None or value in range(len(stream._calls)))
    texts = state.fields("texts")
    if not all(isinstance(text, str) for text in texts.values()):
        raise refused("texts is out of range")
    stream._texts.update({field: [text if stream._keeps_text else ""] for field, text in texts.items()})
    tokens = state.fields("tokens")
    if tokens:
        restore_tokens(stream._tokens, State(tokens))
        stream._watched = True
    stream._finish_reason, stream._stopped = state.maybe_text("finish"), state.take("stopped", _is_stop)
    if ended != (stream._finish_reason is not None) or (ended and stream._choices == 1):
        raise refused("its end is not one of a choice among several")
    _restore_ids(stream, state)


def _is_choice(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_count, value)) and value[0] < value[1]


def _is_stop(value: Any) -> bool:
    """At what an engine has stopped."""
    return value is None or (
        isinstance(value, dict) and value.keys() == {"stop_reason"} and type(value["stop_reason"]) in (int, str)
    )


def _are_calls(value: Any) -> bool:
    def is_call(one: Any) -> bool:
        return isinstance(one, list) and len(one) == 3 and all(isinstance(part, str) for part in one)

    return isinstance(value, list) and all(map(is_call, value))


# --- Responses ---


def _of_responses(stream: ResponsesStream) -> Payload:
    opened, item = None, stream._open
    if item is not None:
        fields = {name: value for name, value in item.fields.items() if name != "encrypt"}
        opened = {"type": item.type, "id": item.id, "index": item.index, "fields": fields}
    logprobs = None if stream._logprobs is None else of_logprobs(stream)
    return {
        "calls": stream._calls,
        "open": opened,
        "output": _of_kept(stream._output),
        "tokens": logprobs,
        **_of_ids(stream),
    }


def _restore_responses(stream: ResponsesStream, state: State) -> None:
    stream._calls = state.count("calls")
    stream._output = _restored_list(stream, state, "output")
    tokens = state.fields("tokens")
    if tokens:
        restore_logprobs(stream, State(tokens))
    opened = state.fields("open")
    stream._open = _open_item(stream, State(opened)) if opened else None
    _restore_ids(stream, state)


def _open_item(stream: ResponsesStream, state: State) -> Item:
    types: dict[str, type[Item]] = {"message": Message, **CALLS}
    if stream._reasoning is not None:
        types["reasoning"] = stream._reasoning
    item = types[state.take("type", lambda value: value in list(types))]
    fields = state.fields("fields")
    if item.type == "web_search_call" and not isinstance(fields.get("name"), str):
        raise refused("its open item has no name")
    more = stream._reasoning_fields if item.type == "reasoning" else {}
    made = item(state.text("id"), state.count("index"), {**fields, **more})
    state.end()
    return made


# --- Messages ---


def _of_messages(stream: MessagesStream) -> Payload:
    filter = stream._arguments_through
    return {
        **{"calls": stream._calls, "blocks": _of_kept(stream._message["content"]), "blank": list(stream._blank)},
        "block": None if stream._keeps_text else stream._block,
        **{"kind": stream._kind if stream._block is not None else ""},
        **{"filter": None if filter is None else list(filter.state), **_of_ids(stream)},
    }


def _restore_messages(stream: MessagesStream, state: State) -> None:
    stream._calls = state.count("calls")
    stream._message["content"], stream._kind = _restored_list(stream, state, "blocks"), state.text("kind")
    block = state.fields("block")
    stream._blank = tuple(state.texts("blank"))
    filter = state.take("filter", _is_filter)
    if filter is not None:
        stream._arguments = _filter(stream._text_key, *filter)
    if stream._kind:
        stream._block = _open_block(stream, stream._message["content"] if stream._keeps_text else [block])
    _restore_ids(stream, state)


def _is_filter(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and len(value) == 2 and isinstance(value[0], bool) and isinstance(value[1], str)
    )


def _filter(text_key: str, in_text: bool, text: str) -> Arguments:
    """The filter that has let all of this through, or that has read it. In a string, only its end may be missing."""
    made = Arguments.of(text_key, in_text, text)
    try:
        whole = json.loads(made.sent + '"}') if in_text else {}
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        raise refused("its arguments are not the beginning of an object")
    return made


def _open_block(stream: MessagesStream, blocks: list[Payload]) -> Payload:
    field = _TEXT_OF.get(stream._kind)
    if not blocks or stream._kind not in _KINDS or (field is None) != (stream._arguments is not None):
        raise refused("it has an open block and none")
    if field is not None and not isinstance(blocks[-1].get(field), str):
        raise refused("its open block has no text")
    return blocks[-1]


_REMEMBERED: dict[type[EventStream], tuple[Callable[[Any], Payload], Callable[[Any, State], None]]] = {
    ChatStream: (_of_chat, _restore_chat),
    ResponsesStream: (_of_responses, _restore_responses),
    MessagesStream: (_of_messages, _restore_messages),
}
_LETTER: dict[type[EventStream], bytes] = {ChatStream: b"c", ResponsesStream: b"r", MessagesStream: b"m"}
_TIME: dict[type[EventStream], str] = {ChatStream: "created", ResponsesStream: "created_at", MessagesStream: ""}
_OF_LETTER = {letter: kind for kind, letter in _LETTER.items()}
