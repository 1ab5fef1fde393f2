"""OpenAI's Chat Completions, streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ..._native.wire.frame import Frame
from ..._native.wire.script import Script
from ...checks import check_flag
from ...events import (
    ContentDelta,
    Event,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from ...formats import Format
from ...reasons import matched, normal
from ..common.envelope import unpack
from ..common.kept import Forgotten, Kept
from ..common.payload import Payload, checked, sendable, to_json
from ..common.placeholders import CHANNELS, HOLE, NOTHING, Frames, call_id_parts, cut, ends_of, idle
from ..common.request import shown_calls
from ..common.state import Callbacks, State, is_count, refused
from ..common.stream import Constants, EventStream
from ..common.tokens import Tokens
from ..common.usage import CHAT, counted
from . import options

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ChatStream"]

ReasoningField = Literal["reasoning", "reasoning_content", "both"]

_DONE = b"data: [DONE]\n\n"
_NOTHING: Payload = {}
_HEAD = ("id", "object", "created", "model")
_BLANK_LINE = "\n\n"  # between the texts of two messages in one field: the reader sees a preamble, then an answer


class ChatStream(EventStream):
    """Chat completion chunks of one choice; `several()` makes the streams of more.

    parser: a Parser that has read nothing yet, or a format; then `vocab` and `tools` are for its parser.
    id, model, created (seconds since 1970): fields of every chunk.
    extra: more fields of every chunk, such as `system_fingerprint`.
    reasoning_field: the field for reasoning; None hides reasoning.
    preamble_field: the field for commentary (Harmony); None hides it.
    tool_choice: the request's. "none" hides calls; a named tool makes the finish reason "stop".
    parallel_tool_calls: False shows only the first call.
    call_id: a function from a call's index to its id. It is used if the model gives no id, or repeats one. By default
    the id is derived from the response's id.
    taken: the ids of calls in the request's messages (`call_ids_of`). No call of this response gets one of them.
    include_usage: a last chunk has the usage.
    token_ids: each chunk has the ids of its tokens.
    keep_text: False keeps no text that was sent, so memory does not grow with it, and response() raises ValueError.
    """

    _api = b"c"
    _time = "created"
    _counts = CHAT.read, CHAT.written, "total_tokens"
    choice = 0
    """Its index."""
    _include_usage = False
    _extra = _NOTHING
    _calls_shown: int | None = None
    _named = False  # does tool_choice name a tool?
    _fields: tuple[str, ...] = ("reasoning",)
    _preamble_field: str | None = "content"
    _show_ids = False
    _channel: str | None = None  # of the open message
    _open: int | None = None  # the call whose arguments are shown
    _finish_reason: str | None = None
    _stopped: Payload | None = None  # at what, if the engine gives that
    _usage: Payload | None = None
    _all: list[ChatStream] | None = None  # the request's, in order, if there are several
    _choices = 1  # of the request, in a state

    def __init__(
        self,
        parser: Parser | Format | str = "harmony",
        *,
        id: str,
        model: str,
        created: int,
        reasoning_field: ReasoningField | None = "reasoning",
        preamble_field: str | None = "content",
        tool_choice: str | dict[str, Any] | None = "auto",
        parallel_tool_calls: bool | None = True,
        call_id: Callable[[int], str] | None = None,
        taken: Iterable[str] = (),
        include_usage: bool = False,
        token_ids: bool = False,
        keep_text: bool = True,
        extra: Mapping[str, Any] | None = None,
        vocab: Vocab | None = None,
        tools: object = None,
    ) -> None:
        self.id, self.model = checked("id", id), checked("model", model)
        self.created = created if type(created) is int else options.seconds(created)
        if reasoning_field != "reasoning":
            self._fields = options.reasoning_fields(reasoning_field)
        if preamble_field != "content":
            self._preamble_field = options.checked_preamble(preamble_field)
        if include_usage:
            check_flag("include_usage", include_usage)
            self._include_usage = include_usage
        if tool_choice != "auto" or parallel_tool_calls is not True:
            self._calls_shown = shown_calls(tool_choice, parallel_tool_calls)
            self._named = options.names_a_tool(tool_choice)
        if extra:
            own = ("choices", "usage") if include_usage else ("choices",)
            self._extra = {name: value for name, value in sendable(extra).items() if name not in own}
        if call_id is not None or taken != ():
            self._decide_ids(call_id, taken)
        if token_ids:
            check_flag("token_ids", token_ids)
            self._show_ids, self._watched = True, True
        if keep_text is not True:
            check_flag("keep_text", keep_text)
            self._keeps_text = False
            self._forget_texts()

    # what is made when it is needed: most responses need it at their end, or never
    @cached_property
    def _head(self) -> Payload:
        head = {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model}
        return head | self._extra | head  # these first, and as they are

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(show_ids=self._show_ids, keeps=self._keeps_text)

    @property
    def _stem(self) -> str:
        stem = self.id.removeprefix("chatcmpl-")
        return f"{stem}_{self.choice}" if self.choice else stem

    @cached_property
    def _calls(self) -> Kept:
        return [] if self._keeps_text else Forgotten()

    @cached_property
    def _texts(self) -> dict[str, list[str]]:
        """By field. Of a stream that keeps no text, a field that has had some has one empty text."""
        return {"content": []}

    @classmethod
    def several(cls, parsers: Iterable[Parser], **options: Any) -> list[ChatStream]:
        """A stream for each choice of one request (`n`), with the constructor's options.

        Start them all, the first one first. The last to finish ends the response; the usage and response() are of all.
        """
        streams = [cls(parser, **options) for parser in parsers]
        if len({id(stream.parser) for stream in streams}) < len(streams):
            raise ValueError("each choice needs a parser of its own")
        for choice, stream in enumerate(streams):
            stream.choice, stream._all = choice, streams if len(streams) > 1 else None
        return list(streams)

    @classmethod
    def several_from_bytes(
        cls,
        states: Iterable[bytes],
        vocab: Vocab | None = None,
        *,
        format: str | Format | None = None,
        tools: Any = None,
        key: bytes | None = None,
        **callbacks: Any,
    ) -> list[ChatStream]:
        """The streams of all choices, of what to_bytes() of each gave, in order. The arguments are from_bytes()'s.

        Raises what from_bytes() raises, and ValueError for states that are not those of all choices of a response.
        """
        if isinstance(states, (bytes, bytearray, memoryview)):
            raise TypeError("several_from_bytes() takes a list of states, one of each choice")
        each = [unpack(state, key) for state in states]
        if len({(saved.id, saved.created, saved.options) for saved in each}) > 1:
            raise ValueError("these states are not those of one response")
        streams: list[ChatStream] = [cls._restored(saved, vocab, format, tools, callbacks) for saved in each]
        if [(stream.choice, stream._choices) for stream in streams] != [(at, len(each)) for at in range(len(each))]:
            raise ValueError("these states are not those of all choices of a response, in order")
        if all(stream.ended for stream in streams):
            raise refused("no choice goes on")
        for stream in streams:
            stream._all = streams if len(streams) > 1 else None
        return list(streams)

    @classmethod
    def from_bytes(cls, *state: Any, **options: Any) -> Self:
        stream = super().from_bytes(*state, **options)
        if stream._choices > 1:
            raise ValueError(
                f"this state is of one of {stream._choices} choices: ChatStream.several_from_bytes() takes all"
            )
        return stream

    def _start(self, dicts: bool, /) -> None:
        self._check_turn()
        super()._start(dicts)

    def _check_turn(self) -> None:
        if self.choice and self._streams[0].is_new:
            raise ValueError("clients need choice 0 first: start its stream before the others")

    # --- the script ---

    def _constants(self) -> Constants:
        id, more = self.id, ""
        if self._extra:
            more = "".join(
                f",{to_json(name)}:{to_json(value)}" for name, value in self._extra.items() if name not in _HEAD
            )
        if self.choice == 0:
            return id, str(self.created), id.removeprefix("chatcmpl-"), self.model, more
        self._check_turn()
        return id, str(self.created), self._stem, self.model, more

    def _script(self) -> Script | None:
        strange = self._show_ids or self.parser.strict or self._preamble_field in self._fields
        if type(self) is not ChatStream or strange:
            return None
        usage, alone = self._include_usage, self._all is None
        return _script((self.choice, self._fields, self._preamble_field, usage, self._calls_shown, self._named, alone))

    def _has_usage_frame(self, usage: Payload | None) -> bool:
        return not self._include_usage or not self.in_text or "completion_tokens" in (usage or {})

    def _usage_json(self, usage: Payload | None) -> str:
        return to_json(self._whole_usage(usage or {})) if self._include_usage else ""

    def _write_end(self, reason: str | None) -> str:
        self._finish_reason = options.finish_reason(reason, self._calls_written, self._named)
        return self._finish_reason

    # --- moving ---

    def _check_movable(self) -> None:
        if self._all is None or not self.ended or all(one.ended for one in self._all):
            super()._check_movable()  # one of several choices may have ended

    def _given_options(self) -> tuple[Payload, Callbacks]:
        names = ("reasoning", "reasoning_content", "both", None)
        given = {
            "model": self.model,
            "reasoning_field": next(name for name in names if options.reasoning_fields(name) == self._fields),
            "preamble_field": self._preamble_field,
            "tool_choice": "none" if self._calls_shown == 0 else {"type": "function"} if self._named else "auto",
            "parallel_tool_calls": self._calls_shown != 1,
            "include_usage": self._include_usage,
            "token_ids": self._show_ids,
            "keep_text": self._keeps_text,
            "extra": self._extra,
            "taken": sorted(self._taken),
        }
        return given, {"call_id": self._own_call_id}

    def _state(self) -> Payload:
        calls = [[one["id"], one["function"]["name"], one["function"]["arguments"]] for one in self._calls]
        several = {"choice": [self.choice, len(self._all)], "ended": self.ended} if self._all else {}
        return {
            **{"channel": self._channel, "open": self._open, "has_text": self._has_text},
            "calls": calls if self._keeps_text else len(self._calls),
            "texts": {field: "".join(pieces) for field, pieces in self._texts.items() if pieces},
            "tokens": self._tokens.state() if self._watched else None,
            **{**several, "finish": self._finish_reason, "stopped": self._stopped},
        }

    def _restore(self, state: State) -> None:
        ended = state.flag("ended")
        self.choice, self._choices = state.take("choice", _is_choice, [0, 1])
        self._channel, self._has_text = state.maybe_text("channel"), state.flag("has_text")
        if not self._keeps_text:
            self._calls = Forgotten(state.count("calls"))
        for id, name, arguments in state.take("calls", _are_calls, []):
            call = options.call(id, name)
            call["function"]["arguments"] = arguments
            self._calls.append(call)
        self._open = state.take("open", lambda value: value is None or value in range(len(self._calls)))
        texts = state.fields("texts")
        if not all(isinstance(text, str) for text in texts.values()):
            raise refused("texts is out of range")
        self._texts.update({field: [text if self._keeps_text else ""] for field, text in texts.items()})
        tokens = state.fields("tokens")
        if tokens:
            self._tokens.restore(State(tokens))
            self._watched = True
        self._finish_reason, self._stopped = state.maybe_text("finish"), state.take("stopped", _is_stop)
        if ended != (self._finish_reason is not None) or (ended and self._choices == 1):
            raise refused("its end is not one of a choice among several")

    def _go_on(self) -> None:
        if self._finish_reason is not None:
            self._over()

    # --- payloads ---

    def _chunk(self, delta: Payload, finish_reason: str | None = None) -> Payload:
        choice: Payload = {"index": self.choice, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        if finish_reason is not None:
            choice |= self._stopped or {}
        chunk = {**self._head, "choices": [choice]}
        return {**chunk, "usage": None} if self._include_usage else chunk

    def opening(self) -> Iterable[Payload]:
        yield self._chunk({"role": "assistant", "content": ""})

    def delta(self, kind: str, text: str) -> Payload | None:
        if kind == "arguments":
            if self._open is None:
                return {}
            return self._chunk({"tool_calls": [{"index": self._open, "function": {"arguments": text}}]})
        return self._chunk(dict.fromkeys(fields, text)) if (fields := self._fields_of(kind)) else {}

    def describe(self, event: Event) -> Iterable[Payload]:
        match event:
            case MessageStart(channel=channel):
                self._channel, self._has_text = channel, False
            case MessageEnd():
                self._keep_texts()
            case ToolCallStart():
                return self._open_call(event)
            case ToolCallEnd():
                self._keep_arguments()
                self._open = None
            case StreamEnd(reason=reason):
                self._finish_reason = options.finish_reason(reason, len(self._calls), self._named)
                return () if self._inside else (self._chunk({}, self._finish_reason),)
        return ()  # what is hidden, and what the API has no word for

    def _open_call(self, event: ToolCallStart) -> Iterable[Payload]:
        index = len(self._calls)
        if self._calls_shown is not None and index >= self._calls_shown:
            return ()
        call = self._made_call(self._call_ids.take(event.id, index), event.name)
        self._open = index
        self._calls.append(call)
        return (self._call_chunk(index, call),)

    def _made_call(self, id: str, name: str) -> Payload:
        return options.call(id, name)

    def _call_chunk(self, index: int | str, call: Payload) -> Payload:
        return self._chunk({"tool_calls": [{"index": index, **options.copied(call)}]})

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        if usage is not None:
            for stream in self._streams:
                stream._usage = usage
        whole = self._whole_usage(self._usage)
        if self._ends and self._include_usage and whole is not None:
            yield self._usage_chunk(whole)

    def _usage_chunk(self, usage: Any) -> Payload:
        return {**self._head, "choices": [], "usage": usage}

    # --- texts and calls: what is kept of them, and which field a text goes to ---

    def _fields_of(self, kind: str) -> tuple[str, ...]:
        """Where the text of the open message goes."""
        if kind == "reasoning":
            return self._fields
        field = self._preamble_field if self._channel == "commentary" else "content"
        return () if field is None else (field,)

    def _note_text(self, event: Event) -> None:
        """The open message has text, if the event is one."""
        if isinstance(event, (ReasoningDelta, ContentDelta)):
            self._has_text = True
            if not self._keeps_text:
                self._texts.update({field: [""] for field in self._fields_of(_kind(event))})

    def _parting_fields(self, event: Event) -> list[str]:
        """Of the first text of a message: its fields that have an earlier message's text."""
        if self._has_text or not isinstance(event, (ReasoningDelta, ContentDelta)):
            return []
        return [field for field in self._fields_of(_kind(event)) if self._texts.get(field)]

    def _keep_parted(self, fields: list[str], blank: str) -> None:
        """Two messages' texts have been parted in these fields."""
        for field in fields if self._keeps_text else ():
            self._texts[field].append(blank)

    def _keep_arguments(self) -> None:
        if self._open is not None and isinstance(self._calls, list):
            self._calls[self._open]["function"]["arguments"] += self._take("arguments")

    def _keep_texts(self) -> None:
        """Move the text of the open message to where it belongs."""
        for kind in ("reasoning", "content"):
            text = self._take(kind)
            for field in self._fields_of(kind) if text else ():
                self._texts.setdefault(field, []).append(text)

    # --- the choices ---

    @property
    def _streams(self) -> Sequence[ChatStream]:
        return self._all or (self,)

    @property
    def _ends(self) -> bool:
        """Have all choices?"""
        return all(stream._finish_reason is not None for stream in self._streams)

    # --- bytes and dicts ---

    def framed(self, payload: Payload) -> str:
        return f"data: {to_json(payload)}\n\n"

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        usage = counted(usage, CHAT)
        if any(not stream.ended for stream in self._streams if stream is not self):
            if usage is not None:
                raise ValueError("the usage is of the whole request: give it to the last finish() of its choices")
            return None
        return usage or {}

    def finish(
        self, reason: Any = None, usage: Payload | None = None, *, stop_reason: int | str | None = None
    ) -> bytes:
        """The last frames.

        reason: the engine's word.
        usage: the API's object, or another API's. The parser adds the counts that it has.
        stop_reason: the stop string or token id at which the engine has stopped. A call that a stop string has cut is
        not completed, and the reason is "stop".
        """
        usual = stop_reason is None and (reason is None or type(reason) is str)
        if usual and (plain := self._end_plainly(reason, usage)) is not None:
            return plain
        reason = self._stop_at(reason, stop_reason, dicts=False)
        return super().finish(reason, usage) + (_DONE if self._ends else b"")

    def _end_after(self, frames: bytes) -> bytes:
        return super()._end_after(frames) + _DONE

    def _catch_up(self) -> None:
        super()._catch_up()
        if self._word_written is not None:
            self._finish_reason, self._usage = self._word_written, counted(self._usage_at_end, CHAT) or {}

    def events(
        self,
        tokens: Any = None,
        /,
        *,
        logprobs: Sequence[Payload] | None = None,
        finish: bool = False,
        reason: Any = None,
        usage: Payload | None = None,
        stop_reason: int | str | None = None,
    ) -> list[Payload]:
        """The chunks of start() (no arguments), feed(tokens, logprobs), feed_text(tokens), or finish(reason, usage)."""
        if finish:
            reason = self._stop_at(reason, stop_reason, dicts=True)
        if finish or tokens is None or isinstance(tokens, (str, bytes)) or (logprobs is None and not self._watched):
            return super().events(tokens, finish=finish, reason=reason, usage=usage)
        self._check(True)
        taken = self._taken_in(tokens, logprobs)
        return [chunk for token in taken for chunk in self._payloads(self.parser.feed, token)]

    def _stop_at(self, reason: Any, stop_reason: int | str | None, *, dicts: bool) -> Any:
        """The reason for the parser, to which a stop string is no stop of the model's own."""
        self._check(dicts)
        stop_reason = matched(reason) if stop_reason is None else stop_reason
        self._stopped = {} if stop_reason is None else sendable({"stop_reason": stop_reason})
        if self._stopped:
            self._leave_script()
        at_string = isinstance(stop_reason, str) and stop_reason != "" and normal(reason) == "stop"
        return None if at_string else reason

    def _feed_with(self, ids: Any, logprobs: Sequence[Payload] | None) -> bytes:
        return b"".join(map(self._read, self._taken_in(ids, logprobs)))

    def _taken_in(self, ids: Any, logprobs: Sequence[Payload] | None) -> list[int]:
        """One by one, so that which chunk a token belongs to does not depend on how many come at once."""
        taken = self._listed(ids)
        self._leave_script()
        self._tokens.take_in(self.parser.position, taken, logprobs)
        self._watched = True
        self._no_frames()
        return taken

    def _on_event(self, event: Event) -> bytes | Frame:
        if self._watched or self._parting_fields(event):
            return self._bytes(self._described(event))
        self._note_text(event)
        return super()._on_event(event)

    def _described(self, event: Event) -> Iterable[Payload]:
        fields = self._parting_fields(event)
        self._note_text(event)
        payloads = list(super()._described(event))
        if self._watched:
            self._tokens.attach(payloads, event, hides=isinstance(event, (ReasoningDelta, ContentDelta, ToolCallDelta)))
        self._keep_parted(fields, _BLANK_LINE)
        return [self._parting(fields), *payloads] if fields else payloads

    def _parting(self, fields: Iterable[str]) -> Payload:
        return self._chunk(dict.fromkeys(fields, _BLANK_LINE))

    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The frames that end a stream that cannot go on; clients raise an APIError. Empty if it has ended."""
        frames = self._last_bytes(options.failure(message, type, code))
        self._end_all()
        return frames + _DONE if frames else b""

    def error_events(self, message: str, *, type: str | None = None, code: str | None = None) -> list[Payload]:
        """The same as a dict."""
        made = self._last_payloads(options.failure(message, type, code))
        self._end_all()
        return made

    def _end_all(self) -> None:
        for stream in self._streams:
            stream._over()

    # --- the whole ---

    def response(self) -> Payload:
        """The response as it would be without streaming, with all choices; at any time. ValueError without its text."""
        self._check_kept()
        for stream in self._streams:
            stream._catch_up()
        choices = [stream._whole_choice() for stream in self._streams]
        whole = {**self._head, "object": "chat.completion", "choices": choices}
        return whole | ({} if (usage := self._whole_usage(self._usage)) is None else {"usage": usage})

    def _whole_choice(self) -> Payload:
        self._keep_texts()
        self._keep_arguments()
        texts = {field: "".join(texts) for field, texts in self._texts.items()}
        message: Payload = {"role": "assistant", **texts, "refusal": None}
        if self._calls:
            message["tool_calls"] = [options.copied(call) for call in self._calls]
        choice = {"index": self.choice, "message": message, "logprobs": None, "finish_reason": self._finish_reason}
        return {**choice, **(self._stopped or {}), **self._tokens.joined()}

    def _whole_usage(self, usage: Payload | None) -> Payload | None:
        """The usage, and what the parsers have counted where it has no count; None where nobody has counted the tokens.

        Of text, a parser counts bytes.
        """
        counts = [stream.parser.usage for stream in self._streams if not stream.in_text]
        if usage is None or ("completion_tokens" not in usage and len(counts) < len(self._streams)):
            return None
        whole = dict(usage)
        whole.setdefault("prompt_tokens", 0)
        whole.setdefault("completion_tokens", sum(count.total for count in counts))
        whole.setdefault("total_tokens", whole["prompt_tokens"] + whole["completion_tokens"])
        if counts:
            reasoning = {"reasoning_tokens": sum(count.reasoning for count in counts)}
            whole["completion_tokens_details"] = {**reasoning, **(usage.get("completion_tokens_details") or {})}
        return whole


class _Placeholders(ChatStream):
    """One whose payloads have placeholders, for the script."""

    def framed(self, payload: Payload) -> str:
        return super().framed(payload).replace(f',"{HOLE["h"]}":0', HOLE["h"])


@lru_cache(maxsize=256)
def _script(shape: options.Shape) -> Script:
    """Made once for all streams of a shape."""
    choice, fields, preamble, usage, shown, named, alone = shape
    stream = _Placeholders(
        idle(), id=HOLE["a"], model=HOLE["l"], created=0, preamble_field=preamble, include_usage=usage
    )
    stream._head = {**stream._head, "created": HOLE["c"], HOLE["h"]: 0}
    stream._fields, stream.choice, stream._calls_shown = fields, choice, shown
    done, closing = _DONE.decode(), None
    if alone:
        counts = {"prompt_tokens": HOLE["x"], "completion_tokens": HOLE["p"], "total_tokens": HOLE["y"]}
        counts["completion_tokens_details"] = {"reasoning_tokens": HOLE["q"]}  # type: ignore[assignment]
        last = [stream.framed(stream._usage_chunk(one)) if usage else "" for one in (counts, HOLE["u"])]
        closing = cut(last[0] + done), cut(last[1] + done)
    frames: Frames = {}
    bits: dict[tuple[str, int], int] = {}
    for number, channel in enumerate(CHANNELS):
        stream._channel = channel
        for kind in ("reasoning", "content"):
            frames["delta", kind, number] = stream._parts_of(kind) or NOTHING
            fields = stream._fields_of(kind)
            if fields:
                frames["part", kind, number] = stream._parts(stream._parting(fields))
                bits[kind, number] = 1 if kind == "reasoning" else 2 if fields == ("content",) else 4
    stream._open = HOLE["k"]  # type: ignore[assignment]
    frames["delta", "arguments", 0] = stream._parts_of("arguments") or NOTHING
    frames["begin", "arguments", 0] = stream._parts(stream._call_chunk(HOLE["k"], options.call(HOLE["d"], HOLE["m"])))
    finish = stream._parts(stream._chunk({}, HOLE["r"]))
    opening = stream._parts(*stream.opening())
    more = ends_of(closing, options.ends(named))
    return Script(
        frames, opening, NOTHING, finish, fields=bits, shown=stream._calls_shown, call_id=call_id_parts("call"), **more
    )


def _kind(event: Event) -> str:
    return "reasoning" if isinstance(event, ReasoningDelta) else "content"


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
