"""The common part of the emitters: the methods to call, and each payload as bytes or as a dict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast, get_args

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ..._native.wire.sse import SseWriter
from ..._native.wire.template import Templates
from ...completion import cut_call
from ...events import Event, MessageEnd, StreamEnd, ToolCallStart
from ...formats import Format, HeaderFormat
from ...reasons import matched, normal
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
_NO_TEXT = "the API's last event has the whole text, which keep_text=False drops: end with flush()"
_IDS = 3  # the attributes that _decide_ids() sets


class EventStream(SseWriter):
    """Streams one response in an API's form. A subclass has the templates of the frames and fills in their values.

    `start`, `feed`, `feed_text` and `finish` return whole SSE frames as bytes; `events` returns their payloads as
    dicts. Call start() first, and finish() or error() last, each once. Do not mix bytes and dicts in one response. Any
    other order raises ValueError, and so does a parser that has already read something.

    If a callback or a strict parser raises, the frames of the earlier events are not lost: error() returns them. Only
    one thread may use a stream at a time.
    """

    numbered: ClassVar[str | None] = None
    """The field that numbers the payloads, if the API has one."""
    _identity: ClassVar[int] = 3  # attributes of a stream whose options are all defaults: id, model, created
    _counts: ClassVar[tuple[str, ...]]
    """The API's names for the tokens of the prompt, of the response, and of both."""
    _call_prefix: ClassVar[str] = "call"  # the prefix of call ids
    _api: ClassVar[bytes]  # a letter that marks this API's states
    _time: ClassVar[str] = ""  # the name of the time's field, if the API has one
    _time_types: ClassVar[tuple[type, ...]] = (int,)
    id: str
    _own_call_id: Callable[[int], str] | None = None
    _taken: frozenset[str] = frozenset()
    _prompt_tokens = 0
    """The prompt tokens that are known at the beginning. -1 if the usage has more than these."""
    _always_asked = 0  # which hooks the writer calls in Python: see SseWriter._question_bits()
    _takes_events = False  # do its events come from other parsers?
    _options: bytes | None = None  # the options as JSON, for states
    _keeps_text = True
    _ends_whole = False  # does its last frame repeat the text, although the text is not kept?

    # --- what an API defines ---

    def _templates(self) -> Templates:
        """Templates of everything that the API sends."""
        raise NotImplementedError

    def _constants(self) -> Constants:
        """The constants of this response: its id, its time, the stem of its call ids, the model, its head."""
        raise NotImplementedError

    def _opening_usage(self) -> str:
        """The usage that the first frames have, as JSON."""
        return ""

    def _answer_call(self, event: ToolCallStart, index: int, item: int) -> Call:
        """The values for a call that begins: the variant of its item, its name, its id, more fields as JSON, its item's
        id, and the filter of its arguments, which is an object with feed() and finish(), or None.
        """
        return 0, event.name, self._call_ids.decide(event.id, index), "", "", None

    def _answer_item(self, kind: str, item: int) -> str:
        """The id of a text item."""
        raise NotImplementedError

    def _answer_end(self, kind: str, text: str, name: str) -> tuple[str, str, str]:
        """The values for an item that ends: its seal, and the logprobs of its text, as JSON."""
        raise NotImplementedError

    def _answer_tokens(self, start: int, stop: int, last: bool) -> tuple[str, str]:
        """The logprobs and ids of these tokens, as JSON. last: do they end the stream?"""
        raise NotImplementedError

    def _tokens_written(self, delta: bool, used: bool) -> None:
        """The record of these tokens has been written. used: does it contain them? delta: was it a delta?"""
        raise NotImplementedError

    def _feed_with(self, ids: Any, logprobs: Any) -> bytes:
        raise TypeError(f"{type(self).__name__}.feed() takes no logprobs")

    def _answer_reason(self, reason: str | None, calls: int) -> tuple[str, str]:
        """The API's finish reason, and the fields that go with it, as JSON."""
        raise NotImplementedError

    def _usage_json(self, usage: Payload | None) -> str:
        """The usage of the last frames, as JSON. The parser has ended. usage: what checked_usage() returned."""
        raise NotImplementedError

    def _has_usage_frame(self, usage: Payload | None) -> bool:
        """Do the last frames include this usage?"""
        return True

    def _stopped_at(self, stop: Any, reason: str | None) -> str | None:
        """Keep the stop string or token id at which the engine stopped, if the API sends it.

        Returns the reason for the parser: None for a stop string, which is not the model's own stop and completes no
        call.
        """
        return reason

    def _last(self, usage: Payload | None) -> bytes:
        """The last frames, written after the parser has ended."""
        frames: bytes = self._close_with(self._usage_json(usage))
        return frames

    def framed(self, payload: Payload) -> str:
        """One payload as an SSE frame."""
        return f"event: {payload['type']}\ndata: {to_json(payload)}\n\n"

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        """The usage under the API's names."""
        return counted(usage)

    def _forget_texts(self) -> None:
        """Drop text once it is sent, unless it is sent again later."""
        self._keep_none("reasoning", "content", "arguments")

    def _check_kept(self) -> None:
        """Raises ValueError if there is no text for response()."""
        if not self._keeps_text:
            raise ValueError("this stream was made with keep_text=False: it has no response(), only what it has sent")

    def _ran(self, run: ToolRun) -> bytes:
        """The frames for a call that the server runs, or has run. By default there are none."""
        return b""

    # --- the ids of calls ---

    @property
    def _stem(self) -> str:
        """The part of the response's id that its call ids contain."""
        raise NotImplementedError

    def _decide_ids(self, call_id: Callable[[int], str] | None, taken: Iterable[str]) -> None:
        """Set how the ids of calls are chosen."""
        self._own_call_id, self._taken = called("call_id", call_id), taken_ids(taken)
        self._always_asked |= self._question_bits(True, False, False)

    @cached_property
    def _call_ids(self) -> CallIds:
        return CallIds(self._own_call_id or f"{self._call_prefix}_{self._stem}_{{}}".format, self._taken)

    # --- bytes ---

    def start(self) -> bytes:
        """The frames before the first token."""
        return self._open_response(False)

    def _open_response(self, dicts: bool, fresh: bool = True) -> bytes:
        usage = self._opening_usage()
        frames: bytes = self._begin(dicts, self._shared(), self._constants(), self._always_asked, usage, fresh)
        return frames

    def _shared(self) -> Templates:
        """The templates. They are shared if all options are defaults; those of call ids do not matter to them."""
        own = self.__dict__
        usual = type(self) if len(own) == self._identity + (_IDS if "_taken" in own else 0) else None
        templates = _USUAL.get(usual)
        if templates is None:
            templates = self._templates()
            if usual is not None:
                _USUAL[usual] = templates
        return templates

    def feed_events(self, events: Iterable[Event | ToolRun]) -> bytes:
        """The frames of events from other parsers, such as those of `agent_loop`, and of calls that run here.

        The stream's own parser does not see these events. So finish() needs the usage and the last parser's reason. If
        the end of a parser's stream ends a message or cuts a call, pass these events in one call together with the
        `StreamEnd`. No frame is made of the `StreamEnd` itself.

        Raises TypeError for anything but an event or a `ToolRun`, and ValueError before start() and after the end.
        """
        self._check(False)
        events = list(events)
        for event in events:
            if not isinstance(event, (*_EVENTS, ToolRun)):
                raise TypeError(f"feed_events() takes events and ToolRuns, not {type(event).__name__}")
        self._takes_events = True
        ends = [event for event in events if isinstance(event, StreamEnd)]
        if ends:
            self._prepare_end(ends[-1].reason)
        cut = cut_call(events)
        frames: list[bytes] = []
        waiting: list[Event] = []
        for event in events:
            if isinstance(event, ToolRun):
                frames += (self._write_events(waiting, None, cut), self._ran(event))
                waiting = []
            elif not isinstance(event, StreamEnd):
                waiting.append(event)
        return b"".join((*frames, self._write_events(waiting, None, cut)))

    def finish(self, reason: Any = None, usage: Payload | None = None) -> bytes:
        """The last frames, including the terminal ones.

        reason: the finish reason that the engine gave.
        usage: the usage object of any API.

        A count that is None is treated as missing. An invalid usage raises TypeError or ValueError, and the stream
        stays open.
        """
        return self._finish(reason, usage, None)

    def _finish(self, reason: Any, usage: Payload | None, stop: Any) -> bytes:
        """finish(). stop: the stop string or token id at which the engine stopped, if the caller knows it."""
        if self._ends_whole:
            raise ValueError(_NO_TEXT)
        if stop is None and not self._takes_events and (reason is None or type(reason) is str):
            plain: bytes | None = self._end_plainly(reason, usage)
            if plain is not None:
                return plain
        self._check(False)
        usage, stop = self.checked_usage(usage), matched(reason) if stop is None else stop
        reason = self._stopped_at(stop, normal(reason))
        self._prepare_end(reason)
        if self._takes_events and not self.parser.position:
            frames = self._write_events([MessageEnd("assistant"), StreamEnd(reason)], reason)
        else:
            frames = self._end(reason)
        frames += self._last(usage)
        self._over()
        return frames

    def flush(self, reason: Any = None) -> bytes:
        """The last frames of a stream inside another stream: finish() without the frames that end a response.

        They are the frames of held events, and the ends of open items. After this, the stream has ended, and
        `parser.finish_reason` has the reason.
        """
        self._check(False)
        self._inside = True
        reason = normal(reason)
        self._prepare_end(reason)
        frames: bytes = self._end(reason)
        self._over()
        return frames

    def _prepare_end(self, reason: str | None) -> None:
        """Called before the parser's last events."""

    def _bytes(self, payloads: Iterable[Payload]) -> bytes:
        """Frames of payloads that have no template."""
        frames = []
        for payload in payloads:
            if self.numbered is not None:
                payload[self.numbered] = self._number
            self._number += 1
            frames.append(self.framed(payload))
        return "".join(frames).encode()

    def _last_bytes(self, *payloads: Payload) -> bytes:
        """Last frames for error(). Empty if the stream has ended."""
        return b"" if self.ended else self._over() + self._bytes(payloads)

    # --- moving ---

    def to_bytes(self, *, key: bytes | None = None) -> bytes:
        """The state of a running response, for from_bytes() in this process or another.

        It contains a version, the parser's state, the constructor's options and the text so far, but not the
        vocabulary, the tools or the callbacks.

        key: signs the state, so that from_bytes() refuses one that was altered on its way.

        Raises ValueError before start() and after the end. If a response has several choices, each has its own state,
        even a choice that ended before the others. ChatStream.several_from_bytes() takes all of them.
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
        """The stream that to_bytes() saved. It continues with feed() as if it had never been moved.

        vocab, format, tools: as in Parser.from_bytes().
        key: the key that to_bytes() was given.
        callbacks: the constructor's functions that the stream had, such as `call_id=`.

        Every field is checked. Raises ValueError if the state is truncated, or belongs to another version, API,
        vocabulary, other tools or callbacks, or if it is signed and any byte was changed. Raises TypeError for unusable
        arguments.
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
        asked = made._always_asked
        if any(ids):
            made._call_ids.restore(*ids, writing["calls"])
            asked |= made._question_bits(True, True, False)  # the writer does not know these ids, so it must ask
        templates, constants = made._shared() if not made._watched else made._templates(), made._constants()
        made._write_on(parser, saved.dicts, saved.number, templates, constants, asked, writing, filter)
        made._put_items(to_json(items), 0)
        made._go_on()
        return made

    def _given_options(self) -> tuple[Payload, Callbacks]:
        """The constructor's arguments, and apart from them those that are functions."""
        raise NotImplementedError

    def _state(self) -> Payload:
        """What the stream remembers of the response, as JSON. Empty fields are left out."""
        raise NotImplementedError

    def _restore(self, state: State) -> None:
        """Put what _state() gave into a new stream. Raises ValueError for anything that _state() cannot have given."""
        raise NotImplementedError

    def _is_item(self, item: Payload) -> bool:
        """Could this be an item that the stream keeps?"""
        return True

    def _go_on(self) -> None:
        """Called when the stream has been moved and all of its state is restored."""

    # --- dicts ---

    def events(
        self, tokens: Any = None, /, *, finish: bool = False, reason: Any = None, usage: Payload | None = None
    ) -> list[Payload]:
        """The payloads of start() (no arguments), feed(tokens) or feed_text(tokens), or of finish(reason, usage)."""
        if finish:
            if self._ends_whole:
                raise ValueError(_NO_TEXT)
            return self._payloads(self.finish, reason, usage)
        if tokens is None:
            return _read(self._open_response(True))
        return self._payloads(self.feed_text if isinstance(tokens, (str, bytes)) else self.feed, tokens)

    def _payloads(self, verb: Callable[..., bytes], *given: Any, **options: Any) -> list[Payload]:
        """The payloads in the frames that this method returns."""
        self._check(True)
        self._in_events = True
        try:
            return _read(verb(*given, **options))
        finally:
            self._in_events = False

    def _failure(self, frames: bytes) -> list[Payload]:
        """The payloads of error(), for error_events()."""
        return _read(frames)


def _read(frames: bytes) -> list[Payload]:
    return [json.loads(line[6:]) for line in frames.split(b"\n") if line.startswith(b"data: {")]
