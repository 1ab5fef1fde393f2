"""Batches: in any order of opening, feeding, forking, closing and finishing, each slot says what a parser or an emitter
fed with the same pieces says; what is refused changes nothing."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import harmonystream as hs
from fuzz import emitters, emitting, oracles, rows, streaming, tags, tokens
from harmonystream._native.wire.batch import Batch

Case = dict[str, Any]
Op = tuple[str, int]
OPS = (
    *("feed", "feed", "feed_sse", "feed_sse", "pieces", "pieces_sse", "open", "open", "add", "add", "fork", "close"),
    *("finish", "alone", "response", "bad", "finish", "error"),
)
MOST_OPS = 60
CHANNELS = (None, "analysis", "commentary", "final")
FORMS: tuple[Callable[[list[int]], Any], ...] = (
    list,
    tuple,
    lambda ids: array("I", ids),
    lambda ids: array("Q", ids),
    lambda ids: memoryview(array("I", [tid for one in ids for tid in (one, 7)]))[::2],
)


def decode_ops(options: bytes, payload: bytes) -> tuple[Case, bytes]:
    """The first bytes of a payload are the steps, two for each; the rest is what the streams are made of."""
    size = 2 * min(options[5] % MOST_OPS, len(payload) // 4)
    ops = [(OPS[payload[i] % len(OPS)], payload[i + 1]) for i in range(0, size, 2)]
    return {"capacity": 1 + options[4] % 5, "ops": ops}, payload[size:]


def decode_ids(options: bytes, payload: bytes) -> Case:
    made, payload = decode_ops(options, payload)
    chosen = streaming.decode_options(options)
    return made | {key: chosen[key] for key in ("tools", "start", "empty_args")} | {"ids": tokens.read_ids(payload)}


def decode_tags(options: bytes, payload: bytes) -> Case:
    made, payload = decode_ops(options, payload)
    case = tags.decode(options, payload)
    case["how"] = case["how"] if case["how"] not in ("text", "str") else "control"
    kept = ("row", "how", "stream", "tools", "start", "empty_args", "trim", "max_hold")
    return made | {key: case[key] for key in kept}


def check_ids(ids: list[int], ops: list[Op], **case: Any) -> None:
    Run({"format": "harmony", "vocab": tokens.vocab()}, ids, **case).run(ops)


def check_tags(row: str, how: str, stream: Any, ops: list[Op], tools: str, **case: Any) -> None:
    alphabet = rows.alphabet_of(row)
    made = {"format": row, "vocab": alphabet.vocab(how), "check_stops": False}
    Run(made, rows.units(alphabet, how, stream), tools=rows.TOOLS[tools], **case).run(ops)


class Twin:
    """What one slot is compared with, fed with the same pieces; stream: what was added there, if it is an emitter that
    somebody holds."""

    def __init__(self, parser: hs.Parser, at: int, emitter: Any = None, stream: Any = None) -> None:
        self.parser, self.at, self.emitter, self.stream = parser, at, emitter, stream

    def columns(self, piece: list[int]) -> list[Any]:
        """A channel of another name is not in the columns."""
        told = oracles.as_tuples(self.parser.feed(piece))
        return [
            (*event[:2], None, *event[3:]) if event[0] == "ContentDelta" and event[2] not in CHANNELS else event
            for event in told
        ]


class Run:
    """One case. The streams' pieces are cut from one stream, each from another place on."""

    def __init__(self, made: Case, ids: list[int], capacity: int, tools: Any, start: str, **more: Any) -> None:
        self.made = made | {key: more[key] for key in ("empty_args", "trim", "max_hold") if key in more}
        self.batch = Batch(**self.made, capacity=capacity)
        self.slot_options = {"tools": tools, "start": start}
        self.ids, self.capacity = ids or [0], capacity
        self.twins: dict[int, Twin] = {}
        self.opened = 0

    def run(self, ops: list[Op]) -> None:
        self.open(0)
        self.add(1)
        for name, arg in ops:
            getattr(self, name)(arg)
            assert len(self.batch) == len(self.twins)
        for slot in sorted(self.twins):
            self.finish(slot)

    # -- slots --

    def placed(self, place: Callable[[], int], twin: Callable[[], Twin]) -> None:
        if len(self.twins) == self.capacity:
            try:
                place()
            except RuntimeError:
                return
            raise AssertionError("there was no slot left")
        slot = place()
        assert slot not in self.twins
        self.twins[slot] = twin()
        self.opened += 1

    def begin(self) -> int:
        return 7 * self.opened % len(self.ids)

    def parser(self) -> hs.Parser:
        return hs.Parser(**self.made, **self.slot_options)

    def open(self, _: int) -> None:
        self.placed(lambda: self.batch.open(**self.slot_options), lambda: Twin(self.parser(), self.begin()))

    def add(self, arg: int) -> None:
        api = emitters.APIS[arg % len(emitters.APIS)]
        variant = arg // len(emitters.APIS) % len(emitters.OPTIONS[api])
        if "token_ids" in emitters.OPTIONS[api][variant]:  # a batch does not take it
            return
        made, twin = (emitters.emitter_of(api, self.parser(), variant) for _ in range(2))
        assert made.start() == twin.start()
        self.placed(lambda: self.batch.add(made), lambda: Twin(twin.parser, self.begin(), twin, made))

    def emitter(self, slot: int) -> Any:
        return self.twins[slot].stream

    def some(self, arg: int) -> int | None:
        return sorted(self.twins)[arg % len(self.twins)] if self.twins else None

    def fork(self, arg: int) -> None:
        slot = self.some(arg)
        if slot is not None:
            other = self.twins[slot]
            self.placed(lambda: self.batch.add(self.batch[slot].fork()), lambda: Twin(other.parser.fork(), other.at))

    def close(self, arg: int) -> None:
        slot = self.some(arg)
        if slot is not None:
            twin = self.twins.pop(slot)
            stream = self.batch.close(slot)
            assert isinstance(stream, hs.Parser) if twin.emitter is None else stream is twin.stream
            self.compare(stream if twin.emitter is None else stream.parser, twin.parser)

    def finish(self, arg: int) -> None:
        slot = self.some(arg)
        if slot is None:
            return
        twin, reason = self.twins.pop(slot), emitting.REASONS[arg % len(emitting.REASONS)]
        if twin.emitter is not None and arg & 128:  # nobody holds anything
            assert self.batch.finish(slot, reason) == twin.emitter.finish(reason)
            return
        parser = self.batch[slot]
        if twin.emitter is None:
            told = oracles.as_tuples(self.batch.finish(slot, reason))
            assert told == oracles.as_tuples(twin.parser.finish(reason))
        else:
            assert self.batch.finish(slot, reason, {}) == twin.emitter.finish(reason, {})
        self.compare(parser, twin.parser)

    def error(self, arg: int) -> None:
        """An emitter breaks off; others may get its slot."""
        slot = self.some(arg)
        if slot is not None and self.twins[slot].emitter is not None:
            assert self.emitter(slot).error("odd") == self.twins[slot].emitter.error("odd")
            self.close(arg)

    def response(self, arg: int) -> None:
        """An emitter may be looked at between two steps."""
        slot = self.some(arg)
        if slot is not None and self.twins[slot].emitter is not None:
            assert self.emitter(slot).response() == self.twins[slot].emitter.response()

    @staticmethod
    def compare(parser: hs.Parser, other: hs.Parser) -> None:
        for name in ("position", "region", "calls", "usage", "deviations", "deviation_count", "channel", "recipient"):
            assert getattr(parser, name) == getattr(other, name), name

    # -- steps --

    def piece(self, twin: Twin, size: int) -> list[int]:
        taken = [self.ids[(twin.at + i) % len(self.ids)] for i in range(size)]
        twin.at += size
        return taken

    def chosen(self, arg: int, framed: bool) -> list[int]:
        """Some slots, in some order. Only those with emitters make frames, and the others columns."""
        slots = [slot for slot in sorted(self.twins) if framed == (self.twins[slot].emitter is not None)]
        slots = [slot for i, slot in enumerate(slots) if not arg >> i & 1]
        return slots[::-1] if arg & 32 else slots

    def step(self, arg: int, framed: bool, sizes: Iterable[int] | None) -> None:
        slots = self.chosen(arg, framed)
        pieces = [self.piece(self.twins[slot], size) for slot, size in zip(slots, sizes or [1] * len(slots))]
        form = FORMS[arg // 64 % 4 + (arg & 16 > 0)]
        offsets = [0]
        for piece in pieces:
            offsets.append(offsets[-1] + len(piece))
        ids = form([tid for piece in pieces for tid in piece])
        more = [] if sizes is None else [form(offsets)]
        if framed:
            frames = self.batch.feed_sse(form(slots), ids, *more)
            assert [*frames] == [self.twins[slot].emitter.feed(piece) for slot, piece in zip(slots, pieces)]
            return
        columns = self.batch.feed(form(slots), ids, *more)
        told = [(slot, event) for slot, one in columns for event in oracles.as_tuples([one])]
        alone = [(slot, self.twins[slot].columns(piece)) for slot, piece in zip(slots, pieces)]
        assert told == [(slot, event) for slot, events in alone for event in events]
        assert (len(columns), columns.offset[len(columns)]) == (len(told), len(columns.text))

    def feed(self, arg: int) -> None:
        self.step(arg, False, None)

    def feed_sse(self, arg: int) -> None:
        self.step(arg, True, None)

    def pieces(self, arg: int) -> None:
        self.step(arg, False, [(arg + 3 * i) % 5 for i in range(self.capacity)])

    def pieces_sse(self, arg: int) -> None:
        self.step(arg, True, [(arg + 3 * i) % 5 for i in range(self.capacity)])

    def alone(self, arg: int) -> None:
        """A slot is fed by itself between two steps."""
        slot = self.some(arg)
        if slot is not None:
            twin = self.twins[slot]
            piece = self.piece(twin, arg % 3)
            stream = self.batch[slot] if twin.emitter is None else self.emitter(slot)
            assert stream.feed(piece) == (twin.emitter or twin.parser).feed(piece)

    def bad(self, arg: int) -> None:
        """A step that is refused changes nothing."""
        slots = sorted(self.twins)
        if not slots:
            return
        free = next(slot for slot in range(self.capacity + 1) if slot not in self.twins)
        ids = [self.ids[0]] * len(slots)
        steps: list[tuple[Any, ...]] = [([*slots, free], [*ids, 1]), ([*slots, 2**32 - 1], [*ids, 1])]
        steps += [([*slots, 2**32], [*ids, 1]), (slots, ids, [0] * len(slots)), ([*slots, -1], [*ids, 1])]
        steps += [
            (slots, [*ids, 1]),
            ([*slots, *slots[:1], free], [*ids, 1, 1]),
            (slots, ids, [2**32 - 1] * len(slots) + [0]),
        ]
        verb = self.batch.feed_sse if arg & 128 else self.batch.feed
        before = [self.batch[slot].to_bytes() for slot in slots]
        try:
            verb(*steps[arg % len(steps)])
        except ValueError:
            assert [self.batch[slot].to_bytes() for slot in slots] == before
            return
        raise AssertionError("taken")
