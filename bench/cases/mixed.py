"""A busy server: 1,024 streams at random places of their answers. In each decode step, some end and others begin."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from functools import cache
from statistics import median

import harmonystream as hs
from bench import streams
from bench.cases.batch import STEPS, STREAMS, begun
from bench.cases.emitters import USAGE
from bench.clock import now
from bench.families import OF_FORMAT
from bench.report import Row, figure

LENGTHS = (120, 400)  # tokens of an answer, so about four of the streams end in a step
ANSWERS = 64
ENDS = 200
FLOORS = {"Chat": 100.0, "Responses": 120.0, "Messages": 110.0}
"""µs for a step, on the machine of `bench.clock`."""
OPEN, END = 5.0, 8.0  # µs

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


def vocab_of(format: str) -> hs.Vocab | None:
    return None if format == "harmony" else streams.vocab()


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
    """A batch, the ids of each slot's answer, and its position in them."""

    def __init__(self, api: str, format: str) -> None:
        self.api, self.format, self.answers = api, format, answers(format)
        self.dice = random.Random(7)
        self.batch = hs.batch.Batch(format, vocab_of(format), capacity=STREAMS)
        self.slots = array("i", range(STREAMS))
        self.saying: list[tuple[list[int], int]] = []
        for slot in range(STREAMS):
            answer = self.dice.choice(self.answers)
            at = self.dice.randrange(len(answer))
            assert begun(self.batch, api, format, vocab_of(format)) == slot
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
        steps, batch, vocab = list(self.planned()), self.batch, vocab_of(self.format)
        started = now()
        for ended, ids in steps:
            for slot in ended:
                batch.finish(slot, "stop", USAGE[self.api])
                begun(batch, self.api, self.format, vocab)
            batch.feed_sse(self.slots, ids)
        return (now() - started) / STEPS


def opening_and_ending(api: str) -> tuple[float, float]:
    """Microseconds to open a response, from nothing to a slot, and to end one with its usage, for each of ENDS."""
    batch = hs.batch.Batch(capacity=ENDS)
    answer = array("i", [*streams.harmony_ids(streams.FINAL), *prose()[:20]])
    started = now()
    for _ in range(ENDS):
        begun(batch, api)
    begun_in = now() - started
    for slot in range(ENDS):
        batch.feed_sse([slot], answer, [0, len(answer)])
    started = now()
    for slot in range(ENDS):
        batch.finish(slot, "stop", USAGE[api])
    return begun_in / ENDS / 1e3, (now() - started) / ENDS / 1e3


def measured(rounds: int) -> Iterator[Row]:
    for format in FORMATS:
        for api, floor in FLOORS.items():
            server = Server(api, format)
            server.round()  # the first one does not count
            step = median(server.round() for _ in range(rounds)) / 1e3
            yield figure(
                f"{api}, {format}: a step of {STREAMS:,} streams that end, with a usage, and begin",
                step,
                "µs",
                at_most=floor,
            )
    for api in FLOORS:
        opening_and_ending(api)
        first, ended = map(median, zip(*(opening_and_ending(api) for _ in range(max(3, rounds // 2)))))
        yield figure(f"{api}: open a response, start() and Batch.add() included", first, "µs", at_most=OPEN)
        yield figure(f"{api}: end one with its usage, Batch.finish()", ended, "µs", at_most=END)
