"""OpenAI's Chat Completions, streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, Literal

from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
from .._native.wire.frame import Frame
from .._native.wire.script import Script
from ..events import (
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
from ..formats import Format
from ..reasons import matched
from . import chat_options as options
from .chat_texts import ChoiceStream
from .payload import Payload, checked, sendable, to_json
from .request import CallIds, called, shown_calls, taken_ids
from .saved import mover
from .script import HOLE, cut, idle
from .scripts import chat_script
from .stream import Constants
from .tokens import Tokens
from .usage import CHAT, counted

__all__ = ["ChatStream"]

ReasoningField = Literal["reasoning", "reasoning_content", "both"]

_DONE = b"data: [DONE]\n\n"
_NOTHING: Payload = {}
_HEAD = ("id", "object", "created", "model")
_BLANK_LINE = "\n\n"  # between the texts of two messages in one field: the reader sees a preamble, then an answer


class ChatStream(ChoiceStream):
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

    _counts = CHAT.read, CHAT.written, "total_tokens"
    choice = 0
    """Its index."""
    _include_usage = False
    _extra = _NOTHING
    _calls_shown: int | None = None
    _named = False  # does tool_choice name a tool?
    _own_call_id: Callable[[int], str] | None = None
    _taken: frozenset[str] = frozenset()
    _show_ids = False
    _finish_reason: str | None = None
    _stopped: Payload | None = None  # at what, if the engine says
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
            self._include_usage = include_usage
        if tool_choice != "auto" or parallel_tool_calls is not True:
            self._calls_shown = shown_calls(tool_choice, parallel_tool_calls)
            self._named = options.names_a_tool(tool_choice)
        if extra:
            own = ("choices", "usage") if include_usage else ("choices",)
            self._extra = {name: value for name, value in sendable(extra).items() if name not in own}
        if call_id is not None or taken != ():
            self._own_call_id, self._taken, self._asks_ids = called("call_id", call_id), taken_ids(taken), True
        if token_ids:
            self._show_ids, self._watched = True, True
        if not keep_text:
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
    def _call_ids(self) -> CallIds:
        return CallIds(self._own_call_id or partial(options.call_id, self._stem), self._taken)

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
        made: list[ChatStream] = mover().restored_choices(cls, states, vocab, format, tools, key, callbacks)
        return made

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

    def _says_usage(self, usage: Payload | None) -> bool:
        return not self._include_usage or not self.in_text or "completion_tokens" in (usage or {})

    def _usage_told(self, usage: Payload | None) -> str:
        return to_json(options.whole_usage(usage or {}, (self,))) if self._include_usage else ""

    def _end_told(self, reason: str | None) -> str:
        self._finish_reason = options.finish_reason(reason, self._calls_told, self._named)
        return self._finish_reason

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
        call = options.call(self._call_ids.take(event.id, index), event.name)
        return (self._call_chunk(self._shown_call(call), call),)

    def _call_chunk(self, index: int | str, call: Payload) -> Payload:
        return self._chunk({"tool_calls": [{"index": index, **options.copied(call)}]})

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        if usage is not None:
            for stream in self._streams:
                stream._usage = usage
        whole = options.whole_usage(self._usage, self._streams)
        if self._ends and self._include_usage and whole is not None:
            yield self._usage_chunk(whole)

    def _usage_chunk(self, usage: Any) -> Payload:
        return {**self._head, "choices": [], "usage": usage}

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
        stop_reason: the stop string or token id at which the engine has stopped.
        """
        unsaid = stop_reason is None and (reason is None or type(reason) is str)
        if unsaid and (plain := self._end_plainly(reason, usage)) is not None:
            return plain
        self._stop_at(reason, stop_reason, dicts=False)
        return super().finish(reason, usage) + (_DONE if self._ends else b"")

    def _end_after(self, frames: bytes) -> bytes:
        return super()._end_after(frames) + _DONE

    def _catch_up(self) -> None:
        super()._catch_up()
        if self._word_told is not None:
            self._finish_reason, self._usage = self._word_told, counted(self._usage_at_end, CHAT) or {}

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
            self._stop_at(reason, stop_reason, dicts=True)
        if finish or tokens is None or isinstance(tokens, (str, bytes)) or (logprobs is None and not self._watched):
            return super().events(tokens, finish=finish, reason=reason, usage=usage)
        self._check(True)
        taken = self._taken_in(tokens, logprobs)
        return [chunk for token in taken for chunk in self._payloads(self.parser.feed, token)]

    def _stop_at(self, reason: Any, stop_reason: int | str | None, *, dicts: bool) -> None:
        self._check(dicts)
        stop_reason = matched(reason) if stop_reason is None else stop_reason
        self._stopped = {} if stop_reason is None else sendable({"stop_reason": stop_reason})
        if self._stopped:
            self._leave_script()

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
        whole = {**self._head, "object": "chat.completion", "choices": list(map(options.whole_choice, self._streams))}
        return whole | ({} if (usage := options.whole_usage(self._usage, self._streams)) is None else {"usage": usage})


class _Told(ChatStream):
    """One that says what is in every script."""

    def framed(self, payload: Payload) -> str:
        return super().framed(payload).replace(f',"{HOLE["h"]}":0', HOLE["h"])


@lru_cache(maxsize=256)
def _script(shape: options.Shape) -> Script:
    """Made once for all streams of a shape."""
    choice, fields, preamble, usage, shown, named, alone = shape
    told = _Told(idle(), id=HOLE["a"], model=HOLE["l"], created=0, preamble_field=preamble, include_usage=usage)
    told._head = {**told._head, "created": HOLE["c"], HOLE["h"]: 0}
    told._fields, told.choice, told._calls_shown = fields, choice, shown
    done, closing = _DONE.decode(), None
    if alone:
        counts = {"prompt_tokens": HOLE["x"], "completion_tokens": HOLE["p"], "total_tokens": HOLE["y"]}
        counts["completion_tokens_details"] = {"reasoning_tokens": HOLE["q"]}  # type: ignore[assignment]
        last = [told.framed(told._usage_chunk(one)) if usage else "" for one in (counts, HOLE["u"])]
        closing = cut(last[0] + done), cut(last[1] + done)
    return chat_script(told, options.call(HOLE["d"], HOLE["m"]), closing, options.ends(named))
