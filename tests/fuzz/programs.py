"""Programs of API calls: parsers, emitters, batches and columns that are made, fed, moved, forked, ended and dropped in
any order, by callbacks too. A call does what it does alone, or raises an error that the API documents; nothing crashes.
"""

from __future__ import annotations

import gc
import io
import json
from collections.abc import Callable
from typing import Any

import harmonystream as hs
from fuzz import emitters, emitting, rows, tokens
from harmonystream.emit.common.stream import EventStream

Case = dict[str, Any]
STEP = 3  # bytes of a payload: the call, which objects, what they get
MOST_STEPS = 120
MOST_OBJECTS = 6  # of a kind
MOST_DEPTH = 2  # of callbacks that call what called them
DOCUMENTED = (
    ValueError,
    TypeError,
    RuntimeError,
    KeyError,
    hs.errors.EmitterError,
)  # ParseError and the like are among them
FORMATS = ("harmony", "hermes", "glm", "pythonic")
WATCH = [("f", "k"), ("f", "l", ..., "t"), ("g", "k")]
TEXTS = (
    *("a", " b\n", "é\ud800", "", "<think>", "</think>", '"', "{", "}", '{"k": "v'),
    *('<tool_call>\n{"name": "f", "arguments": {"k": "x\\n', '"}}\n</tool_call>', "<tool_call>f\n<arg_key>k</arg_key>"),
    *("<arg_value>1</arg_value></tool_call>", "[f(k='a', l=[1])]", "<|channel|>analysis<|message|>", "<|end|>"),
    *("<|start|>assistant<|channel|>commentary to=functions.f<|message|>", "<|call|>", "<|channel|>final<|message|>"),
)


class RaisedError(Exception):
    """What a callback raises by itself."""


class Text(str):
    """A str that is not one exactly."""

    __slots__ = ()


def decode(options: bytes, payload: bytes) -> Case:
    steps = [tuple(payload[i : i + STEP]) for i in range(0, len(payload) - STEP + 1, STEP)][:MOST_STEPS]
    return {"format": FORMATS[options[0] % len(FORMATS)], "steps": steps, "callbacks": options[1] % 8}


def check(format: str, steps: list[tuple[int, int, int]], callbacks: int) -> None:
    world = World(format, steps, callbacks)
    try:
        while world.steps:
            world.step()
        world.look()
    finally:
        world.clear()
    gc.collect(0)


class Odd:
    """A subclass of an emitter: its callback goes on with the program, or raises, while its stream is inside."""

    world: World | None = None

    def _answer_tokens(self, start: int, stop: int, last: bool) -> tuple[str, str]:
        if self.world is not None:
            self.world.call_back()
        return super()._answer_tokens(start, stop, last)  # type: ignore[misc, no-any-return]

    def _answer_call(self, event: Any, index: int, item: int) -> Any:
        if self.world is not None:
            self.world.call_back()
        return super()._answer_call(event, index, item)  # type: ignore[misc]


class OddChat(Odd, hs.ChatStream):
    pass


class OddResponses(Odd, hs.ResponsesStream):
    pass


class OddMessages(Odd, hs.MessagesStream):
    pass


class World:
    """The objects of a program, and what it has still to do."""

    def __init__(self, format: str, steps: list[tuple[int, int, int]], callbacks: int) -> None:
        self.format, self.steps, self.callbacks = format, list(reversed(steps)), callbacks
        self.vocab = tokens.vocab() if format == "harmony" else rows.built_in(format).vocab("control")
        self.parsers: list[hs.Parser] = []
        self.streams: list[EventStream] = []
        self.batches: list[hs.batch.Batch] = []
        self.blobs: list[tuple[str, bytes]] = []
        self.kept: list[Any] = []
        self.depth = 0

    def clear(self) -> None:
        """The streams keep the world, and the world them."""
        self.steps.clear()
        for kept in (self.parsers, self.streams, self.batches, self.kept):
            kept.clear()

    def step(self) -> None:
        number, which, what = self.steps.pop()
        try:
            CALLS[number % len(CALLS)](self, which, what)
        except DOCUMENTED as error:
            assert str(error)
        except RaisedError:
            pass

    def call_back(self) -> None:
        """A callback runs the program's next step, or raises."""
        if self.callbacks & 1 and self.steps and self.depth < MOST_DEPTH:
            self.depth += 1
            try:
                self.step()
            finally:
                self.depth -= 1
        if self.callbacks & 2 and self.steps and self.steps[-1][0] & 4:
            raise RaisedError
        if self.callbacks & 4:
            gc.collect(0)

    def look(self) -> None:
        """What holds of every stream, wherever it is."""
        for parser in self.parsers:
            usage = parser.usage
            assert usage.total == parser.position or parser.finished or parser.strict
            assert repr((parser, parser.region, parser.role, parser.channel, parser.deviations))
            assert parser.calls >= 0

    def ids(self, what: int) -> list[int]:
        """Some ids, often those of a whole turn."""
        if what < 64:
            return [what]
        size = what % 24
        return [(what * 7 + k * k * (1 + which)) % (len(self.vocab) + 1) for k, which in enumerate([what % 5] * size)]


def keep(objects: list[Any], new: Any) -> None:
    objects.append(new)
    del objects[:-MOST_OBJECTS]


def one_of(objects: list[Any], which: int) -> Any:
    if not objects:
        raise ValueError("there is none yet")
    return objects[which % len(objects)]


# -- the calls: each takes the world, a byte that chooses objects, and one that says what they get --------------------


def make_parser(world: World, which: int, what: int) -> None:
    options: Case = [{}, {"tools": ["f"]}, {"strict": True}, {"watch": WATCH}, {"trim": "none"}, {"max_hold": 1024}][
        which % 6
    ]
    parser = hs.Parser(world.format, world.vocab, check_stops=False, **options)
    if what & 1 and world.format == "harmony":
        parser = hs.Parser(start="answer", tools=[], check_stops=False)
    keep(world.parsers, parser)


def make_stream(world: World, which: int, what: int) -> None:
    parser = hs.Parser(world.format, world.vocab, check_stops=False)
    if what & 3 == 3:
        parser = one_of(world.parsers, which)
    api = emitters.APIS[what % 3]
    if what & 4:
        kind: Any = (OddChat, OddResponses, OddMessages)[what % 3]
        made = {"created": 1} if what % 3 == 0 else {"created": 1} if what % 3 == 1 else {}
        stream = kind(parser, id="x", model="m", **made)
        stream.world = world
    else:
        stream = emitters.emitter_of(api, parser, which)
    if what & 8:
        stream.start()
    keep(world.streams, stream)


def make_batch(world: World, which: int, what: int) -> None:
    keep(world.batches, hs.batch.Batch(world.format, world.vocab, capacity=1 + which % 4, check_stops=False))


def feed(world: World, which: int, what: int) -> None:
    keep(world.kept, one_of(world.parsers, which).feed(world.ids(what)))


def feed_one(world: World, which: int, what: int) -> None:
    keep(world.kept, one_of(world.parsers, which).feed(what))


def feed_oddly(world: World, which: int, what: int) -> None:
    """Ids from what calls back while they are read, and what holds no ids."""
    parser = one_of(world.parsers, which)
    others = (None, "text", 2.5, [None], iter([what]), [2**32], -1, object(), (n for n in [1, what]), bytearray(3))
    if what & 16:

        def calling() -> Any:
            yield what
            world.call_back()
            yield parser.feed(what) and what

        parser.feed(calling())
    parser.feed(others[what % len(others)])


def feed_text(world: World, which: int, what: int) -> None:
    text: Any = TEXTS[what % len(TEXTS)]
    text = Text(text) if what & 64 else text.encode("utf-8", "surrogatepass") if what & 128 else text
    keep(world.kept, one_of(world.parsers, which).feed_text(text))


def feed_delta(world: World, which: int, what: int) -> None:
    given = TEXTS[what % len(TEXTS)] if what & 128 else world.ids(what)
    keep(world.kept, one_of(world.parsers, which).feed_delta(given))


def finish(world: World, which: int, what: int) -> None:
    parser = one_of(world.parsers, which)
    keep(
        world.kept, (parser.finish_delta if what & 1 else parser.finish)(emitting.REASONS[what % len(emitting.REASONS)])
    )
    if what & 2:
        parser.reset()


def fork(world: World, which: int, what: int) -> None:
    keep(world.parsers, one_of(world.parsers, which).fork())


def move(world: World, which: int, what: int) -> None:
    parser = one_of(world.parsers, which)
    data = parser.to_bytes()
    world.kept.append(data)
    watch = WATCH if what & 1 else ()
    twin = hs.Parser.from_bytes(data, parser.vocab, tools=["f"] if what & 2 else None, watch=watch)
    assert twin.to_bytes() == data
    keep(world.parsers, twin)


def stream_feed(world: World, which: int, what: int) -> None:
    stream = one_of(world.streams, which)
    keep(world.kept, stream.feed(what) if what < 128 else stream.feed(world.ids(what)))


def stream_text(world: World, which: int, what: int) -> None:
    keep(world.kept, one_of(world.streams, which).feed_text(TEXTS[what % len(TEXTS)]))


def stream_verbs(world: World, which: int, what: int) -> None:
    stream = one_of(world.streams, which)
    verbs: tuple[Callable[[], Any], ...] = (
        *(stream.start, stream.response, stream.events, lambda: stream.error("mine"), stream.flush),
        *(lambda: stream.events([what]), lambda: stream.finish("stop"), lambda: stream.finish("length", {"odd": what})),
        *(lambda: stream.finish(None, emitting.USAGES["chat"]), lambda: stream.feed_events(one_of(world.kept, what))),
        *(lambda: stream.feed(what, logprobs=[None]), lambda: stream.events(finish=True), lambda: repr(stream)),
    )
    keep(world.kept, verbs[what % len(verbs)]())


def stream_move(world: World, which: int, what: int) -> None:
    stream = one_of(world.streams, which)
    key = b"0123456789abcdef0123456789abcdef" if what & 1 else None
    data = stream.to_bytes(key=key)
    kind: Any = type(stream)
    keep(world.streams, kind.from_bytes(data, world.vocab, key=key))
    json.dumps(world.streams[-1].response())


def batch_add(world: World, which: int, what: int) -> None:
    batch = one_of(world.batches, which)
    made = one_of(world.streams if what & 1 else world.parsers, what >> 1)
    slot = batch.add(made)
    assert slot in range(batch.capacity)
    if what & 32 and isinstance(made, EventStream):
        made.batch = batch  # type: ignore[attr-defined]


def batch_open(world: World, which: int, what: int) -> None:
    batch = one_of(world.batches, which)
    keep(world.kept, batch.open_many(what % 3) if what & 8 else batch.open())


def batch_feed(world: World, which: int, what: int) -> None:
    batch = one_of(world.batches, which)
    verb = batch.feed_sse if what & 1 else batch.feed
    slots = [slot for slot in range(batch.capacity) if which >> 3 + slot & 1]
    if what & 2:
        ids = world.ids(what)
        columns = verb(slots, ids * len(slots), range(0, len(ids) * len(slots) + 1, max(1, len(ids))))
    else:
        columns = verb(slots, [what] * len(slots))
    keep(world.kept, columns)
    keep(world.kept, list(columns))


def batch_verbs(world: World, which: int, what: int) -> None:
    batch = one_of(world.batches, which)
    slot = what >> 4 & 3
    verbs: tuple[Callable[[], Any], ...] = (
        *(lambda: batch.close(slot), lambda: batch.finish(slot, "stop"), lambda: batch.finish_many([slot], "length")),
        *(lambda: list(batch.counts([slot])), lambda: keep(world.parsers, batch[slot]), lambda: len(batch)),
        *(
            lambda: batch.finish(slot, None, {"input_tokens": 1}),
            lambda: repr(batch),
            lambda: batch.feed([slot, slot], [1, 2]),
        ),
    )
    keep(world.kept, verbs[what % len(verbs)]())


def columns(world: World, which: int, what: int) -> None:
    """Whole outputs, as columns."""
    ids = world.ids(255 - what)
    vocab, format = world.vocab, world.format
    made: Any = hs.columns.parse_many(
        [ids, ids[: what % 9], []] if which & 1 else ([*ids], [0, len(ids)]), format, vocab, threads=1
    )
    keep(world.kept, [made, list(made)])
    keep(world.kept, hs.parse(ids, format, vocab=vocab))
    hs.label(ids, format, vocab=vocab)


def drop(world: World, which: int, what: int) -> None:
    objects: list[Any] = (world.parsers, world.streams, world.batches, world.kept)[which % 4]
    if objects:
        del objects[what % len(objects)]
    if which & 4:
        gc.collect(what % 2)


def cycle(world: World, which: int, what: int) -> None:
    """An emitter that holds itself, its batch and the world."""
    stream = one_of(world.streams, which)
    stream.itself, stream.world = [stream, world.batches[-1:]], world
    print(repr(stream), file=io.StringIO())


CALLS: tuple[Callable[[World, int, int], None], ...] = (
    *(make_parser, make_stream, make_batch, feed, feed_one, feed_text, stream_feed, batch_feed, batch_add),
    *(feed_oddly, feed_delta, finish, fork, move, stream_text, stream_verbs, stream_move, batch_open, batch_verbs),
    *(columns, drop, cycle, feed_one, stream_feed, batch_feed, stream_verbs, feed_text, make_stream, batch_add),
)
