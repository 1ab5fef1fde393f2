"""OpenAI's Chat Completions, streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ..._native.wire.template import Templates
from ...checks import check_flag
from ...formats import Format
from ..common.envelope import unpack
from ..common.payload import Payload, checked, sendable, to_json
from ..common.request import shown_calls
from ..common.state import Callbacks, State, is_count, refused
from ..common.stream import Constants, EventStream
from ..common.tokens import Tokens
from ..common.usage import CHAT, counted
from . import options
from .templates import DONE, Shape, framed, templates_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ChatStream"]

ReasoningField = Literal["reasoning", "reasoning_content", "both"]

_NOTHING: Payload = {}
_HEAD = ("id", "object", "created", "model")


class ChatStream(EventStream):
    """Chat completion chunks of one choice. For more choices, use `several()`.

    Call `start()`, then `feed(ids)` or `feed_text(text)` as output comes, then `finish(reason, usage)`. Each returns
    the SSE frames that are ready, as bytes. `events()` returns dicts instead, and `response()` the whole answer.

    parser: a Parser that has read nothing yet, or a format. With a format, `vocab` and `tools` go to its parser.
    id, model, created (seconds since 1970): fields of every chunk.
    extra: more fields of every chunk, such as `system_fingerprint`.
    reasoning_field: the field for reasoning; None hides reasoning.
    preamble_field: the field for commentary (Harmony); None hides it.
    tool_choice: the request's. "none" hides calls; a named tool makes the finish reason "stop".
    parallel_tool_calls: False shows only the first call.
    call_id: a function that takes a call's index and returns its id. It is used if the model gives no id, or repeats
    one. By default the id is derived from the response's id.
    taken: the ids of calls in the request's messages (`call_ids_of`). No call of this response gets one of them.
    include_usage: True sends the usage in a last chunk.
    token_ids: True sends the ids of its tokens in each chunk.
    keep_text: False forgets text once it is sent. Memory then stays constant, and response() raises ValueError.

    Raises TypeError or ValueError for an option that is not as described, and for a parser that has read something.
    """

    id: str
    model: str
    created: int
    choice: int
    _api = b"c"
    _time = "created"
    _counts = CHAT.read, CHAT.written, "total_tokens"
    choice = 0
    """The index of the choice."""
    _include_usage = False
    _extra = _NOTHING
    _calls_shown: int | None = None
    _named = False  # does tool_choice name a tool?
    _fields: tuple[str, ...] = ("reasoning",)
    _preamble_field: str | None = "content"
    _show_ids = False
    _stopped: Payload = _NOTHING  # the stop string or token id, if the engine gives one
    _usage: Payload | None = None
    _all: list[ChatStream] | None = None  # the streams of all choices, in order, if there are several
    _choices = 1  # how many the request has, after from_bytes()

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

    # These are made on first use, because most responses need them at their end or never.
    @cached_property
    def _head(self) -> Payload:
        head = {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model}
        return head | self._extra | head  # the head comes first, and `extra` cannot change it

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(show_ids=self._show_ids, keeps=self._keeps_text)

    @property
    def _stem(self) -> str:
        stem = self.id.removeprefix("chatcmpl-")
        return f"{stem}_{self.choice}" if self.choice else stem

    @classmethod
    def several(cls, parsers: Iterable[Parser], **options: Any) -> list[ChatStream]:
        """One stream for each choice of a request (`n`). The options are the constructor's.

        Start all of them, the first one first. The last one to finish ends the response. The usage and response() cover
        all choices.
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
        """The streams of all choices, from the states that to_bytes() made, in order. Arguments as in from_bytes().

        Raises what from_bytes() raises, and ValueError unless the states are all choices of one response.
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

    # --- what is sent ---

    def _constants(self) -> Constants:
        id, more = self.id, ""
        if self._extra:
            more = "".join(
                f",{to_json(name)}:{to_json(value)}" for name, value in self._extra.items() if name not in _HEAD
            )
        if self.choice == 0:
            return id, str(self.created), id.removeprefix("chatcmpl-"), self.model, more
        return id, str(self.created), self._stem, self.model, more

    def _templates(self) -> Templates:
        alone, usage = self._all is None and self._choices == 1, self._include_usage
        shape = self.choice, self._fields, self._preamble_field, usage, self._calls_shown, self._named, alone
        return templates_of(Shape(*shape, self._watched))

    def _open_response(self, dicts: bool, fresh: bool = True) -> bytes:
        if self.choice and self._streams[0].is_new:
            raise ValueError("clients need choice 0 first: start its stream before the others")
        return super()._open_response(dicts, fresh)

    def _has_usage_frame(self, usage: Payload | None) -> bool:
        return not self._include_usage or not self.in_text or "completion_tokens" in (usage or {})

    def _usage_json(self, usage: Payload | None) -> str:
        return to_json(self._whole_usage(usage or {})) if self._include_usage else ""

    def _answer_reason(self, reason: str | None, calls: int) -> tuple[str, str]:
        stopped = f",{to_json(self._stopped)[1:-1]}" if self._stopped else ""
        return options.finish_reason(reason, calls, self._named), stopped

    def _last(self, usage: Payload | None) -> bytes:
        if usage is not None:
            for stream in self._streams:
                stream._usage = usage
        if not self._ends:
            return b""
        whole = self._whole_usage(self._usage)
        return DONE if whole is None or not self._include_usage else self._close_with(to_json(whole))

    # --- moving ---

    def _check_movable(self) -> None:
        if self._all is None or not self.ended or all(one.ended for one in self._all):
            super()._check_movable()  # one of several choices may have ended, and can still be moved

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
        several = {"choice": [self.choice, len(self._all)], "ended": self.ended} if self._all else {}
        tokens = self._tokens.state() if self._watched else None
        return {**several, "tokens": tokens, "finish": self._word, "stopped": self._stopped}

    def _restore(self, state: State) -> None:
        ended = state.flag("ended")
        self.choice, self._choices = state.take("choice", _is_choice, [0, 1])
        tokens = state.fields("tokens")
        if tokens:
            self._tokens.restore(State(tokens))
            self._watched = True
        self._word, self._stopped = state.maybe_text("finish"), state.take("stopped", _is_stop, {})
        if ended != (self._word is not None) or (ended and self._choices == 1):
            raise refused("its end is not one of a choice among several")

    def _is_item(self, item: Payload) -> bool:
        if "text" in item:
            fields, text = item.get("fields"), item["text"]
            return item.keys() == {"fields", "text"} and _are_texts(fields) and isinstance(text, str)
        call = item.get("function")
        if not isinstance(call, dict) or call.keys() != {"name", "arguments"} or item.get("type") != "function":
            return False
        return item.keys() == {"id", "type", "function"} and _are_texts([item["id"], *call.values()])

    def _go_on(self) -> None:
        if self._word is not None:
            self._over()

    # --- the choices ---

    @property
    def _streams(self) -> Sequence[ChatStream]:
        return self._all or (self,)

    @property
    def _ends(self) -> bool:
        """Have all choices ended?"""
        return all(stream._word is not None for stream in self._streams)

    # --- bytes and dicts ---

    def framed(self, payload: Payload) -> str:
        return framed(payload)

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

        reason: the finish reason that the engine gave.
        usage: the usage object of this API or of another one. The parser adds the counts that it has.
        stop_reason: the stop string or token id at which the engine stopped. A call that a stop string cut off is not
        completed, and the finish reason is "stop".
        """
        return self._finish(reason, usage, stop_reason)

    def _stopped_at(self, stop: int | str | None, reason: str | None) -> str | None:
        self._stopped = {} if stop is None else sendable({"stop_reason": stop})
        return None if isinstance(stop, str) and stop != "" and reason == "stop" else reason

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
            return self._payloads(self.finish, reason, usage, stop_reason=stop_reason)
        if logprobs is None or isinstance(tokens, (str, bytes)):
            return super().events(tokens)
        return self._payloads(self.feed, tokens, logprobs)

    def _feed_with(self, ids: Any, logprobs: Sequence[Payload] | None) -> bytes:
        """Read the ids one by one, so that a token's chunk does not depend on how many ids arrive at once."""
        taken = self._listed(ids)
        self._tokens.take_in(self.parser.position, taken, logprobs)
        if not self._watched:
            self._watched = True
            self._change_templates(self._templates())
        return b"".join(map(self._read, taken))

    def _answer_tokens(self, start: int, stop: int, last: bool) -> tuple[str, str]:
        return self._tokens.of(start, stop, last=last)

    def _tokens_written(self, delta: bool, used: bool) -> None:
        self._tokens.written(hides=delta, used=used)

    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The frames that end a stream after a failure. Clients raise an APIError. Empty if the stream has ended."""
        frames = self._last_bytes(options.failure(message, type, code))
        for stream in self._streams:
            stream._over()
        return frames + DONE if frames else b""

    def error_events(self, message: str, *, type: str | None = None, code: str | None = None) -> list[Payload]:
        """The payload of error(), in a list. Empty if the stream has ended."""
        return self._failure(self.error(message, type=type, code=code))

    # --- the whole ---

    def response(self) -> Payload:
        """The response as it would be without streaming, with all choices.

        It can be called at any time. Raises ValueError if the text was not kept.
        """
        self._check_kept()
        choices = [stream._whole_choice() for stream in self._streams]
        whole = {**self._head, "object": "chat.completion", "choices": choices}
        plain = self._plain_usage
        usage = self._whole_usage(self._usage if plain == () else counted(plain, CHAT) or {})
        return whole | ({} if usage is None else {"usage": usage})

    def _whole_choice(self) -> Payload:
        texts, calls = {"content": ""}, []
        for item in json.loads(self._items(True)):
            if "text" not in item:
                calls.append(item)
                continue
            for field in item["fields"]:
                texts[field] = texts.get(field, "") + item["text"]
        message: Payload = {"role": "assistant", **texts, "refusal": None}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": self.choice, "message": message, "logprobs": None, "finish_reason": self._word}
        return {**choice, **self._stopped, **(self._tokens.joined() if self._watched else {})}

    def _whole_usage(self, usage: Payload | None) -> Payload | None:
        """The usage, completed with the parsers' counts. None if the tokens were not counted.

        A parser that reads text counts bytes, not tokens.
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


def _is_choice(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_count, value)) and value[0] < value[1]


def _is_stop(value: Any) -> bool:
    """Can an engine have stopped at this: a string or a token id?"""
    return value == {} or (
        isinstance(value, dict) and value.keys() == {"stop_reason"} and type(value["stop_reason"]) in (int, str)
    )


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
