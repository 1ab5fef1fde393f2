"""A busy server: 1,024 streams at random places of their answers, of which some end and begin in each decode step."""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator
from functools import cache, partial
from statistics import median
from typing import Any

import harmonystream as hs
from bench import streams
from bench.cases.batch import STEPS, STREAMS, Busy, begun
from bench.cases.emitters import EMITTERS
from bench.clock import compared, now
from bench.families import OF_FORMAT
from bench.report import Row, figure

LENGTHS = (120, 400)  # tokens of an answer, so about four of the streams end in a step
ANSWERS = 64
ENDS = 200
FLOORS = {"Chat": 1.6, "Responses": 2.0, "Messages": 1.7}
OPEN, OPEN_AGAIN, END = 2.5, 1.0, 4.0  # µs
BEFORE = "f2af185"
PLAIN_BEFORE = {"Chat": 47.0, "Responses": 62.0, "Messages": 47.0}
"""µs for a step of plain tokens at that commit, when the floors were set, on the machine of `bench.clock`."""

# Reasoning and text, text alone, reasoning and a call: each part, with its share of the answer's body.
SAYS = (((1, "reasoning"), (2, "text")), ((1, "text"),), ((1, "reasoning"), (1, "call")))
NEXT, CALL = "<|end|><|start|>assistant", OF_FORMAT["hermes"]
HARMONY = {
    "reasoning": (streams.ANALYSIS, ""),
    "text": (streams.FINAL, "<|return|>"),
    "call": (f'{streams.CALL}{{"content": "', '"}<|call|>'),
}
HERMES = {
    "reasoning": ("<think>\n", "</think>\n\n"),
    "text": ("", "<|im_end|>"),
    "call": (CALL.before, CALL.after + "<|im_end|>"),
}
FORMATS = {"harmony": (HARMONY, NEXT, streams.harmony_ids), "hermes": (HERMES, "", streams.marked_ids)}


@cache
def prose() -> list[int]:
    """Ids that may be in a JSON string, too."""
    text = streams.without_markup(streams.prose_text())
    return streams.plain_ids(text.replace('"', "").replace("\\", "").replace("\n", " "))


@cache
def pattern(api: str, format: str) -> Any:
    """What opens the server's responses."""
    return EMITTERS[api](hs.Parser(format, None if format == "harmony" else streams.vocab()))


def opener(batch: hs.Batch, api: str, format: str = "harmony") -> Callable[[], tuple[int, bytes]]:
    """Opens a response by a pattern: its slot and its first frames."""
    return partial(batch.open_sse, pattern(api, format), id="c", created=None if api == "Messages" else 1)


@cache
def answers(format: str) -> list[list[int]]:
    dice = random.Random(13)
    marks, between, cut = FORMATS[format]
    made = []
    for number in range(ANSWERS):
        parts, ids = SAYS[number % len(SAYS)], []
        body = dice.randint(*LENGTHS) - 8 * len(parts)  # about so many ids are markers
        for at, (share, kind) in enumerate(parts):
            before, after = marks[kind]
            n = body * share // sum(each for each, _ in parts)
            begin = dice.randrange(len(prose()) - n)
            ids += [*cut((between if at else "") + before), *prose()[begin : begin + n], *cut(after)]
        made.append(ids)
    return made


class Server:
    """A batch, what each of its slots is saying, and how far each is."""

    def __init__(self, api: str, format: str) -> None:
        self.api, self.format, self.answers = api, format, answers(format)
        self.dice = random.Random(7)
        self.batch = hs.Batch(format, pattern(api, format).parser.vocab, capacity=STREAMS)
        self.open = opener(self.batch, api, format)
        self.slots = array("i", range(STREAMS))
        self.saying: list[tuple[list[int], int]] = []
        for slot in range(STREAMS):
            answer = self.dice.choice(self.answers)
            at = self.dice.randrange(len(answer))
            assert self.open()[0] == slot
            self.batch.feed_sse([slot], array("i", answer[:at]), [0, at])
            self.saying.append((answer, at))

    def planned(self) -> Iterator[tuple[list[int], array[int]]]:
        """For each step the slots whose streams have ended before it, and the ids."""
        for _ in range(STEPS):
            ended, ids = [], array("i")
            for slot, (answer, at) in enumerate(self.saying):
                if at == len(answer):
                    ended.append(slot)
                    answer, at = self.dice.choice(self.answers), 0
                ids.append(answer[at])
                self.saying[slot] = answer, at + 1
            yield ended, ids

    def round(self) -> float:
        """Nanoseconds for a step."""
        steps, batch = list(self.planned()), self.batch
        started = now()
        for ended, ids in steps:
            for slot in ended:
                batch.finish(slot, "stop")
                self.open()
            batch.feed_sse(self.slots, ids)
        return (now() - started) / STEPS


def plain(api: str, format: str) -> Busy:
    """The same with streams that are all in the middle of an answer, and stay there. Each is at some place of it."""
    opening = streams.harmony_ids(streams.FINAL) if format == "harmony" else prose()[:4]
    dice = random.Random(5)
    places = [dice.randrange(len(prose()) - STEPS) for _ in range(STREAMS)]
    return Busy(api, opening, prose(), format, None if format == "harmony" else streams.vocab(), places)


def opening_and_ending(api: str) -> tuple[float, float, float]:
    """Microseconds to open a response, from nothing to a slot, to end one, and to open the next one by a pattern, for
    each of ENDS.
    """
    batch = hs.Batch(capacity=ENDS)
    answer = array("i", [*streams.harmony_ids(streams.FINAL), *prose()[:20]])
    started = now()
    for _ in range(ENDS):
        begun(batch, api)
    begun_in = now() - started
    for slot in range(ENDS):
        batch.feed_sse([slot], answer, [0, len(answer)])
    started = now()
    for slot in range(ENDS):
        batch.finish(slot, "stop")
    ended = now() - started
    open_sse = opener(batch, api)
    for timed in (False, True):  # the second time, the slots have the memory of responses that have ended
        started = now()
        for _ in range(ENDS):
            open_sse()
        again = now() - started
        for slot in range(ENDS if not timed else 0):
            batch.finish(slot, "stop")
    return begun_in / ENDS / 1e3, ended / ENDS / 1e3, again / ENDS / 1e3


def measured(rounds: int) -> Iterator[Row]:
    for format in FORMATS:
        for api, floor in FLOORS.items():
            busy, server = plain(api, format), Server(api, format)
            ones, others, ratio = compared(busy.round, server.round, floor, rounds, rounds)
            name = f"{api}, {format}: a step of {STREAMS:,} streams that end and begin, over one of plain tokens"
            yield figure(name, ratio, "×", at_most=floor, note=f"{ones / 1e3:.1f} and {others / 1e3:.1f} µs")
            name = f"{api}, {format}: the same, {floor:g} times a plain step of {BEFORE} allowed"
            yield figure(name, others / 1e3, "µs", at_most=floor * PLAIN_BEFORE[api])
    for api in FLOORS:
        opening_and_ending(api)  # the first round does not count
        first, ended, again = map(median, zip(*(opening_and_ending(api) for _ in range(max(3, rounds // 2)))))
        yield figure(f"{api}: open a response, start() and Batch.add() included", first, "µs", at_most=OPEN)
        yield figure(f"{api}: open the next one in its slot, Batch.open_sse()", again, "µs", at_most=OPEN_AGAIN)
        yield figure(f"{api}: end one, Batch.finish()", ended, "µs", at_most=END)
