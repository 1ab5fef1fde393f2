"""Anthropic's Messages, streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Literal

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ..._native.wire.signature import signature as signature_of
from ..._native.wire.template import Templates
from ...checks import check_flag
from ...formats import Format
from ..common.payload import Payload, checked, sendable, to_json
from ..common.request import called, shown_calls
from ..common.state import Callbacks, State
from ..common.stream import Constants, EventStream
from ..common.tool_run import ToolRun
from ..common.usage import MESSAGES, counted
from . import options
from .arguments import TEXT_KEY, assembled
from .runs import RunBlocks
from .templates import beside, templates_of

__all__ = ["MessagesStream"]

_NOTHING_GIVEN: tuple[Payload, Payload] = ({}, {})
_CUMULATIVE = (  # counts that clients read from the usage at the end
    *("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    *("output_tokens", "output_tokens_details", "server_tool_use"),
)


class MessagesStream(EventStream):
    """The events of one message.

    Call `start()`, then `feed(ids)` or `feed_text(text)` as output comes, then `finish(reason, usage)`. Each returns
    the SSE frames that are ready, as bytes. `events()` returns dicts instead, and `response()` the whole answer.

    parser: a Parser that has read nothing yet, or a format. With a format, `vocab` and `tools` go to its parser.
    id, model: fields of the message.
    usage: the counts that are known before the first token, `input_tokens` and those of the cache.
    thinking: False hides thinking.
    signature: a function that takes the text of a thinking block and returns its signature. By default the signature is
    a hash of the text and the message's id. With "", blocks have no signature, and some clients then drop them.
    tool_choice: the request's. "none" hides calls; `disable_parallel_tool_use` in it hides all but the first.
    call_id: a function that takes a call's index and returns its id, for formats whose calls have none. By default the
    id is derived from the message's id.
    taken: the ids of calls in the request's messages (`call_ids_of`). No call of this message gets one of them.
    keep_text: False forgets text once it is sent. Memory then stays constant, and response() raises ValueError. The
    text of an open thinking block is kept if its end will sign it.
    text_key: the key for arguments that are not an object, see `Arguments`.
    extra: more fields of the message.

    Raises TypeError or ValueError for an option that is not as described, and for a parser that has read something.
    """

    _identity: ClassVar[int] = 2  # there is no time
    id: str
    model: str
    _api = b"m"
    _call_prefix = "toolu"
    _counts = MESSAGES.read, MESSAGES.written
    _thinking = True
    _omits = False  # does thinking have only its signature?
    _text_key = TEXT_KEY
    _calls_shown: int | None = None
    _signs = True  # do thinking blocks have a signature?
    _signature: Callable[[str], str] | None = None  # None: a hash
    _given: tuple[Payload, Payload] = _NOTHING_GIVEN  # more fields, and the usage that is known at the beginning
    _stop_sequence: str | None = None
    _usage: Payload | None = None

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

    @property
    def _stem(self) -> str:
        stem = self.id.removeprefix("msg_")
        return stem if stem.isascii() and stem.isalnum() else re.sub("[^a-zA-Z0-9_-]", "_", stem)

    # --- what is sent ---

    def _opening_usage(self) -> str:
        usage = self._given[1]
        if self._prompt_tokens < 0:
            return to_json(_usage_of(usage))
        read, written = self._prompt_tokens, usage.get("output_tokens", 0)
        return f'{{"input_tokens":{read},"output_tokens":{written},{_NULL_USAGE}'

    def _constants(self) -> Constants:
        more = {name: value for name, value in self._given[0].items() if name not in _OWN} if self._given[0] else {}
        return self.id, "", self._stem, self.model, f",{to_json(more)[1:-1]}" if more else ""

    def _templates(self) -> Templates:
        seal = "" if not self._signs else "hash" if self._signature is None else "asked"
        given = self._given[0]
        given = {} if _NULLS.isdisjoint(given) else {name: given[name] for name in _NULLS & given.keys()}
        thinking = "" if not self._thinking else "omitted" if self._omits else "shown"
        return templates_of(thinking, seal, self._calls_shown, to_json(given) if given else "{}")

    def _answer_end(self, kind: str, text: str, name: str) -> tuple[str, str, str]:
        signature = signature_of(self.id, text) if self._signature is None else self._signature(text)
        return to_json(checked("a signature", signature))[1:-1], "", ""

    def _answer_reason(self, reason: str | None, calls: int) -> tuple[str, str]:
        word = options.stop_reason(reason, calls) if self._stop_sequence is None else "stop_sequence"
        return word or "", beside(word, self._stop_sequence, self._given[0])

    def _usage_json(self, usage: Payload | None) -> str:
        self._usage = self._last_usage(usage)
        return to_json(self._usage)

    def _last_usage(self, usage: Payload | None) -> Payload:
        counts = {**_usage_of(self._given[1]), **self._counted(usage or {})}
        return {key: counts[key] for key in _CUMULATIVE}

    def _counted(self, usage: Payload) -> Payload:
        """The usage with the parser's counts, where it has none of its own."""
        if self.in_text:
            return {"output_tokens": 0, **usage}
        read = self.parser.usage
        details = {"thinking_tokens": read.reasoning, **(usage.get("output_tokens_details") or {})}
        return {"output_tokens": read.total, **usage, "output_tokens_details": details}

    def _ran(self, run: ToolRun) -> bytes:
        frames: bytes = self._end_open(True)
        index = self._items_so_far
        blocks = self._runs.take(run, index)
        kept = [*json.loads(self._items()), *blocks]
        self._put_items(to_json(kept), len(blocks))
        for at, block in enumerate(blocks, index):
            started = {"type": "content_block_start", "index": at, "content_block": block}
            frames += self._bytes((started, {"type": "content_block_stop", "index": at}))
        return frames

    @cached_property
    def _runs(self) -> RunBlocks:
        return RunBlocks(self._stem)

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
        return {}

    def _restore(self, state: State) -> None:
        pass

    def _is_item(self, item: Payload) -> bool:
        return isinstance(item.get("type"), str) and (item["type"] != "tool_use" or _is_partial(item.get("input")))

    # --- bytes ---

    def finish(self, reason: Any = None, usage: Payload | None = None, *, stop_sequence: str | None = None) -> bytes:
        """The last frames.

        reason: the finish reason that the engine gave.
        usage: the usage object of this API or of another one.
        stop_sequence: the stop string at which the engine stopped, if any.
        """
        return self._finish(reason, usage, stop_sequence)

    def _stopped_at(self, stop: str | None, reason: str | None) -> str | None:
        self._stop_sequence = stop
        return reason if stop is None else None

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
            return self._payloads(self.finish, reason, usage, stop_sequence=stop_sequence)
        return super().events(tokens)

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        return None if usage is None else counted(usage, MESSAGES)

    def error(self, message: str, *, type: str | None = None, code: str | None = None) -> bytes:
        """The frame that ends a stream after a failure. Clients raise it as an error. Empty if the stream has ended."""
        return self._last_bytes(options.failure(message, type, code))

    def error_events(self, message: str, *, type: str | None = None, code: str | None = None) -> list[Payload]:
        """The payloads of error()."""
        return self._failure(self.error(message, type=type, code=code))

    # --- the whole ---

    def response(self) -> Payload:
        """The message as it would be without streaming. Raises ValueError if the text was not kept."""
        self._check_kept()
        more: Payload
        more, usage = json.loads(to_json(self._given))
        message: Payload = {"id": self.id, "type": "message", "role": "assistant", "model": self.model}
        message["content"] = content = json.loads(self._items(True))
        for block in content:
            if block["type"] == "tool_use":
                block["input"] = assembled(block["input"])
        message |= {"stop_reason": self._word or None, "stop_sequence": self._stop_sequence, **options.nulls(more)}
        message["usage"] = _usage_of(usage)
        if (plain := self._plain_usage) != ():
            message["usage"] |= self._last_usage(counted(plain, MESSAGES))
        elif self._usage is not None:
            message["usage"] |= self._usage
        return message | more | message  # these fields come first, and `extra` cannot change them


def _is_partial(arguments: Any) -> bool:
    """Could this be the beginning of a call's arguments, as they are sent?"""
    try:
        return isinstance(arguments, str) and isinstance(assembled(arguments), dict)
    except (ValueError, RecursionError, IndexError):
        return False


def _usage_of(known: Payload) -> Payload:
    """A message's usage at its beginning."""
    return {"input_tokens": 0, "output_tokens": 0, **options.USAGE_NULLS, **known}


_NULL_USAGE = to_json(options.USAGE_NULLS)[1:]
_NULLS = options.MESSAGE_NULLS.keys()


_OWN = {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage", *_NULLS}
