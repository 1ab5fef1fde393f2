"""Anthropic's Messages, streamed."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ..._native.wire.script import Script
from ..._native.wire.signature import signature as signature_of
from ...checks import check_flag
from ...events import (
    ContentDelta,
    Event,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamEnd,
    ToolCallEnd,
    ToolCallStart,
)
from ...formats import Format
from ...reasons import matched
from ..common.kept import Forgotten
from ..common.payload import Payload, checked, sendable, to_json
from ..common.placeholders import CHANNELS, HOLE, NOTHING, Frames, Parts, call_id_parts, ends_of, idle
from ..common.request import called, shown_calls
from ..common.state import Callbacks, State, kept_of, read_kept, refused
from ..common.stream import Constants, EventStream
from ..common.tool_run import ToolRun
from ..common.usage import MESSAGES, counted
from . import options
from .arguments import TEXT_KEY, Arguments, assembled
from .runs import RunBlocks

__all__ = ["MessagesStream"]

_NOTHING_GIVEN: tuple[Payload, Payload] = ({}, {})
_FIELDS = {"reasoning": "thinking", "content": "text"}  # a kind of delta: its block's type, and the field of the text
_DELTAS = {
    "reasoning": ("thinking_delta", "thinking"),
    "content": ("text_delta", "text"),
    "arguments": ("input_json_delta", "partial_json"),
}
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
    keep_text: False keeps no text that was sent, so memory does not grow with it, and response() raises ValueError. The
    text of an open thinking block is kept as long as its end will sign it.
    text_key: the key for arguments that are not an object, see `Arguments`.
    extra: more fields of the message.
    """

    _identity: ClassVar[int] = 2  # it has no time
    _api = b"m"
    _call_prefix = "toolu"
    _counts = MESSAGES.read, MESSAGES.written
    _thinking = True
    _text_key = TEXT_KEY
    _calls_shown: int | None = None
    _signs = True  # have its blocks of thinking a signature?
    _signature: Callable[[str], str] | None = None  # None: a hash
    _given: tuple[Payload, Payload] = _NOTHING_GIVEN  # more fields, and what of the usage is known at the beginning
    _calls = 0
    _block: Payload | None = None  # the one that is open
    _kind = ""  # of the deltas that it takes
    _arguments: Arguments | None = None
    _blank: tuple[str, ...] = ()  # whitespace that may begin a text block
    _stop_reason: str | None = None
    _stop_sequence: str | None = None

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
        keep_text: bool = True,
        extra: Mapping[str, Any] | None = None,
        vocab: Vocab | None = None,
        tools: object = None,
    ) -> None:
        if tool_choice is not None:
            one = isinstance(tool_choice, Mapping) and tool_choice.get("disable_parallel_tool_use")
            self._calls_shown = shown_calls(tool_choice, parallel=not one)
        self.id, self.model = checked("id", id), checked("model", model)
        if thinking is not True or text_key != TEXT_KEY:
            check_flag("thinking", thinking)
            self._thinking, self._text_key = thinking, checked("text_key", text_key)
        if signature is not None:
            self._signs = signature != ""
            self._signature = called("signature", signature or None)
        if usage is not None or extra:
            self._given = sendable(extra) if extra else {}, counted(usage, MESSAGES) or {}
            known = self._given[1]
            self._prompt_tokens = (
                known.get("input_tokens", 0) if known.keys() <= {"input_tokens", "output_tokens"} else -1
            )
        if call_id is not None or taken != ():
            self._decide_ids(call_id, taken)
        if keep_text is not True:
            check_flag("keep_text", keep_text)
            self._keeps_text = False
            self._forget_texts()

    def _forget_texts(self) -> None:
        self._keep_none("content", *(() if self._signs else ("reasoning",)))

    # --- what is made when it is needed: most messages need it at their end, or never ---

    @cached_property
    def _message(self) -> Payload:
        more, usage = self._given
        message: Payload = {"id": self.id, "type": "message", "role": "assistant", "model": self.model}
        message["content"] = [] if self._keeps_text else Forgotten()
        message |= {"stop_reason": None, "stop_sequence": None, **options.MESSAGE_NULLS}
        message |= {name: more[name] for name in options.MESSAGE_NULLS if name in more}
        message["usage"] = _usage_of(usage)
        return message | more | message  # these first, and as they are

    @property
    def _stem(self) -> str:
        stem = self.id.removeprefix("msg_")
        return stem if stem.isascii() and stem.isalnum() else re.sub("[^a-zA-Z0-9_-]", "_", stem)

    # --- the script ---

    def _opening_parts(self) -> tuple[str, bytes | None]:
        more, usage = self._given
        if more:
            return "", "".join(map(self.framed, self.opening())).encode()
        if self._prompt_tokens < 0:
            return to_json(_usage_of(usage)), None
        read, written = self._prompt_tokens, usage.get("output_tokens", 0)
        return f'{{"input_tokens":{read},"output_tokens":{written},{_NULL_USAGE}', None

    def _constants(self) -> Constants:
        return self.id, "", self._stem, self.model, ""

    def _script(self) -> Script | None:
        strange = self._signature is not None or self.parser.strict or not _NULLS.isdisjoint(self._given[0])
        if type(self) is not MessagesStream or strange:
            return None
        return _script(self._thinking, self._signs, self._calls_shown)

    def _usage_json(self, usage: Payload | None) -> str:
        return to_json(self._last_usage(usage))

    def _catch_up(self) -> None:
        # the script's filter goes on; another one reads here what the first has let through
        events, filter = self._journal()
        self._arguments_through = self._arguments
        self._describe_all(events)
        self._caught_up(filter)
        if self._word_written is not None and self._stop_reason is None:
            self._stop_reason = self._word_written
            for _ in self.closing(counted(self._usage_at_end, MESSAGES)):
                pass

    def _leave_script(self) -> None:
        super()._leave_script()
        if self._arguments is not None:
            self._arguments = self._arguments_through

    def _write_end(self, reason: str | None) -> str:
        self._stop(reason, self._calls_written)
        return ""

    def _signed(self, text: str) -> str:
        return signature_of(self.id, text) if self._signature is None else checked("a signature", self._signature(text))

    def _sign(self, text: str) -> str:
        """text: what was written since somebody asked for the response, and at most the whole block's."""
        told = self._block is not None and self._index == self._items_written - 1
        return self._signed(self._block["thinking"] + text if told and self._block else text)

    def _new_filter(self) -> Arguments:
        return Arguments(self._text_key)

    # --- moving ---

    def _given_options(self) -> tuple[Payload, Callbacks]:
        one: Payload = {"type": "auto", "disable_parallel_tool_use": True}
        given = {
            "model": self.model,
            "usage": self._given[1],
            "thinking": bool(self._thinking),
            "signature": None if self._signs else "",
            "tool_choice": {None: None, 0: "none"}.get(self._calls_shown, one),
            "text_key": self._text_key,
            "keep_text": self._keeps_text,
            "extra": self._given[0],
            "taken": sorted(self._taken),
        }
        return given, {"call_id": self._own_call_id, "signature": self._signature}

    def _state(self) -> Payload:
        filter = self._arguments_through
        return {
            **{"calls": self._calls, "has_text": self._has_text, "blank": list(self._blank)},
            "blocks": kept_of(self._message["content"]),
            "block": None if self._keeps_text else self._block,
            "kind": self._kind if self._block is not None else "",
            "filter": None if filter is None else list(filter.state),
        }

    def _restore(self, state: State) -> None:
        self._calls, self._has_text = state.count("calls"), state.flag("has_text")
        blocks = self._message["content"] = read_kept(state, "blocks", keeps=self._keeps_text)
        self._kind, block = state.text("kind"), state.fields("block")
        self._blank = tuple(state.texts("blank"))
        filter = state.take("filter", _is_filter)
        if filter is not None:
            self._arguments = _filter(self._text_key, *filter)
        if self._kind:
            self._block = self._restored_block([block] if isinstance(blocks, Forgotten) else blocks)

    def _restored_block(self, blocks: list[Payload]) -> Payload:
        field = _FIELDS.get(self._kind)
        if not blocks or self._kind not in _DELTAS or (field is None) != (self._arguments is not None):
            raise refused("it has an open block and none")
        if field is not None and not isinstance(blocks[-1].get(field), str):
            raise refused("its open block has no text")
        return blocks[-1]

    def _go_on(self) -> None:
        self._arguments_through = self._arguments

    # --- payloads ---

    def opening(self) -> Iterable[Payload]:
        return ({"type": "message_start", "message": {**copy.deepcopy(self._message), "content": []}},)

    def delta(self, kind: str, text: str) -> Payload | None:
        if kind == self._kind:
            return self._delta(*_DELTAS[kind], text)
        return {} if kind == "arguments" or (kind == "reasoning" and not self._thinking) else None

    def describe(self, event: Event) -> Iterable[Payload]:
        match event:
            case MessageStart():
                self._has_text = False
            case ReasoningDelta(text=text):
                begun = self._begun(text)
                return () if begun is None else self._begin_text("reasoning", begun)
            case ContentDelta(text=text):
                begun = text if self._blank else self._begun(text)
                return () if begun is None else self._begin_content(begun)
            case ToolCallStart() if self._calls_shown is None or self._calls < self._calls_shown:
                return self._begin_call(event)
            case ToolCallEnd(complete=complete) if self._arguments is not None:
                rest = self._arguments.end(complete)
                return [*([self._delta(*_DELTAS["arguments"], rest)] if rest else ()), *self._close()]
            case MessageEnd():
                return self._close()
            case StreamEnd(reason=reason):
                self._stop(reason, self._calls)
                return self._close()
        return ()

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        self._message["stop_reason"], self._message["stop_sequence"] = self._stop_reason, self._stop_sequence
        usage = self._last_usage(usage)
        self._message["usage"] |= usage
        delta = {key: self._message[key] for key in ("stop_reason", "stop_sequence", "stop_details", "container")}
        yield {"type": "message_delta", "delta": delta, "usage": usage}
        yield {"type": "message_stop"}

    def _last_usage(self, usage: Payload | None) -> Payload:
        counts = {**_usage_of(self._given[1]), **self._counted(usage or {})}
        return {key: counts[key] for key in _CUMULATIVE}

    def _stop(self, reason: str | None, calls: int) -> None:
        stopped = self._stop_sequence is not None
        self._stop_reason = "stop_sequence" if stopped else options.stop_reason(reason, calls)

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
        return [*closed, self._started(block)]

    def _started(self, block: Payload) -> Payload:
        return {"type": "content_block_start", "index": self._index, "content_block": dict(block)}

    def _closed(self, signature: str) -> list[Payload]:
        signed = [self._delta("signature_delta", "signature", signature)] if signature else []
        return [*signed, {"type": "content_block_stop", "index": self._index}]

    def _begin_text(self, kind: str, text: str) -> list[Payload]:
        started = self._begin(kind, dict(_BLOCKS[_FIELDS[kind]]))
        self._has_text = True
        self._keep(kind, text)
        return [*started, self._delta(*_DELTAS[kind], text)]

    def _begin_content(self, text: str) -> list[Payload]:
        """Text blocks of whitespace alone, which clients send back, are refused there: one waits for something else."""
        if text.isspace():
            closed = self._close() if self._block else []
            self._blank = (*self._blank, text)
            return closed
        return self._begin_text("content", "".join([*self._blank, text]))

    def _begin_call(self, event: ToolCallStart) -> list[Payload]:
        id = self._call_ids.take(event.id, self._calls)
        self._calls += 1
        started = self._begin("arguments", options.call(id, event.name))
        self._arguments = self._arguments_through = Arguments(self._text_key)
        return started

    def ran(self, run: ToolRun) -> Iterable[Payload]:
        blocks = self._runs.take(run, len(self._message["content"]))
        return [one for block in blocks for one in (*self._begin("", block), *self._close())]

    @cached_property
    def _runs(self) -> RunBlocks:
        return RunBlocks(self._stem)

    def _close(self) -> list[Payload]:
        self._blank = ()
        if self._block is None:
            return []
        self._settle()
        signature = ""
        if self._kind == "reasoning" and self._signs:
            signature = self._block["signature"] = self._signed(self._block["thinking"])
        closed = self._closed(signature)
        self._kind, self._block = "", None
        self._arguments = self._arguments_through = None
        return closed

    def _settle(self) -> None:
        """Bring the open block up to date."""
        if self._block is not None and self._kind in _FIELDS:
            self._block[_FIELDS[self._kind]] += self._take(self._kind)
        elif self._block is not None and self._arguments_through is not None:
            self._block["input"] = assembled(self._arguments_through.sent)

    def _counted(self, usage: Payload) -> Payload:
        """The usage with the tokens that the parser has counted, unless it has them already."""
        if self.in_text:
            return {"output_tokens": 0, **usage}
        read = self.parser.usage
        details = {"thinking_tokens": read.reasoning, **(usage.get("output_tokens_details") or {})}
        return {"output_tokens": read.total, **usage, "output_tokens_details": details}

    # --- bytes ---

    def finish(self, reason: Any = None, usage: Payload | None = None, *, stop_sequence: str | None = None) -> bytes:
        """The last frames.

        reason: the engine's word.
        usage: the API's object, or another API's.
        stop_sequence: the stop string at which the engine has stopped, if any.
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
        return None if usage is None else counted(usage, MESSAGES)

    def _stopped(self, reason: Any, stop_sequence: str | None, *, dicts: bool) -> Any:
        self._check(dicts)
        stop_sequence = matched(reason) if stop_sequence is None else stop_sequence
        self._stop_sequence = stop_sequence
        if stop_sequence is None:
            return reason
        self._leave_script()
        return None  # to the parser, a stop string is not a stop of the model's own

    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The frame that ends a stream that cannot go on; clients raise it. Empty if it has ended."""
        return self._last_bytes([options.failure(message, type, code)])

    def error_events(self, message: str, *, type: str | None = None, code: str | None = None) -> list[Payload]:
        """The payloads of error()."""
        return self._last_payloads([options.failure(message, type, code)])

    # --- the whole ---

    def response(self) -> Payload:
        """The message as it would be without streaming. Raises ValueError without its text."""
        self._check_kept()
        self._catch_up()
        self._settle()
        return copy.deepcopy(self._message)


class _Placeholders(MessagesStream):
    """One whose payloads have placeholders, for the script."""

    _index = HOLE["i"]  # type: ignore[assignment]


@lru_cache(maxsize=256)
def _script(thinking: bool, signed: bool, shown: int | None) -> Script:
    """Made once for all streams of a shape."""
    stream = _Placeholders(idle(), id=HOLE["a"], model=HOLE["l"], thinking=thinking)
    stream._message["usage"] = HOLE["u"]
    stream._signs, stream._calls_shown = signed, shown
    blocks = {kind: _BLOCKS[field] for kind, field in _FIELDS.items()}
    blocks["arguments"] = options.call(HOLE["d"], HOLE["m"])
    stop = options.stop_reason
    ends = {reason: (stop(reason, 0) or "", stop(reason, 1) or "") for reason in options.USUAL}
    frames: Frames = {}
    for kind, block in blocks.items():
        stream._kind = kind
        for number in range(len(CHANNELS)):
            frames["begin", kind, number] = stream._parts(stream._started(block))
            frames["delta", kind, number] = stream._parts_of(kind) or NOTHING
            closed = stream._parts(*stream._closed(HOLE["g"] if stream._signs and kind == "reasoning" else ""))
            frames["end", kind, number] = frames["cut", kind, number] = closed
            if kind == "reasoning" and not stream._thinking:
                frames["delta", kind, number] = NOTHING
    opening = stream._parts(*stream.opening())
    shown, signed = stream._calls_shown, stream._signs
    more = {**ends_of(_closing(), ends), "call_id": call_id_parts("toolu")}
    return Script(frames, opening, NOTHING, NOTHING, shown=shown, filtered=True, signed=signed, no_blank=True, **more)


def _closing() -> tuple[Parts, Parts]:
    """The last frames, with counts and with a usage."""
    stream = _Placeholders(idle(), id="", model="")
    stream._stop_reason = HOLE["r"]
    details = {"thinking_tokens": HOLE["q"]}
    first, last = stream.closing(
        {"input_tokens": HOLE["x"], "output_tokens": HOLE["p"], "output_tokens_details": details}
    )
    return stream._parts(first, last), stream._parts({**first, "usage": HOLE["u"]}, last)


def _usage_of(known: Payload) -> Payload:
    """A message's usage at its beginning."""
    return {"input_tokens": 0, "output_tokens": 0, **options.USAGE_NULLS, **known}


_NULL_USAGE = to_json(options.USAGE_NULLS)[1:]
_NULLS = options.MESSAGE_NULLS.keys()


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
