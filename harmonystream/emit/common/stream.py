"""The common part of the emitters: what is asked of one, and each payload as bytes or as a dict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast, get_args

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ..._native.wire.sse import SseWriter
from ..._native.wire.template import Templates
from ...events import Event, MessageEnd, StreamEnd, ToolCallStart
from ...formats import Format, HeaderFormat
from ...reasons import normal
from .envelope import Saved, pack, unpack
from .payload import Payload, to_json
from .placeholders import idle
from .request import CallIds, called, taken_ids
from .state import Callbacks, State, filter_of, json_object, options_json, read_options, refused, time_of, writing_of
from .tool_run import ToolRun
from .usage import counted

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Constants", "EventStream"]

Constants: TypeAlias = "tuple[str, str, str, str, str | None]"
Call: TypeAlias = "tuple[int, str, str, str, str, Any]"

_EVENTS: tuple[type, ...] = get_args(Event)
_USUAL: dict[type | None, Templates] = {}


class EventStream(SseWriter):
    """Streams one response in an API's form. A subclass has the templates of its frames, and answers what they ask.

    `start`, `feed`, `feed_text` and `finish` return whole SSE frames as bytes; `events` returns their payloads as
    dicts. Call start() first, and finish() or error() last, each once. Do not mix bytes and dicts in one response. Any
    other order raises ValueError, and so does a parser that has already read something.

    If a callback or a strict parser raises, the frames of the earlier events are not lost: error() returns them. One
    thread may use a stream at a time.
    """

    numbered: ClassVar[str | None] = None
    """The field that numbers the payloads, if the API has one."""
    _identity: ClassVar[int] = 3  # attributes of a stream whose options are all as usual: id, model, created
    _counts: ClassVar[tuple[str, ...]]
    """The API's names of the tokens of the prompt, of the response, and of both."""
    _call_prefix: ClassVar[str] = "call"  # of the ids of calls
    _api: ClassVar[bytes]  # of its states: a letter
    _time: ClassVar[str] = ""  # the field that has the time, if the API has one
    _time_types: ClassVar[tuple[type, ...]] = (int,)
    id: str
    _own_call_id: Callable[[int], str] | None = None
    _taken: frozenset[str] = frozenset()
    _prompt_tokens = 0
    """What is known of them at the beginning. -1: more than that is known of the usage."""
    _asked = 0  # what is asked of Python: see SseWriter._asks()
    _takes_events = False  # are its events those of other parsers?
    _ends_oddly = False  # is more said at its end than usual?
    _options: bytes | None = None  # of its state
    _keeps_text = True
    _ends_whole = False  # does its last frame repeat the text, which is not kept?

    # --- what an API defines ---

    def _templates(self) -> Templates:
        """All that the API sends."""
        raise NotImplementedError

    def _constants(self) -> Constants:
        """What is constant in this response: its id, its time, the stem of ids, the model, its head."""
        raise NotImplementedError

    def _opening_usage(self) -> str:
        """The usage that the first frames have, as JSON."""
        return ""

    def _answer_call(self, event: ToolCallStart, index: int, item: int) -> Call:
        """Of a call that begins: the variant of its item, its name, its id, more fields of it as JSON, its item's id,
        and what its arguments pass: an object with feed() and finish(), or None.
        """
        return 0, event.name, self._call_ids.decide(event.id, index), "", "", None

    def _answer_item(self, kind: str, item: int) -> str:
        """The id of an item of text."""
        raise NotImplementedError

    def _answer_end(self, kind: str, text: str, name: str) -> tuple[str, str, str]:
        """Of an item that ends: its seal, and the logprobs of its text, as JSON."""
        raise NotImplementedError

    def _answer_tokens(self, start: int, stop: int, last: bool) -> tuple[str, str]:
        """The logprobs and the ids of these tokens, as JSON. last: of the stream's end."""
        raise NotImplementedError

    def _tokens_written(self, delta: bool, used: bool) -> None:
        """The record of these tokens has been written. used: with them. delta: was it one?"""
        raise NotImplementedError

    def _feed_with(self, ids: Any, logprobs: Any) -> bytes:
        raise TypeError(f"{type(self).__name__}.feed() takes no logprobs")

    def _answer_reason(self, reason: str | None, calls: int) -> tuple[str, str]:
        """The API's word for the reason of the end, and what is said beside it, as JSON."""
        raise NotImplementedError

    def _usage_json(self, usage: Payload | None) -> str:
        """The usage of the last frames, as JSON. The parser has ended. usage: as checked_usage() gives it."""
        raise NotImplementedError

    def _has_usage_frame(self, usage: Payload | None) -> bool:
        """Have the last frames a place for this usage?"""
        return True

    def _last(self, usage: Payload | None) -> bytes:
        """The last frames, after the parser's end."""
        frames: bytes = self._close_with(self._usage_json(usage))
        return frames

    def framed(self, payload: Payload) -> str:
        """One payload as an SSE frame."""
        return f"event: {payload['type']}\ndata: {to_json(payload)}\n\n"

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        """The usage in the API's words."""
        return counted(usage)

    def _forget_texts(self) -> None:
        """Keep no text that has been sent and is not sent again."""
        self._keep_none("reasoning", "content", "arguments")

    def _check_kept(self) -> None:
        """Raises ValueError if there is no text for response()."""
        if not self._keeps_text:
            raise ValueError("this stream was made with keep_text=False: it has no response(), only what it has sent")

    def _check_end(self) -> None:
        if self._ends_whole:
            raise ValueError("the API's last event has the whole text, which keep_text=False drops: end with flush()")

    def _ran(self, run: ToolRun) -> bytes:
        """The frames for a call that the server runs, or has run; by default there are none."""
        return b""

    # --- the ids of calls ---

    @property
    def _stem(self) -> str:
        """The part of the response's id that is in the ids of its calls."""
        raise NotImplementedError

    def _decide_ids(self, call_id: Callable[[int], str] | None, taken: Iterable[str]) -> None:
        """Take the caller's wishes for the ids of calls."""
        self._own_call_id, self._taken = called("call_id", call_id), taken_ids(taken)
        self._asked |= self._asks(True, False, False)

    @cached_property
    def _call_ids(self) -> CallIds:
        return CallIds(self._own_call_id or f"{self._call_prefix}_{self._stem}_{{}}".format, self._taken)

    # --- bytes ---

    def start(self) -> bytes:
        """The frames before the first token."""
        return self._open_response(False)

    def _open_response(self, dicts: bool, fresh: bool = True) -> bytes:
        usage = self._opening_usage()
        frames: bytes = self._begin(dicts, self._shared(), self._constants(), self._asked, usage, fresh)
        return frames

    def _shared(self) -> Templates:
        """The templates, without a look at the options if they are all as usual."""
        usual = type(self) if len(self.__dict__) == self._identity else None
        templates = _USUAL.get(usual)
        if templates is None:
            templates = self._templates()
            if usual is not None:
                _USUAL[usual] = templates
        return templates

    def tell(self, events: Iterable[Event | ToolRun]) -> bytes:
        """The frames of events that other parsers have made, such as those of `agent_loop`, and of calls that run here.

        The stream's own parser has no part in them. So finish() needs the usage and the last parser's reason. What ends
        a message because its parser's stream ends comes in one call with the `StreamEnd`, which itself is not said.

        Raises TypeError for what is neither an event nor a `ToolRun`, and ValueError before start() and after the end.
        """
        self._check(False)
        events = list(events)
        for event in events:
            if not isinstance(event, (*_EVENTS, ToolRun)):
                raise TypeError(f"tell() takes events and ToolRuns, not {type(event).__name__}")
        self._takes_events = True
        ends = [event for event in events if isinstance(event, StreamEnd)]
        if ends:
            self._prepare_end(ends[-1].reason)
        frames: list[bytes] = []
        waiting: list[Event] = []
        for event in events:
            if isinstance(event, ToolRun):
                frames += (self._write_events(waiting, None), self._ran(event))
                waiting = []
            elif not isinstance(event, StreamEnd):
                waiting.append(event)
        return b"".join((*frames, self._write_events(waiting, None)))

    def finish(self, reason: Any = None, usage: Payload | None = None) -> bytes:
        """The last frames, the terminal ones included.

        reason: the engine's word.
        usage: any API's object.

        None in the usage counts as missing. An invalid usage raises TypeError or ValueError, and the stream stays open.
        """
        self._check_end()
        if (reason is None or type(reason) is str) and not (self._takes_events or self._ends_oddly):
            plain = self._end_plainly(reason, usage)
            if plain is not None:
                return plain
        usage, reason = self.checked_usage(usage), normal(reason)
        self._prepare_end(reason)
        if self._takes_events and not self.parser.position:
            frames = self._write_events([MessageEnd("assistant"), StreamEnd(reason)], reason)
        else:
            frames = self._end(reason)
        frames += self._last(usage)
        self._over()
        return frames

    def flush(self, reason: Any = None) -> bytes:
        """The last frames of a stream inside another's: finish() without the frames that end a response.

        They are what was held and the ends of what is open. Then the stream has ended; `parser.finish_reason` is why.
        """
        self._check(False)
        self._inside = True
        reason = normal(reason)
        self._prepare_end(reason)
        frames: bytes = self._end(reason)
        self._over()
        return frames

    def _prepare_end(self, reason: str | None) -> None:
        """The parser's last events will come."""

    def _bytes(self, payloads: Iterable[Payload]) -> bytes:
        """Payloads for which there is no template."""
        frames = []
        for payload in payloads:
            if self.numbered is not None:
                payload[self.numbered] = self._number
            self._number += 1
            frames.append(self.framed(payload))
        return "".join(frames).encode()

    def _last_bytes(self, *payloads: Payload) -> bytes:
        """Of error(): nothing if the stream has ended."""
        return b"" if self.ended else self._over() + self._bytes(payloads)

    # --- moving ---

    def to_bytes(self, *, key: bytes | None = None) -> bytes:
        """The state of a response that is under way, for from_bytes() in this process or another.

        It has a version, the parser's state, the constructor's options and the text so far, but not the vocabulary, the
        tools and the callbacks.

        key: signs the state, so that from_bytes() refuses one that was altered on its way.

        Raises ValueError before start() and after the end. Of several choices each has a state, even one that has
        ended before the others; ChatStream.several_from_bytes() takes all.
        """
        api = next((kind for kind in type(self).__mro__ if "_api" in kind.__dict__), None)
        if api is None:
            raise ValueError(f"a {type(self).__name__} cannot be moved: its class is of no API here")
        self._check_movable()
        if self._options is None:
            self._options = options_json(cast(Any, api).__init__, *self._given_options())
        dicts, number = self._moving()
        state = {**self._writing(), **self._state(), "items": json.loads(self._items())}
        if self._calls_so_far:
            self._call_ids.decide_before(self._calls_so_far)
            state |= self._call_ids.state()
        parts = (
            self.parser.to_bytes(),
            self._options,
            to_json({name: value for name, value in state.items() if value or type(value) is int}).encode(),
            self.id.encode(),
            to_json(getattr(self, self._time)).encode() if self._time else b"",
        )
        return pack(Saved(self._api, dicts, number, *parts), key)

    @classmethod
    def from_bytes(
        cls,
        data: bytes | bytearray | memoryview,
        vocab: Vocab | None = None,
        *,
        format: str | Format | HeaderFormat | None = None,
        tools: Any = None,
        key: bytes | None = None,
        **callbacks: Any,
    ) -> Self:
        """The stream that to_bytes() described; it goes on with feed() as if it had not been moved.

        vocab, format, tools: as Parser.from_bytes() has them.
        key: the key that to_bytes() was given.
        callbacks: the constructor's functions that the stream had, such as `call_id=`.

        Every field is checked: ValueError for a state that is truncated, of another version, API, vocabulary, tools or
        callbacks, or altered in any byte if it is signed; TypeError for arguments that cannot be used.
        """
        return cls._restored(unpack(data, key), vocab, format, tools, callbacks)

    @classmethod
    def _restored(cls, saved: Saved, vocab: Vocab | None, format: Any, tools: Any, callbacks: Callbacks) -> Self:
        if saved.api != cls._api:
            raise refused(f"it is not that of a {cls.__name__}")
        parser = Parser.from_bytes(saved.parser, vocab, format=format, tools=tools)
        passed = {name: callback for name, callback in callbacks.items() if callback is not None}
        given = read_options(saved.options, passed)
        try:
            given["id"] = saved.id.decode()
            if cls._time:
                given["created"] = time_of(saved.created, cls._time_types)
            stream = cast(Any, cls)(idle(), **given, **passed)
        except (TypeError, ValueError, KeyError) as error:
            raise refused(f"its options are not this emitter's: {error}") from None
        made: Self = stream
        made._options = saved.options
        state = State(json_object(saved.state))
        writing = writing_of(state)
        filter = filter_of(state, getattr(made, "_text_key", ""))
        items, ids = state.several("items"), (state.texts("given"), state.texts("made"))
        if not all(map(made._is_item, items)):
            raise refused("items is out of range")
        made._restore(state)
        state.end()
        asked = made._asked
        if any(ids):
            made._call_ids.restore(*ids, writing["calls"])
            asked |= made._asks(True, True, False)  # the writer does not know them
        templates, constants = made._shared() if not made._watched else made._templates(), made._constants()
        made._write_on(parser, saved.dicts, saved.number, templates, constants, asked, writing, filter)
        made._put_items(to_json(items), 0)
        made._go_on()
        return made

    def _given_options(self) -> tuple[Payload, Callbacks]:
        """The arguments of the constructor, and those of them that are functions."""
        raise NotImplementedError

    def _state(self) -> Payload:
        """What it remembers of the response, as JSON. What is empty is left out."""
        raise NotImplementedError

    def _restore(self, state: State) -> None:
        """Of a new stream: take what _state() gave. Raises ValueError for what it could not have given."""
        raise NotImplementedError

    def _is_item(self, item: Payload) -> bool:
        """Could an item that is kept be this one?"""
        return True

    def _go_on(self) -> None:
        """It has been moved, and all of it is restored."""

    # --- dicts ---

    def events(
        self, tokens: Any = None, /, *, finish: bool = False, reason: Any = None, usage: Payload | None = None
    ) -> list[Payload]:
        """The payloads of start() (no arguments), feed(tokens) or feed_text(tokens), or of finish(reason, usage)."""
        if finish:
            self._check_end()
            return self._payloads(self.finish, reason, usage)
        if tokens is None:
            return _read(self._open_response(True))
        return self._payloads(self.feed_text if isinstance(tokens, (str, bytes)) else self.feed, tokens)

    def _payloads(self, verb: Callable[..., bytes], *given: Any, **options: Any) -> list[Payload]:
        """The payloads in the frames of this verb."""
        self._check(True)
        self._in_events = True
        try:
            return _read(verb(*given, **options))
        finally:
            self._in_events = False

    def _failure(self, frames: bytes) -> list[Payload]:
        """Of error_events(): the payloads of error()."""
        return _read(frames)


def _read(frames: bytes) -> list[Payload]:
    return [json.loads(line[6:]) for line in frames.split(b"\n") if line.startswith(b"data: {")]
