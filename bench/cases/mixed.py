"""A busy server: 1,024 streams at random places of their answers, of which some end and begin in each decode step."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import harmonystream as hs
from bench import streams
from bench.cases.emitters import EMITTERS
from bench.clock import compared, now
from bench.families import ADDED_IDS, OF_FORMAT
from bench.report import Row, figure
from harmonystream.vocab import Vocab

STREAMS = 1024
STEPS = 32
LENGTHS = (120, 400)  # tokens of an answer, so about four of the streams end in a step
ANSWERS = 64
ENDS = 200
FLOORS = {"Chat": 1.6, "Responses": 2.0, "Messages": 1.7}
OPEN, END = 2.5, 4.0  # µs


class Kind(NamedTuple):
    """A format's answers: reasoning and text, text alone, and reasoning and a call, in turn."""

    format: str
    vocab: Vocab | None
    answers: list[list[int]]


def prose(dice: random.Random, n: int) -> list[int]:
    ids = streams.plain_ids(streams.without_markup(streams.prose_text()))
    at = dice.randrange(len(ids) - n)
    return ids[at : at + n]


def harmony_answer(dice: random.Random, which: int) -> list[int]:
    length = dice.randint(*LENGTHS)
    if which == 1:
        return [*streams.harmony_ids(streams.FINAL), *prose(dice, length - 4), *streams.harmony_ids("<|return|>")]
    opening = streams.harmony_ids(streams.ANALYSIS)
    if which == 0:
        rest = streams.harmony_ids(f"<|end|><|start|>assistant{streams.FINAL}")
        end, body = streams.harmony_ids("<|return|>"), length // 3
    else:
        rest = streams.harmony_ids(f"<|end|><|start|>assistant{streams.CALL}")
        end, body = [*streams.harmony_ids('"}<|call|>')], length - 40
        rest += streams.harmony_ids('{"content": "')
    tail = max(1, length - body - len(opening) - len(rest) - len(end))
    return [*opening, *prose(dice, body), *rest, *plain_string(dice, tail), *end]


def plain_string(dice: random.Random, n: int) -> list[int]:
    """Ids of the inside of a JSON string."""
    text = streams.without_markup(streams.prose_text()).replace('"', "").replace("\\", "").replace("\n", " ")
    ids = streams.plain_ids(text)
    at = dice.randrange(len(ids) - n)
    return ids[at : at + n]


def hermes_answer(dice: random.Random, which: int) -> list[int]:
    length, end = dice.randint(*LENGTHS), [ADDED_IDS["<|im_end|>"]]
    if which == 1:
        return [*prose(dice, length - 1), *end]
    thought = [ADDED_IDS["<think>"], *streams.plain_ids("\n"), *prose(dice, length // 3), ADDED_IDS["</think>"]]
    thought += streams.plain_ids("\n\n")
    if which == 0:
        return [*thought, *prose(dice, length - len(thought) - 1), *end]
    family = OF_FORMAT["hermes"]
    call = [*streams.marked_ids(family.before), *plain_string(dice, length // 2), *streams.marked_ids(family.after)]
    return [*thought, *call, *end]


@cache
def kind(format: str) -> Kind:
    dice = random.Random(13)
    answer = harmony_answer if format == "harmony" else hermes_answer
    vocab = None if format == "harmony" else streams.vocab()
    return Kind(format, vocab, [answer(dice, k % 3) for k in range(ANSWERS)])


class Server:
    """A batch, what each of its slots is saying, and how far each is."""

    def __init__(self, api: str, format: str) -> None:
        self.kind = kind(format)
        self.make = EMITTERS[api]
        self.dice = random.Random(7)
        self.batch = hs.Batch(format, self.kind.vocab, capacity=STREAMS)
        self.slots = array("i", range(STREAMS))
        self.saying: list[tuple[list[int], int]] = []
        for slot in range(STREAMS):
            assert self.open() == slot
            answer = self.dice.choice(self.kind.answers)
            at = self.dice.randrange(len(answer))
            offsets = array("q", [0, at])
            self.batch.feed_sse([slot], array("i", answer[:at]), offsets)
            self.saying.append((answer, at))

    def open(self) -> int:
        emitter = self.make(hs.Parser(self.kind.format, self.kind.vocab))
        emitter.start()
        return self.batch.add(emitter)

    def planned(self, steps: int) -> list[tuple[list[int], array[int]]]:
        """For each step the slots whose streams have ended before it, and the ids."""
        made = []
        for _ in range(steps):
            ended, ids = [], array("i")
            for slot, (answer, at) in enumerate(self.saying):
                if at == len(answer):
                    ended.append(slot)
                    answer, at = self.dice.choice(self.kind.answers), 0
                ids.append(answer[at])
                self.saying[slot] = answer, at + 1
            made.append((ended, ids))
        return made

    def round(self) -> float:
        """Nanoseconds for a step."""
        steps, batch, slots, make = self.planned(STEPS), self.batch, self.slots, self.make
        format, vocab = self.kind.format, self.kind.vocab
        started = now()
        for ended, ids in steps:
            for slot in ended:
                batch.finish(slot, "stop")
                emitter = make(hs.Parser(format, vocab))
                emitter.start()
                batch.add(emitter)
            batch.feed_sse(slots, ids)
        return (now() - started) / STEPS


class Plain:
    """The same with streams that are all in the middle of an answer, and stay there."""

    def __init__(self, api: str, format: str) -> None:
        given = kind(format)
        self.batch = hs.Batch(format, given.vocab, capacity=STREAMS)
        opening = streams.harmony_ids(streams.FINAL) if format == "harmony" else prose(random.Random(1), 4)
        self.slots = array("i")
        for _ in range(STREAMS):
            emitter = EMITTERS[api](hs.Parser(format, given.vocab))
            emitter.start()
            self.slots.append(self.batch.add(emitter))
            self.batch.feed_sse(self.slots[-1:], opening, [0, len(opening)])
        ids = prose(random.Random(2), STREAMS + STEPS)
        self.steps = [array("i", ids[at : at + STREAMS]) for at in range(STEPS)]

    def round(self) -> float:
        for slot in self.slots:  # what the answers have said so far is dropped
            emitter: Any = self.batch.close(slot)
            emitter._take("content")
            assert self.batch.add(emitter) == slot
        started = now()
        for ids in self.steps:
            self.batch.feed_sse(self.slots, ids)
        return (now() - started) / STEPS


def opening_and_ending(api: str) -> tuple[float, float]:
    """Microseconds to open a response, from nothing to a slot, and to end one, for each of ENDS."""
    batch, make = hs.Batch(capacity=ENDS), EMITTERS[api]
    answer = array("i", [*streams.harmony_ids(streams.FINAL), *prose(random.Random(3), 20)])
    started = now()
    for _ in range(ENDS):
        emitter = make(hs.Parser())
        emitter.start()
        batch.add(emitter)
    opened = now() - started
    for slot in range(ENDS):
        batch.feed_sse([slot], answer, [0, len(answer)])
    started = now()
    for slot in range(ENDS):
        batch.finish(slot, "stop")
    return opened / ENDS / 1e3, (now() - started) / ENDS / 1e3


def measured(rounds: int) -> Iterator[Row]:
    for format in ("harmony", "hermes"):
        for api, floor in FLOORS.items():
            plain, server = Plain(api, format), Server(api, format)
            ones, others, ratio = compared(plain.round, server.round, floor, rounds, rounds)
            name = f"{api}, {format}: a step of {STREAMS:,} streams that end and begin, over one of plain tokens"
            note = f"{ones / 1e3:.1f} and {others / 1e3:.1f} µs"
            yield figure(name, ratio, "×", at_most=floor, note=note)
    for api in FLOORS:
        samples = sorted(opening_and_ending(api) for _ in range(max(3, rounds // 2)))
        opened, ended = (sorted(column)[len(samples) // 2] for column in zip(*samples))
        yield figure(f"{api}: open a response, start() and Batch.add() included", opened, "µs", at_most=OPEN)
        yield figure(f"{api}: end one, Batch.finish()", ended, "µs", at_most=END)


def main() -> None:
    """`python -m bench.cases.mixed`: these rows alone."""
    from bench.clock import pin
    from bench.report import ABSOLUTE, show

    pin()
    show(ABSOLUTE, measured(7), markdown=False)


if __name__ == "__main__":
    main()
