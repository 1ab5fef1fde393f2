"""The common part of the emitters: reads a parser's events, and gives each payload as bytes or as a dict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast, get_args

from ..._native.core.vocab import Vocab
from ..._native.stream.parser import Parser
from ..._native.wire.frame import Frame
from ..._native.wire.json_filter import Arguments
from ..._native.wire.script import Script
from ..._native.wire.sse import SseWriter
from ...errors import ParseError
from ...events import ContentDelta, Event, MessageEnd, ReasoningDelta, StreamEnd, ToolCallDelta
from ...formats import Format, HeaderFormat
from ...reasons import normal
from .envelope import Saved, pack, unpack
from .payload import Payload, to_json
from .placeholders import HOLE, cut, idle
from .request import CallIds, called, taken_ids
from .state import Callbacks, State, json_object, options_json, read_options, refused, time_of
from .tool_run import ToolRun
from .usage import counted

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Constants", "EventStream"]

Constants: TypeAlias = "tuple[str, str, str, str, str | None]"

_EVENTS: tuple[type, ...] = get_args(Event)
_SILENCE = Frame([b""], "")
_USUAL: dict[tuple[type, bool] | None, Script] = {}
_DELTAS: dict[type, str] = {ReasoningDelta: "reasoning", ContentDelta: "content", ToolCallDelta: "arguments"}


class EventStream(SseWriter):
    """Streams one response in an API's form. A subclass makes the payloads of an event, and frames them.

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
    _asks_ids = False  # does a callback or the request have a part in the ids of calls?
    _takes_events = False  # are its events those of other parsers?
    _inside = False  # does another stream end the response?
    _options: bytes | None = None  # of its state
    _keeps_text = True
    _has_text = False  # has the open message?
    _ends_whole = False  # does its last frame repeat the text, which is not kept?
    _unsent: tuple[Payload, ...] | list[Payload] = ()  # dicts of a call that raised

    # --- what an API defines ---

    def describe(self, event: Event) -> Iterable[Payload]:
        """The payloads of this event, in order."""
        raise NotImplementedError

    def delta(self, kind: str, text: str) -> Payload | None:
        """The payload of a delta ("reasoning", "content" or "arguments") of what is open.

        Empty: it is hidden. None: it needs describe().
        """
        raise NotImplementedError

    def opening(self) -> Iterable[Payload]:
        """The payloads before the first token."""
        return ()

    def closing(self, usage: Payload | None) -> Iterable[Payload]:
        """The payloads after the last event."""
        return ()

    def framed(self, payload: Payload) -> str:
        """One payload as an SSE frame."""
        return f"event: {payload['type']}\ndata: {to_json(payload)}\n\n"

    def checked_usage(self, usage: Payload | None) -> Payload | None:
        """The usage as closing() takes it, in the API's words."""
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

    def ran(self, run: ToolRun) -> Iterable[Payload]:
        """The payloads for a call that the server runs, or has run; by default there are none."""
        return ()

    # --- the ids of calls ---

    @property
    def _stem(self) -> str:
        """The part of the response's id that is in the ids of its calls."""
        raise NotImplementedError

    def _decide_ids(self, call_id: Callable[[int], str] | None, taken: Iterable[str]) -> None:
        """Take the caller's wishes for the ids of calls."""
        self._own_call_id, self._taken, self._asks_ids = called("call_id", call_id), taken_ids(taken), True

    @cached_property
    def _call_ids(self) -> CallIds:
        return CallIds(self._own_call_id or f"{self._call_prefix}_{self._stem}_{{}}".format, self._taken)

    # --- bytes ---

    def start(self) -> bytes:
        """The frames before the first token."""
        usual = (type(self), self.parser.strict) if len(self.__dict__) == self._identity else None
        script = _USUAL.get(usual)
        if script is None:
            script = self._script()
            if script is None:
                self._start(False)
                return self._bytes(self.opening())
            if usual is not None:
                _USUAL[usual] = script
        usage, opening = self._opening_parts()
        return self._begin_script(script, self._constants(), self._asks_ids, usage, opening)

    def _opening_parts(self) -> tuple[str, bytes | None]:
        """The usage that the first frames have, as JSON, and these frames. None: the script has them."""
        return "", None

    def _script(self) -> Script | None:
        """What the API sends at each moment of a response; None: Python writes it."""
        return None

    def _constants(self) -> Constants:
        """What is constant in this response: its id, its time, the stem of ids, the model, its first fields."""
        raise NotImplementedError

    def _catch_up(self) -> None:
        """Read what the script has written. Of callbacks, only those for ids have a part in it: they are asked once."""
        events, filter = self._journal()
        self._describe_all(events)
        self._caught_up(filter)

    def _describe_all(self, events: Iterable[Event | None]) -> None:
        """Describe these, whose payloads have been sent."""
        for event in events:
            if event is not None:
                for _ in self._described(event):
                    pass

    def _write_end(self, reason: str | None) -> str:
        """The script has written all but the end: the reason in its last frame."""
        raise NotImplementedError

    def _sign(self, text: str) -> str:
        """The signature of this reasoning, for a script whose items of reasoning have one."""
        raise NotImplementedError

    def _new_filter(self) -> Arguments:
        """For a script whose arguments pass one."""
        raise NotImplementedError

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
            events = [event for event in events if not isinstance(event, StreamEnd)]
        self._leave_script()
        self._no_frames()
        return "".join(map(self.framed, self._written(events))).encode()

    def finish(self, reason: Any = None, usage: Payload | None = None) -> bytes:
        """The last frames, the terminal ones included.

        reason: the engine's word.
        usage: any API's object.

        None in the usage counts as missing. An invalid usage raises TypeError or ValueError, and the stream stays open.
        """
        if self._ends_whole:
            self._check_end()
        if reason is None or type(reason) is str:
            plain = self._end_plainly(reason, usage)
            if plain is not None:
                return plain
        usage, reason = self.checked_usage(usage), normal(reason)
        self._prepare_end(reason)
        frames = self._end_of_events(reason) if self._takes_events and not self.parser.position else self._end(reason)
        frames += self._closing_bytes(usage)
        self._over()
        return frames

    def _end_after(self, frames: bytes) -> bytes:
        """The last frames, after these: the script had a part of them."""
        frames += self._closing_bytes(self.checked_usage(self._usage_at_end))
        self._over()
        return frames

    def _has_usage_frame(self, usage: Payload | None) -> bool:
        """Have the script's last frames a place for this usage?"""
        return True

    def _usage_json(self, usage: Payload | None) -> str:
        """The usage of the script's last frames, as JSON. The parser has ended. usage: as checked_usage() gives it."""
        raise NotImplementedError

    def _end_of_events(self, reason: str | None) -> bytes:
        """The end of other parsers' events, and of the message that they have left open."""
        self._check(False)
        return self._bytes([*self.describe(MessageEnd("assistant")), *self.describe(StreamEnd(reason))])

    def flush(self, reason: Any = None) -> bytes:
        """The last frames of a stream inside another's: finish() without the frames that end a response.

        They are what was held and the ends of what is open. Then the stream has ended; `parser.finish_reason` is why.
        """
        self._check(False)
        self._leave_script()
        self._inside = True
        reason = normal(reason)
        self._prepare_end(reason)
        frames: bytes = self._end(reason)
        self._over()
        return frames

    def _prepare_end(self, reason: str | None) -> None:
        """The parser's last events will come."""

    def _closing_bytes(self, usage: Payload | None) -> bytes:
        return self._bytes(self.closing(usage))

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
        self._catch_up()
        if self._options is None:
            self._options = options_json(cast(Any, api).__init__, *self._given_options())
        dicts, number = self._moving()
        state = {**self._state(), **{kind: text for kind, text in zip(_DELTAS.values(), self._kept()) if text}}
        if "_call_ids" in self.__dict__:
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
        texts = [(kind, state.text(kind)) for kind in _DELTAS.values()]
        ids = state.texts("given"), state.texts("made")
        made._restore(state)
        state.end()
        if any(ids):
            made._call_ids.restore(*ids)
        made._move_to(parser, saved.dicts, saved.number)
        for kind, text in texts:
            made._keep(kind, text)
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

    def _go_on(self) -> None:
        """It has been moved, and all of it is restored."""

    # --- dicts ---

    def events(
        self, tokens: Any = None, /, *, finish: bool = False, reason: Any = None, usage: Payload | None = None
    ) -> list[Payload]:
        """The payloads of start() (no arguments), feed(tokens) or feed_text(tokens), or of finish(reason, usage)."""
        if finish:
            self._check_end()
            usage = self.checked_usage(usage)
            self._check(True)
            made = self._payloads(self.parser.finish, normal(reason)) + self._numbered(self.closing(usage))
            self._over()
            return made
        if tokens is None:
            self._start(True)
            return self._numbered(self.opening())
        self._check(True)
        return self._payloads(self.parser.feed_text if isinstance(tokens, (str, bytes)) else self.parser.feed, tokens)

    # --- between the two ---

    def _numbered(self, payloads: Iterable[Payload]) -> list[Payload]:
        made = []
        for payload in payloads:
            if self.numbered is not None:
                payload[self.numbered] = self._number
            self._number += 1
            made.append(payload)
        return made

    def _payloads(self, read: Callable[[Any], Iterable[Event]], tokens: Any) -> list[Payload]:
        """The payloads of the parser's events; if something raises, error_events() has the payloads before it."""
        self._enter()
        try:
            return self._written(read(tokens))
        except ParseError as error:
            self._unsent = self._written(error.events)
            self._break()
            raise
        finally:
            self._leave()

    def _written(self, events: Iterable[Event | ToolRun]) -> list[Payload]:
        made: list[Payload] = []
        try:
            for event in events:
                made += self._numbered(self.ran(event) if isinstance(event, ToolRun) else self._described(event))
        except BaseException:
            self._unsent = made
            self._break()
            raise
        return made

    def _last_bytes(self, payloads: Iterable[Payload]) -> bytes:
        """Of error(): nothing if the stream has ended."""
        if self.ended:
            return b""
        self._leave_script()
        frames = self._over() + self._bytes(payloads)
        self._over()
        return frames

    def _last_payloads(self, payloads: Iterable[Payload]) -> list[Payload]:
        """Of error_events()."""
        if self.ended:
            return []
        self._over()
        return [*self._unsent, *self._numbered(payloads)]

    def _described(self, event: Event) -> Iterable[Payload]:
        kind = _DELTAS.get(type(event))
        if kind is None:
            return self.describe(event)
        text = _text_of(event)
        payload = self.delta(kind, text)
        if payload is None:
            return self.describe(event)
        if not payload:
            self._has_text = self._has_text or kind != "arguments"
            return ()
        shown = self._keep(kind, text)
        if shown == text:
            return (payload,)
        payload = self.delta(kind, shown)
        return (payload,) if shown and payload else ()

    def _begun(self, text: str) -> str | None:
        """The first text of an item, without the newline that parts it from the message's text before a call; None:
        there was nothing else. Text that was told, but not kept, is empty.
        """
        if not text or not self._has_text or not self._trims:
            return text
        return text.lstrip("\n") or None

    def _bytes(self, payloads: Iterable[Payload]) -> bytes:
        return "".join(map(self.framed, self._numbered(payloads))).encode()

    def _on_event(self, event: Event) -> bytes | Frame:
        """An event without a frame in the writer: a first delta, which gets one, or the opening or end of an item."""
        kind = _DELTAS.get(type(event))
        frame = None if kind is None else self._frame_of(kind)
        if kind is None or frame is None:
            self._no_frames()
            return self._bytes(self.describe(event))
        self._has_text = self._has_text or kind != "arguments"
        return frame

    def _feed_with(self, ids: Any, logprobs: Any) -> bytes:
        raise TypeError(f"{type(self).__name__}.feed() takes no logprobs")

    def _frame_of(self, kind: str) -> Frame | None:
        parts = self._parts_of(kind)
        return None if parts is None else Frame(*parts) if any(parts[0]) else _SILENCE

    def _parts_of(self, kind: str) -> tuple[list[bytes], str] | None:
        """The frame of a delta of this kind of what is open; None: it needs describe()."""
        payload = self.delta(kind, HOLE["t"])
        if payload is None:
            return None
        return self._parts(payload) if payload else cut("")

    def _parts(self, *payloads: Payload) -> tuple[list[bytes], str]:
        """The frames of payloads, with their holes where the placeholders are."""
        made = []
        for payload in payloads:
            if self.numbered is not None:
                payload[self.numbered] = HOLE["n"]
            made.append(self.framed(payload))
        return cut("".join(made))


def _text_of(delta: Event) -> str:
    return delta.arguments if isinstance(delta, ToolCallDelta) else delta.text  # type: ignore[union-attr]
