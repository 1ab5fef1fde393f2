"""OpenAI's Chat Completions, streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import index
from typing import Any, Literal

from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
from .._native.wire.frame import Frame
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
from .payload import Payload, checked, sendable, to_json
from .request import CallIds, called, shown_calls
from .stream import EventStream
from .tokens import Tokens
from .usage import CHAT, counted

__all__ = ["ChatStream"]

ReasoningField = Literal["reasoning", "reasoning_content", "both"]

_DELTAS = (ReasoningDelta, ContentDelta, ToolCallDelta)
_TAKEN = {"", "role", "tool_calls", "function_call", "refusal"}  # fields of a delta that are no text of a preamble
_DONE = b"data: [DONE]\n\n"
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
    """

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
        extra: Mapping[str, Any] | None = None,
        vocab: Vocab | None = None,
        tools: object = None,
    ) -> None:
        self.id, self.model, self.created = checked("id", id), checked("model", model), _seconds(created)
        self.choice = 0
        """Its index."""
        self._fields = _reasoning_fields(reasoning_field)
        if preamble_field is not None and (preamble_field in _TAKEN or not checked("preamble_field", preamble_field)):
            raise ValueError(f"preamble_field is the name of a field for text, or None, not {preamble_field!r}")
        self._preamble_field, self._include_usage = preamble_field, include_usage
        self._calls_shown = shown_calls(tool_choice, parallel_tool_calls)
        kind = tool_choice.get("type") if isinstance(tool_choice, Mapping) else getattr(tool_choice, "type", None)
        self._named = kind in ("function", "custom")
        head = {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model}
        self._head = head | sendable(extra or {}) | head  # these first, and as they are
        self._calls: list[Payload] = []
        stem = self.id.removeprefix("chatcmpl-")
        self._taken = frozenset(taken) if not isinstance(taken, str) else taken
        self._call_ids = CallIds(called("call_id", call_id) or (lambda index: f"call_{stem}_{index}"), self._taken)
        self._channel: str | None = None  # of the open message
        self._has_text = False  # has it?
        self._open: int | None = None  # the call whose arguments are shown
        self._finish_reason: str | None = None
        self._stopped: Payload = {}  # at what, if the engine says
        self._texts: dict[str, list[str]] = {"content": []}
        self._usage: Payload | None = None
        self._all: list[ChatStream] | None = None  # the request's, in order, if there are several
        self._tokens = Tokens(show_ids=token_ids)
        self._watched = token_ids

    @classmethod
    def several(cls, parsers: Iterable[Parser], **options: Any) -> list[ChatStream]:
        """A stream for each choice of one request (`n`), with the constructor's options.

        Start them all, the first one first. The last to finish ends the response; the usage and response() are of all.
        """
        streams = [cls(parser, **options) for parser in parsers]
        if len({id(stream.parser) for stream in streams}) < len(streams):
            raise ValueError("each choice needs a parser of its own")
        for choice, stream in enumerate(streams):
            stream._be_choice(choice, streams, options.get("call_id"))
        return list(streams)

    def _be_choice(self, choice: int, streams: list[ChatStream], call_id: Callable[[int], str] | None) -> None:
        self.choice, self._all = choice, streams
        if choice and call_id is None:
            stem = self.id.removeprefix("chatcmpl-")
            self._call_ids = CallIds(lambda index: f"call_{stem}_{choice}_{index}", self._taken)

    def _start(self, dicts: bool, /) -> None:
        if self.choice and self._streams[0].is_new:
            raise ValueError("clients need choice 0 first: start its stream before the others")
        super()._start(dicts)

    # --- payloads ---

    def _chunk(self, delta: Payload, finish_reason: str | None = None) -> Payload:
        choice: Payload = {"index": self.choice, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        if finish_reason is not None:
            choice |= self._stopped
        chunk = {**self._head, "choices": [choice]}
        return {**chunk, "usage": None} if self._include_usage else chunk

    def opening(self) -> Iterable[Payload]:
        yield self._chunk({"role": "assistant", "content": ""})

    def _fields_of(self, kind: str) -> tuple[str, ...]:
        """Where the text of the open message goes."""
        if kind == "reasoning":
            return self._fields
        field = self._preamble_field if self._channel == "commentary" else "content"
        return () if field is None else (field,)

    def delta(self, kind: str, text: str) -> Payload | None:
        if kind == "arguments":
            if self._open is None:
                return {}
            return self._chunk({"tool_calls": [{"index": self._open, "function": {"arguments": text}}]})
        fields = self._fields_of(kind)
        return self._chunk(dict.fromkeys(fields, text)) if fields else {}

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
                self._finish_reason = self._reason(reason)
                return (self._chunk({}, self._finish_reason),)
        return ()  # what is hidden, and what the API has no word for

    def _open_call(self, call: ToolCallStart) -> Iterable[Payload]:
        index = len(self._calls)
        if self._calls_shown is not None and index >= self._calls_shown:
            return ()
        own = self._call_ids.take(call.id, index)
        self._calls.append({"id": own, "type": "function", "function": {"name": call.name, "arguments": ""}})
        self._open = index
        return (self._chunk({"tool_calls": [{"index": index, **_copy(self._calls[-1])}]}),)

    def _keep_arguments(self) -> None:
        if self._open is not None:
            self._calls[self._open]["function"]["arguments"] += self._take("arguments")

    def _keep_texts(self) -> None:
        """Move the text of the open message to where it belongs."""
        for kind in ("reasoning", "content"):
            text = self._take(kind)
            for field in self._fields_of(kind) if text else ():
                self._texts.setdefault(field, []).append(text)

    def _reason(self, reason: str | None) -> str:
        if reason == "tool_calls" and (not self._calls or self._named):
            return "stop"
        return reason or "stop"

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        if usage is not None:
            for stream in self._streams:
                stream._usage = usage
        whole = self._whole_usage()
        if self._ends and self._include_usage and whole is not None:
            yield {**self._head, "choices": [], "usage": whole}

    @property
    def _streams(self) -> Sequence[ChatStream]:
        return self._all or (self,)

    @property
    def _ends(self) -> bool:
        """Have all choices?"""
        return all(stream._finish_reason is not None for stream in self._streams)

    def _whole_usage(self) -> Payload | None:
        """The usage, and what the parsers have counted where it does not say; None where nobody has counted the tokens.

        Of text, a parser counts bytes.
        """
        usage = self._usage
        streams = [stream for stream in self._streams if not stream.in_text]
        if usage is None or ("completion_tokens" not in usage and len(streams) < len(self._streams)):
            return None
        whole = dict(usage)
        whole.setdefault("prompt_tokens", 0)
        whole.setdefault("completion_tokens", sum(stream.parser.usage.total for stream in streams))
        whole.setdefault("total_tokens", whole["prompt_tokens"] + whole["completion_tokens"])
        if streams:
            reasoning = {"reasoning_tokens": sum(stream.parser.usage.reasoning for stream in streams)}
            whole["completion_tokens_details"] = {**reasoning, **(usage.get("completion_tokens_details") or {})}
        return whole

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
        """The last frames. reason: the engine's word; usage: the API's object, or another API's; what the parser has
        counted is added where it is missing, so `{"prompt_tokens": 12}` is enough. stop_reason: the stop string or
        token id that the engine has stopped at, which the choice then has under this name.
        """
        self._stop_at(reason, stop_reason, dicts=False)
        frames = super().finish(reason, usage)
        return frames + _DONE if self._ends else frames

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

    def _feed_with(self, ids: Any, logprobs: Sequence[Payload] | None) -> bytes:
        return b"".join(map(self._read, self._taken_in(ids, logprobs)))

    def _taken_in(self, ids: Any, logprobs: Sequence[Payload] | None) -> list[int]:
        """One by one, so that which chunk a token belongs to does not depend on how many come at once."""
        taken = self._listed(ids)
        self._tokens.take_in(self.parser.position, taken, logprobs)
        self._watched = True
        self._no_frames()
        return taken

    def _on_event(self, event: Event) -> bytes | Frame:
        if self._watched or self._parting_fields(event):
            return self._bytes(self._described(event))
        self._has_text |= isinstance(event, (ReasoningDelta, ContentDelta))
        return super()._on_event(event)

    def _described(self, event: Event) -> Iterable[Payload]:
        fields = self._parting_fields(event)
        self._has_text |= isinstance(event, (ReasoningDelta, ContentDelta))
        payloads = list(super()._described(event))
        if self._watched:
            self._tokens.attach(payloads, event, hides=isinstance(event, _DELTAS))
        for field in fields:
            self._texts[field].append(_BLANK_LINE)
        return [self._chunk(dict.fromkeys(fields, _BLANK_LINE)), *payloads] if fields else payloads

    def _parting_fields(self, event: Event) -> list[str]:
        """Of the first text of a message: its fields that have an earlier message's text."""
        if self._has_text or not isinstance(event, (ReasoningDelta, ContentDelta)):
            return []
        kind = "reasoning" if isinstance(event, ReasoningDelta) else "content"
        return [field for field in self._fields_of(kind) if self._texts.get(field)]

    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The frames that end a stream that cannot go on; clients raise an APIError. Empty if it has ended."""
        frames = self._last_bytes(_failure(message, type, code))
        self._end_all()
        return frames + _DONE if frames else b""

    def error_events(self, message: str, *, type: str | None = None, code: str | None = None) -> list[Payload]:
        """The same as a dict."""
        made = self._last_payloads(_failure(message, type, code))
        self._end_all()
        return made

    def _end_all(self) -> None:
        for stream in self._streams:
            stream._over()

    # --- the whole ---

    def response(self) -> Payload:
        """The response as it would be without streaming, with all choices; at any time."""
        choices = [stream._whole_choice() for stream in self._streams]
        whole = {**self._head, "object": "chat.completion", "choices": choices}
        usage = self._whole_usage()
        return whole if usage is None else {**whole, "usage": usage}

    def _whole_choice(self) -> Payload:
        self._keep_texts()
        self._keep_arguments()
        texts = {field: "".join(texts) for field, texts in self._texts.items()}
        message: Payload = {"role": "assistant", **texts, "refusal": None}
        if self._calls:
            message["tool_calls"] = [_copy(call) for call in self._calls]
        choice = {"index": self.choice, "message": message, "logprobs": None, "finish_reason": self._finish_reason}
        return {**choice, **self._stopped, **self._tokens.joined()}


def _reasoning_fields(field: str | None) -> tuple[str, ...]:
    if field not in ("reasoning", "reasoning_content", "both", None):
        raise ValueError(f"reasoning_field is 'reasoning', 'reasoning_content', 'both' or None, not {field!r}")
    return () if field is None else ("reasoning", "reasoning_content") if field == "both" else (field,)


def _seconds(created: Any) -> int:
    try:
        return index(created)
    except TypeError:
        kind = created.__class__.__name__
        raise TypeError(f"created is whole seconds since 1970, an int such as int(time.time()), not a {kind}") from None


def _failure(message: str, type: str | None, code: str | None) -> list[Payload]:
    return [{"error": {"message": message, "type": type or "server_error", "param": None, "code": code}}]


def _copy(call: Payload) -> Payload:
    return {**call, "function": dict(call["function"])}
