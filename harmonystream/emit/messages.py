"""Anthropic's Messages, streamed."""

from __future__ import annotations

import copy
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal

from .._native.core.vocab import Vocab
from .._native.stream.parser import Parser
from ..events import (
    ContentDelta,
    Event,
    MessageEnd,
    ReasoningDelta,
    StreamEnd,
    ToolCallEnd,
    ToolCallStart,
)
from ..formats import Format
from ..reasons import matched
from .arguments import TEXT_KEY, Arguments, assembled
from .payload import Payload, checked, sendable
from .request import CallIds, called, shown_calls
from .stream import EventStream
from .usage import MESSAGES, counted

__all__ = ["MessagesStream"]

_STOP_REASONS: dict[str | None, str] = {
    None: "end_turn",
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    **{one: one for one in ("pause_turn", "refusal", "model_context_window_exceeded")},
    "stop sequence": "stop_sequence",
}
_AT_STOP_SEQUENCE = "stop sequence"  # no engine's word; not a normal stop for the parser, so an open call is cut
_FIELDS = {"reasoning": "thinking", "content": "text"}  # a kind of delta: its block's type, and the field of the text
_DELTAS = {
    "reasoning": ("thinking_delta", "thinking"),
    "content": ("text_delta", "text"),
    "arguments": ("input_json_delta", "partial_json"),
}
# What the client's types require of a response, and a server of its own models does not have.
_MESSAGE_NULLS: Payload = {"container": None, "diagnostics": None, "stop_details": None}
_USAGE_NULLS: Payload = dict.fromkeys(
    (
        *("cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens", "inference_geo"),
        *("output_tokens_details", "server_tool_use", "service_tier", "speed"),
    )
)
_BLOCKS: dict[str, Payload] = {
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
    "text": {"type": "text", "text": "", "citations": None},
}
_CUMULATIVE = (  # what clients take from the usage at the end
    *("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    *("output_tokens", "output_tokens_details", "server_tool_use"),
)


class MessagesStream(EventStream):
    """The events of one message.

    parser: a Parser that has read nothing yet, or a format; then `vocab` and `tools` are for its parser.
    id, model: fields of the message.
    usage: the numbers that are known before the first token, `input_tokens` and those of the cache.
    thinking: False hides thinking.
    signature: a function from the text of a thinking block to its signature. By default the signature is a hash of the
    text and the message's id. "": blocks have no signature, and some clients then drop them.
    tool_choice: the request's. "none" hides calls; `disable_parallel_tool_use` in it hides all but the first.
    call_id: a function from a call's index to its id, for formats whose calls have none. By default the id is derived
    from the message's id.
    taken: the ids of calls in the request's messages (`call_ids_of`). No call of this message gets one of them.
    text_key: the key for arguments that are not an object, see `Arguments`.
    extra: more fields of the message.
    """

    def __init__(
        self,
        parser: Parser | Format | str = "harmony",
        *,
        id: str,
        model: str,
        usage: Payload | None = None,
        thinking: bool = True,
        signature: Callable[[str], str] | Literal[""] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        call_id: Callable[[int], str] | None = None,
        taken: Iterable[str] = (),
        text_key: str = TEXT_KEY,
        extra: Mapping[str, Any] | None = None,
        vocab: Vocab | None = None,
        tools: object = None,
    ) -> None:
        one = isinstance(tool_choice, Mapping) and tool_choice.get("disable_parallel_tool_use")
        self._calls_shown = shown_calls(tool_choice, parallel=not one)
        more = sendable(extra or {})
        self.id, self.model = checked("id", id), checked("model", model)
        self._thinking, self._text_key = thinking, text_key
        self._signature = None if signature == "" else called("signature", signature) or _hashing(self.id)
        message: Payload = {"id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, **_MESSAGE_NULLS}
        message |= {name: more[name] for name in _MESSAGE_NULLS if name in more}
        message["usage"] = {"input_tokens": 0, "output_tokens": 0, **_USAGE_NULLS, **(counted(usage, MESSAGES) or {})}
        self._message = message | more | message  # these first, and as they are
        stem = re.sub("[^a-zA-Z0-9_-]", "_", id.removeprefix("msg_"))
        self._call_ids = CallIds(called("call_id", call_id) or (lambda index: f"toolu_{stem}_{index}"), taken)
        self._calls = 0
        self._block: Payload | None = None  # the one that is open
        self._kind = ""  # of the deltas that it takes
        self._arguments: Arguments | None = None
        self._blank: list[str] = []  # whitespace that may begin a text block

    # --- payloads ---

    def opening(self) -> Iterable[Payload]:
        return ({"type": "message_start", "message": self.response()},)

    def delta(self, kind: str, text: str) -> Payload | None:
        if kind == self._kind:
            return self._delta(*_DELTAS[kind], text)
        return {} if kind == "arguments" or (kind == "reasoning" and not self._thinking) else None

    def describe(self, event: Event) -> Iterable[Payload]:
        match event:
            case ReasoningDelta(text=text):
                return self._begin_text("reasoning", text)
            case ContentDelta(text=text):
                return self._begin_content(text)
            case ToolCallStart() if self._calls_shown is None or self._calls < self._calls_shown:
                return self._begin_call(event)
            case ToolCallEnd(complete=complete) if self._arguments is not None:
                rest = self._arguments.end(complete)
                return [*([self._delta(*_DELTAS["arguments"], rest)] if rest else ()), *self._close()]
            case MessageEnd():
                return self._close()
            case StreamEnd(reason=reason):
                reason = "stop" if reason == "tool_calls" and not self._calls else reason
                self._message["stop_reason"] = _STOP_REASONS.get(reason)
                return self._close()
        return ()

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        counts = self._counted(usage or {})
        self._message["usage"] |= {key: counts[key] for key in _CUMULATIVE if key in counts}
        usage = {key: self._message["usage"][key] for key in _CUMULATIVE}
        delta = {key: self._message[key] for key in ("stop_reason", "stop_sequence", "stop_details", "container")}
        yield {"type": "message_delta", "delta": delta, "usage": usage}
        yield {"type": "message_stop"}

    def _delta(self, type: str, field: str, text: str) -> Payload:
        return {"type": "content_block_delta", "index": self._index, "delta": {"type": type, field: text}}

    # --- blocks ---

    @property
    def _index(self) -> int:
        return len(self._message["content"]) - 1

    def _begin(self, kind: str, block: Payload) -> list[Payload]:
        closed = self._close()
        self._kind, self._block = kind, block
        self._message["content"].append(block)
        return [*closed, {"type": "content_block_start", "index": self._index, "content_block": dict(block)}]

    def _begin_text(self, kind: str, text: str) -> list[Payload]:
        started = self._begin(kind, dict(_BLOCKS[_FIELDS[kind]]))
        self._keep(kind, text)
        return [*started, self._delta(*_DELTAS[kind], text)]

    def _begin_content(self, text: str) -> list[Payload]:
        """Text blocks of whitespace alone, which clients send back, are refused there: one waits for something else."""
        if text.isspace():
            closed = self._close() if self._block else []
            self._blank.append(text)
            return closed
        return self._begin_text("content", "".join([*self._blank, text]))

    def _begin_call(self, call: ToolCallStart) -> list[Payload]:
        id = self._call_ids.take(call.id, self._calls)
        self._calls += 1
        block = {"type": "tool_use", "id": id, "name": call.name, "input": {}, "caller": {"type": "direct"}}
        started = self._begin("arguments", block)
        self._arguments = self._arguments_through = Arguments(self._text_key)
        return started

    def _close(self) -> list[Payload]:
        self._blank = []
        if self._block is None:
            return []
        self._settle()
        closed = [{"type": "content_block_stop", "index": self._index}]
        if self._kind == "reasoning" and self._signature is not None:
            signature = checked("a signature", self._signature(self._block["thinking"]))
            self._block["signature"] = signature
            if signature:
                closed.insert(0, self._delta("signature_delta", "signature", signature))
        self._kind, self._block = "", None
        self._arguments = self._arguments_through = None
        return closed

    def _settle(self) -> None:
        """Bring the open block up to date."""
        if self._block is not None and self._kind in _FIELDS:
            self._block[_FIELDS[self._kind]] += self._take(self._kind)
        elif self._block is not None and self._arguments is not None:
            self._block["input"] = assembled(self._arguments.sent)

    def _counted(self, usage: Payload) -> Payload:
        """The usage with the tokens that the parser has counted, unless it has them already."""
        if self.in_text:
            return {"output_tokens": 0, **usage}
        read = self.parser.usage
        details = {"thinking_tokens": read.reasoning, **(usage.get("output_tokens_details") or {})}
        return {"output_tokens": read.total, **usage, "output_tokens_details": details}

    # --- bytes ---

    def finish(self, reason: Any = None, usage: Payload | None = None, *, stop_sequence: str | None = None) -> bytes:
        """The last frames. reason: the engine's word; usage: the API's object, or another API's. stop_sequence: the one
        that the engine has stopped at, if any.
        """
        return super().finish(self._stopped(reason, stop_sequence, dicts=False), usage)

    def events(
        self,
        tokens: Any = None,
        /,
        *,
        finish: bool = False,
        reason: Any = None,
        usage: Payload | None = None,
        stop_sequence: str | None = None,
    ) -> list[Payload]:
        """The payloads of start() (no arguments), feed(tokens) or feed_text(tokens), or of finish(reason, usage)."""
        if finish:
            reason = self._stopped(reason, stop_sequence, dicts=True)
        return super().events(tokens, finish=finish, reason=reason, usage=usage)

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        return counted(usage, MESSAGES)

    def _stopped(self, reason: Any, stop_sequence: str | None, *, dicts: bool) -> Any:
        self._check(dicts)
        stop_sequence = matched(reason) if stop_sequence is None else stop_sequence
        self._message["stop_sequence"] = stop_sequence
        return reason if stop_sequence is None else _AT_STOP_SEQUENCE

    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The frame that ends a stream that cannot go on; clients raise it. Empty if it has ended."""
        return self._last_bytes([_failure(message, type, code)])

    def error_events(self, message: str, *, type: str | None = None, code: str | None = None) -> list[Payload]:
        """The payloads of error()."""
        return self._last_payloads([_failure(message, type, code)])

    # --- the whole ---

    def response(self) -> Payload:
        """The message as it would be without streaming."""
        self._settle()
        return copy.deepcopy(self._message)


def _failure(message: str, type: str | None, code: str | None) -> Payload:
    error: Payload = {"type": type or "api_error", "message": message}
    return {"type": "error", "error": error if code is None else {**error, "details": {"error_code": code}}}


def _hashing(id: str) -> Callable[[str], str]:
    """Signatures that say nothing: without one, clients drop a block or send it back as the user's text."""
    return lambda text: b64encode(sha256(f"{id}\0{text}".encode()).digest()).decode()
