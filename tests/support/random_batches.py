"""Emitters in a batch, beside twins that are fed alone: options of every kind, ids of responses, and random operations.

Whatever a batch says of a response has to be, byte for byte, what the twin says, which has the same options.
"""

from __future__ import annotations

import random
import weakref
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

import harmonystream as hs

Options = dict[str, Any]
APIS: dict[str, Any] = {"chat": hs.ChatStream, "responses": hs.ResponsesStream, "messages": hs.MessagesStream}
TIMES = {"chat": "created", "responses": "created", "messages": None}
MODELS = ("m", "m", 'the "m"\u2028', "m" * 400)
IDS = (
    *("x", "chatcmpl-a1", "resp_a1", "msg_a1", "msg_msg_1", "chatcmpl-chatcmpl-1", "a_b-c", "a.b c/d", "msg_a.b"),
    *("", "msg_", "é日本", "msg_é", "resp_日", 'q"\\\n', "msg_\x7f", "½", "msg_½", "\ud800x", "x" * 300),
)
SECONDS = {"chat": (1, 0, 2**40, -5), "responses": (1, 2**40, 1.5, -5), "messages": (None,)}
REASONS = (None, "stop", "stop", "length", "tool_calls", "abort", "STOP", 'odd "\ud800')
USAGES: dict[str, tuple[Any, ...]] = {
    "chat": (None, None, None, {"prompt_tokens": 5, "completion_tokens": 9}, {}),
    "responses": (None, None, None, {"input_tokens": 5, "output_tokens": 9}, {}),
    "messages": (None, None, None, {"input_tokens": 5}, {}),
}
NAMED = {"type": "function", "function": {"name": "f"}}
PLAIN: Options = {}


def named(index: int) -> str:
    return f"call {index}"


def signed(text: str) -> str:
    return f"s{len(text)}"


def kinds(call: hs.ToolCallStart) -> str:
    return "function_call"


OPTIONS: dict[str, tuple[Options, ...]] = {
    "chat": (
        *(PLAIN, PLAIN, {"include_usage": True}, {"extra": {"system_fingerprint": 'f"\ud800'}}),
        *({"reasoning_field": None}, {"reasoning_field": "both"}, {"reasoning_field": "reasoning_content"}),
        *({"tool_choice": "none"}, {"tool_choice": NAMED}, {"parallel_tool_calls": False}, {"preamble_field": None}),
        *({"keep_text": False}, {"call_id": named}, {"taken": ["call_x_0"]}),
        {"keep_text": False, "include_usage": True, "reasoning_field": "both", "extra": {"x": [1]}},
    ),
    "responses": (
        *(PLAIN, PLAIN, {"reasoning": False}, {"reasoning": "summary"}, {"extra": {"x": 1, "status": "odd"}}),
        *({"request": {"tool_choice": "none", "metadata": {"a": "\ue000text\ue001"}}}, {"call_id": named}),
        *({"request": {"parallel_tool_calls": False, "instructions": "é"}}, {"keep_text": False}),
        *({"item_type": kinds}, {"request": {"tools": [{"type": "custom", "name": "f"}]}}),
    ),
    "messages": (
        *(PLAIN, PLAIN, PLAIN, {"thinking": False}, {"signature": ""}, {"signature": signed}, {"tool_choice": "none"}),
        *({"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}, {"text_key": 'k"\n'}),
        *({"usage": {"input_tokens": 5}}, {"extra": {"container": {"id": "c"}}}, {"keep_text": False}),
        *({"call_id": named}, {"keep_text": False, "signature": ""}, {"taken": ["toolu_x_0"]}),
    ),
}


@st.composite
def kinds_of_emitter(draw: st.DrawFn, api: str | None = None) -> tuple[str, Options]:
    """An API, and what its constructor takes beside a parser and the response's identity."""
    api = api or draw(st.sampled_from(sorted(APIS)))
    return api, {"model": draw(st.sampled_from(MODELS)), **draw(st.sampled_from(OPTIONS[api]))}


def identity(api: str, dice: random.Random) -> Options:
    """The id, and the time if the API has one."""
    time = TIMES[api]
    return {"id": dice.choice(IDS), **({time: dice.choice(SECONDS[api])} if time else {})}


class Kind:
    """How streams of the same options are made."""

    def __init__(self, api: str, options: Options, parser: Callable[[], hs.Parser], tools: Any = None) -> None:
        self.api, self.options, self.parser, self.tools = api, options, parser, tools

    def alone(self, identity: Options) -> Any:
        return APIS[self.api](self.parser(), **identity, **self.options)


class Twin:
    """One response: the stream that is fed alone, and what is left to feed."""

    def __init__(self, kind: Kind, stream: Any, ids: list[int]) -> None:
        self.kind, self.stream, self.ids = kind, stream, ids

    def piece(self, size: int) -> list[int]:
        piece, self.ids = self.ids[:size], self.ids[size:]
        return piece


class Slots:
    """A batch, and the twins of its slots."""

    def __init__(self, batch: hs.batch.Batch, dice: random.Random) -> None:
        self.batch, self.dice = batch, dice
        self.twins: dict[int, Twin] = {}
        self.held: list[tuple[Any, Any]] = []  # streams that somebody has, even after their end, and their twins
        self.parsers: list[tuple[hs.Parser, hs.Parser]] = []
        self.seen: list[Any] = []  # what else somebody has

    # --- slots ---

    def open(self, kind: Kind, ids: list[int]) -> int:
        own = identity(kind.api, self.dice)
        twin, stream = kind.alone(own), kind.alone(own)
        frames, slot = stream.start(), self.batch.add(stream)
        assert frames == twin.start()
        assert slot not in self.twins
        self.twins[slot] = Twin(kind, twin, ids)
        return slot

    def taken(self, slot: int) -> Any:
        """The slot's emitter, which is in the same slot again."""
        stream = self.batch.close(slot)
        assert self.batch.add(stream) == slot
        return stream

    def end(self, slot: int) -> None:
        """It ends for some reason, with some usage, or has an error, or is closed."""
        twin, dice = self.twins.pop(slot), self.dice
        reason, usage = dice.choice(REASONS), dice.choice(USAGES[twin.kind.api])
        how = dice.choice(("finish",) * 6 + ("many", "error", "close", "flush"))
        if not twin.stream._keeps_text and twin.kind.api == "responses" and how in ("finish", "many"):
            how = "flush"  # there is no other end
        if how == "finish":
            assert self.batch.finish(slot, reason, usage) == twin.stream.finish(reason, usage)
        elif how == "many":
            assert self.batch.finish_many([slot], [reason], [usage]) == [twin.stream.finish(reason, usage)]
        elif how == "error":
            stream = self.taken(slot)
            assert stream.error('It "broke" off') == twin.stream.error('It "broke" off')
            assert self.batch.close(slot) is stream
            self.compare(stream, twin.stream)
        else:
            stream = self.batch.close(slot)
            if how == "flush":
                assert stream.flush(reason) == twin.stream.flush(reason)
            self.compare(stream, twin.stream)

    # --- steps ---

    def step(self) -> None:
        """Some slots take one id each, or some ids each, or none."""
        chosen = self.dice.sample(sorted(self.twins), self.dice.randrange(len(self.twins) + 1))
        by_one = self.dice.random() < 0.7
        if by_one:
            chosen = [slot for slot in chosen if self.twins[slot].ids]
        pieces = [self.twins[slot].piece(1 if by_one else self.dice.randrange(5)) for slot in chosen]
        ids, offsets = [tid for piece in pieces for tid in piece], [0]
        for piece in pieces:
            offsets.append(offsets[-1] + len(piece))
        frames = self.batch.feed_sse(chosen, ids, *([] if by_one else [offsets]))
        assert [*frames] == [self.twins[slot].stream.feed(piece) for slot, piece in zip(chosen, pieces)]

    # --- what somebody may do between two steps ---

    def look(self, slot: int) -> None:
        twin = self.twins[slot].stream
        getattr(self, self.dice.choice(LOOKS))(slot, twin)

    def usage(self, slot: int, twin: Any) -> None:
        """The batch's counts, and all that the parser knows. A batch leaves a note for tag formats out of it."""
        assert self.batch[slot].usage == twin.parser.usage
        if self.batch.format == "harmony":
            assert self.batch[slot].to_bytes() == twin.parser.to_bytes()
        assert self.batch.counts([slot]).tolist() == [[*twin.parser.usage, twin.parser.deviation_count]]

    def response(self, slot: int, twin: Any) -> None:
        self.compare(self.taken(slot), twin)

    def hold(self, slot: int, twin: Any) -> None:
        self.held.append((self.taken(slot), twin))

    def hold_parser(self, slot: int, twin: Any) -> None:
        self.parsers.append((self.batch[slot], twin.parser))

    def weak(self, slot: int, twin: Any) -> None:
        self.seen.append(weakref.ref(self.taken(slot)))

    def watched(self, slot: int, twin: Any) -> None:
        stream = self.taken(slot)
        assert repr(stream) == repr(twin)
        stream.seen_by_somebody = self

    def fork(self, slot: int, twin: Any) -> None:
        fork, other = self.batch[slot].fork(), twin.parser.fork()
        rest = self.twins[slot].ids
        assert fork.feed(rest) == other.feed(rest)
        assert fork.finish() == other.finish()

    def alone(self, slot: int, twin: Any) -> None:
        """It is fed by itself."""
        piece = self.twins[slot].piece(self.dice.randrange(3))
        assert self.taken(slot).feed(piece) == twin.feed(piece)

    def forget(self, slot: int, twin: Any) -> None:
        self.seen.clear()

    def moved(self, slot: int, twin: Any) -> None:
        """To another process and back."""
        kind = self.twins[slot].kind
        callbacks = {name: value for name, value in kind.options.items() if callable(value)}
        data = self.taken(slot).to_bytes()
        restored = type(twin).from_bytes(data, self.batch.vocab, tools=kind.tools, **callbacks)
        self.batch.close(slot)
        assert self.batch.add(restored) == slot
        self.held = [pair for pair in self.held if pair[1] is not twin]  # it stops here
        self.parsers = [pair for pair in self.parsers if pair[1] is not twin.parser]

    def compare(self, stream: Any, twin: Any) -> None:
        if twin._keeps_text:
            assert stream.response() == twin.response()
        assert repr(stream) == repr(twin)

    def over(self) -> None:
        """All that is left ends. Whoever has held a stream has the response that it was."""
        for slot in sorted(self.twins):
            self.end(slot)
        assert len(self.batch) == 0
        for stream, twin in self.held:
            self.compare(stream, twin)
        for parser, other in self.parsers:
            assert (parser.usage, parser.finish_reason) == (other.usage, other.finish_reason)


LOOKS = (
    *("usage", "response", "hold", "hold_parser", "weak", "watched", "forget", "forget", "fork"),
    *("alone", "moved"),
)
