"""What each emitter remembers of its response, as JSON and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from .._native.stream.parser import Parser
from .arguments import Arguments, assembled
from .chat import ChatStream
from .chat_options import call, check_preamble, reasoning_fields
from .items import CALLS, Item, Message, Reasoning, Summary, declared
from .messages import MessagesStream
from .payload import Payload
from .request import CallIds
from .responses import ResponsesStream
from .saved import Saved, State, packed, refused, unpacked
from .script import idle
from .usage import MESSAGES, counted

if TYPE_CHECKING:
    from .stream import EventStream

__all__ = ["restored", "saved"]

Callbacks: TypeAlias = "dict[str, Callable[..., Any] | None]"
_KINDS = ("reasoning", "content", "arguments")
_REASONING: dict[str | None, type[Reasoning] | None] = {None: None, "text": Reasoning, "summary": Summary}
_TEXT_OF = {"reasoning": "thinking", "content": "text"}  # a kind of delta: the field of its block


def saved(stream: EventStream, key: bytes | None) -> bytes:
    """The stream as bytes. Raises ValueError for one that cannot be moved now, or not at all."""
    stream._check_movable()
    api = next((api for api, (kind, _, _) in _APIS.items() if isinstance(stream, kind)), None)
    if api is None:
        raise ValueError(f"a {type(stream).__name__} cannot be moved: its class is of no API here")
    stream._catch_up()
    dicts, number, *kept = stream._moving()
    state = _APIS[api][1](stream)
    state |= {kind: text for kind, text in zip(_KINDS, kept) if text}
    state |= {"hooks": sorted(_hooks(state.pop("callbacks")))}
    dense = {name: value for name, value in state.items() if value or (type(value) is int)}
    return packed(Saved(api, dicts, number, stream.parser.to_bytes(), dense), key)


def restored(
    kind: type[EventStream], data: Any, vocab: Any, format: Any, tools: Any, key: bytes | None, callbacks: Callbacks
) -> EventStream:
    """The stream of these bytes. Raises TypeError or ValueError for bytes that cannot be used."""
    saved = unpacked(data, key)
    of, _, restore = _APIS.get(saved.api, (None, None, None))
    if of is None or restore is None or not issubclass(kind, of) or saved.number < 0:
        raise refused(f"it is not that of a {kind.__name__}")
    state = State(saved.state)
    had = state.texts("hooks")
    if sorted(_hooks(callbacks)) != had:
        raise ValueError(f"this emitter state was made with the callbacks {had}: pass them again, and no others")
    parser = Parser.from_bytes(saved.parser, vocab, format=format, tools=tools)
    kept = [state.text(name) for name in _KINDS]
    stream: EventStream = restore(kind, state, callbacks)
    state.end()
    stream._move_to(parser, saved.dicts, saved.number)
    for name, text in zip(_KINDS, kept):
        stream._keep(name, text)
    if isinstance(stream, MessagesStream):
        stream._arguments_through = stream._arguments
    return stream


def _made(kind: Any, state: State, callbacks: Callbacks, **options: Any) -> Any:
    """A new stream with these options, and those that every API has."""
    named = {"id": state.text("id"), "model": state.text("model"), "taken": state.texts("taken")}
    return kind(idle(), **named, **options, **callbacks)


def _hooks(callbacks: Callbacks) -> list[str]:
    return [name for name, callback in callbacks.items() if callback is not None]


# --- the ids of calls ---


def _of_ids(stream: Any) -> Payload:
    made: CallIds | None = stream.__dict__.get("_call_ids")
    ids = {"taken": sorted(stream._taken)}
    return ids if made is None else {**ids, "given": sorted(made._given - stream._taken), "made": sorted(made._made)}


def _restore_ids(stream: Any, state: State) -> None:
    given, made = state.texts("given"), state.texts("made")
    if given or made:
        stream._call_ids._given |= set(given)
        stream._call_ids._made |= set(made)


# --- Chat Completions ---


def _of_chat(stream: ChatStream) -> Payload:
    if stream._watched:
        raise ValueError("a stream that sends token ids or logprobs cannot be moved: it waits for their events")
    if stream._all is not None:
        raise ValueError("a stream of several choices cannot be moved: its end depends on the others'")
    texts = {field: text for field, pieces in stream._texts.items() if (text := "".join(pieces))}
    calls = [[one["id"], one["function"]["name"], one["function"]["arguments"]] for one in stream._calls]
    return {
        **{"id": stream.id, "model": stream.model, "created": stream.created, "fields": "+".join(stream._fields)},
        **{"preamble": stream._preamble_field, "usage": stream._include_usage, "shown": stream._calls_shown},
        **{"named": stream._named, "extra": stream._extra, "channel": stream._channel, "open": stream._open},
        **{"has_text": stream._has_text, "calls": calls, "texts": texts},
        **{"callbacks": {"call_id": stream._call_id}, **_of_ids(stream)},
    }


def _restore_chat(kind: type[ChatStream], state: State, callbacks: Callbacks) -> ChatStream:
    created = state.take("created", lambda value: type(value) is int)
    stream: ChatStream = _made(kind, state, callbacks, created=created)
    fields = {"+".join(reasoning_fields(name)): name for name in ("reasoning", "reasoning_content", "both", None)}
    stream._fields = reasoning_fields(fields[state.take("fields", lambda value: value in list(fields), "")])
    stream._preamble_field = state.maybe_text("preamble")
    check_preamble(stream._preamble_field)
    stream._include_usage, stream._calls_shown = state.flag("usage"), state.maybe_count("shown")
    stream._named, stream._extra = state.flag("named"), state.fields("extra")
    stream._channel, stream._has_text = state.maybe_text("channel"), state.flag("has_text")
    for one in state.take("calls", _are_calls, []):
        made = call(one[0], one[1])
        made["function"]["arguments"] = one[2]
        stream._calls.append(made)
    stream._open = state.take("open", lambda value: value is None or value in range(len(stream._calls)))
    texts = state.fields("texts")
    if not all(isinstance(text, str) for text in texts.values()):
        raise refused("texts is out of range")
    stream._texts.update({field: [text] for field, text in texts.items()})
    _restore_ids(stream, state)
    return stream


def _are_calls(value: Any) -> bool:
    def is_call(one: Any) -> bool:
        return isinstance(one, list) and len(one) == 3 and all(isinstance(part, str) for part in one)

    return isinstance(value, list) and all(map(is_call, value))


# --- Responses ---


def _of_responses(stream: ResponsesStream) -> Payload:
    reasoning = next(name for name, item in _REASONING.items() if item is stream._reasoning)
    opened, item = None, stream._open
    if item is not None:
        fields = {name: value for name, value in item.fields.items() if name != "encrypt"}
        opened = {"type": item.type, "id": item.id, "index": item.index, "fields": fields}
    encrypt = stream._reasoning_fields.get("encrypt")
    callbacks = {"item_id": stream._own_item_id, "call_id": stream._own_call_id, "item_type": stream._item_type}
    return {
        **{"id": stream.id, "model": stream.model, "created": stream.created_at, "items": reasoning},
        **{"container": stream._container_id, "echoed": stream._said[0], "extra": stream._said[1]},
        **{"shown": stream._calls_shown, "calls": stream._calls, "open": opened, "output": stream._output},
        **{"callbacks": {**callbacks, "encrypt": encrypt}, **_of_ids(stream)},
    }


def _restore_responses(kind: type[ResponsesStream], state: State, callbacks: Callbacks) -> ResponsesStream:
    created = state.take("created", lambda value: type(value) in (int, float))
    encrypt = callbacks.get("encrypt")
    container = state.text("container")
    stream: ResponsesStream = _made(kind, state, callbacks, created_at=created, container_id=container)
    stream._reasoning = _REASONING[state.take("items", lambda value: value in list(_REASONING))]
    stream._reasoning_fields = {} if encrypt is None else {"encrypt": encrypt}
    stream._said = state.fields("echoed"), state.fields("extra")
    stream._tools = declared(stream._said[0].get("tools"))
    stream._calls_shown, stream._calls = state.maybe_count("shown"), state.count("calls")
    stream._output.extend(state.several("output"))
    opened = state.fields("open")
    stream._open = _open_item(stream, State(opened)) if opened else None
    _restore_ids(stream, state)
    return stream


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
        **{"id": stream.id, "model": stream.model, "thinking": bool(stream._thinking), "text_key": stream._text_key},
        **{"signs": stream._signs, "extra": stream._given[0], "usage": stream._given[1]},
        **{"shown": stream._calls_shown, "calls": stream._calls, "blocks": stream._message["content"]},
        **{"kind": stream._kind if stream._block is not None else "", "blank": list(stream._blank)},
        **{"filter": None if filter is None else list(filter.state)},
        **{"callbacks": {"call_id": stream._call_id, "signature": stream._signature}, **_of_ids(stream)},
    }


def _restore_messages(kind: type[MessagesStream], state: State, callbacks: Callbacks) -> MessagesStream:
    thinking, text_key = state.flag("thinking"), state.text("text_key")
    stream: MessagesStream = _made(kind, state, callbacks, thinking=thinking, text_key=text_key)
    stream._signs = state.flag("signs")
    stream._given = state.fields("extra"), counted(state.fields("usage"), MESSAGES) or {}
    if not isinstance(stream._given[1].get("output_tokens_details", {}), dict):
        raise refused("usage is out of range")
    stream._calls_shown, stream._calls = state.maybe_count("shown"), state.count("calls")
    stream._message["content"], stream._kind = state.several("blocks"), state.text("kind")
    stream._blank = tuple(state.texts("blank"))
    filter = state.take("filter", _is_filter)
    if filter is not None:
        stream._arguments = _filter(stream._text_key, *filter)
    if stream._kind:
        stream._block = _open_block(stream)
    _restore_ids(stream, state)
    return stream


def _is_filter(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and len(value) == 2 and isinstance(value[0], bool) and isinstance(value[1], str)
    )


def _filter(text_key: str, in_text: bool, text: str) -> Arguments:
    """The filter that has let all of this through, or that has read it."""
    made = Arguments.of(text_key, in_text, text)
    try:
        assembled(made.sent)
    except (ValueError, IndexError, RecursionError):
        raise refused("its arguments are not the beginning of an object") from None
    return made


def _open_block(stream: MessagesStream) -> Payload:
    blocks: list[Payload] = stream._message["content"]
    field = _TEXT_OF.get(stream._kind)
    if not blocks or stream._kind not in _KINDS or (field is None) != (stream._arguments is not None):
        raise refused("it has an open block and none")
    if field is not None and not isinstance(blocks[-1].get(field), str):
        raise refused("its open block has no text")
    return blocks[-1]


_APIS: dict[str, tuple[Any, Callable[..., Payload], Callable[..., Any]]] = {
    "c": (ChatStream, _of_chat, _restore_chat),
    "r": (ResponsesStream, _of_responses, _restore_responses),
    "m": (MessagesStream, _of_messages, _restore_messages),
}
