"""Threads at one parser, emitter or batch, which change hands as often as Python can.

A call does what it does alone, or raises RuntimeError (or ValueError, for what another thread has ended). Nothing
crashes, is lost, or is counted twice.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import harmonystream as hs
from fuzz import emitters, rows, tokens

Case = dict[str, Any]
KINDS = ("parser", "emitter", "batch", "framed")
FORMATS = ("harmony", "hermes", "glm")
MANY = 6000  # ids of a call that releases the GIL
CALLS = 12  # of each thread


def decode(options: bytes, payload: bytes) -> Case:
    return {
        "kind": KINDS[options[0] % len(KINDS)],
        "format": FORMATS[options[1] % len(FORMATS)],
        "api": emitters.APIS[options[2] % 3],
        "span": list(payload[:60]) or [1],
        "calls": [list(payload[at : at + CALLS]) for at in range(0, 3 * CALLS, CALLS)],
    }


@contextmanager
def often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def check(kind: str, format: str, api: str, span: list[int], calls: list[list[int]]) -> None:
    """span: ids that are repeated in long calls. calls: what each thread does."""
    vocab = tokens.vocab() if format == "harmony" else rows.built_in(format).vocab("control")
    ids = [tid % len(vocab) for tid in span]
    long = (ids * (MANY // len(ids) + 1))[:MANY]
    world = {"parser": Alone, "emitter": Emitter, "batch": Slots, "framed": Slots}[kind](kind, format, vocab, api)
    failed: list[BaseException] = []

    def run(numbers: list[int]) -> None:
        for number in numbers:
            try:
                world.call(number, long, ids)
            except RuntimeError as error:
                assert "in use" in str(error) or "slots are taken" in str(error), error
            except ValueError:  # another thread has ended it
                pass
            except BaseException as error:
                failed.append(error)

    threads = [threading.Thread(target=run, args=(numbers,)) for numbers in calls]
    with often():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
    world.look()


class Alone:
    """One parser."""

    def __init__(self, kind: str, format: str, vocab: hs.Vocab, api: str) -> None:
        self.parser = hs.Parser(format, vocab, check_stops=False)
        self.fed: list[int] = []  # how many ids each call that went well has read: append() is atomic

    def call(self, number: int, long: list[int], ids: list[int]) -> None:
        parser = self.parser
        if number % 4 == 0:
            parser.feed(long)
            self.fed.append(len(long))
        elif number % 4 == 1:
            parser.feed(ids[0])
            self.fed.append(1)
        elif number % 4 == 2:
            parser.feed_delta(ids)
            self.fed.append(len(ids))
        else:
            assert repr(parser) and parser.region in hs.Region and parser.calls >= 0
            assert parser.usage.total >= 0 and len(parser.deviations) <= 16 and parser.role is not parser
            twin = parser.fork()
            assert twin.usage.total == twin.position
            hs.Parser.from_bytes(parser.to_bytes(), parser.vocab)

    def look(self) -> None:
        self.parser.finish()  # before, tokens that are held are not counted
        self.count()

    def count(self) -> None:
        assert self.parser.position == self.parser.usage.total == sum(self.fed)


class Emitter(Alone):
    """One emitter, and its parser's looks."""

    def __init__(self, kind: str, format: str, vocab: hs.Vocab, api: str) -> None:
        super().__init__(kind, format, vocab, api)
        self.stream: Any = emitters.emitter_of(api, self.parser)
        self.stream.start()

    def call(self, number: int, long: list[int], ids: list[int]) -> None:
        if number % 5 < 3:
            given: Any = (long, ids[0], ids)[number % 5]
            self.stream.feed(given)
            self.fed.append(1 if isinstance(given, int) else len(given))
        elif number % 5 == 3:
            self.stream.response()
        else:
            super().call(3, long, ids)

    def look(self) -> None:
        self.stream.finish("stop")
        self.count()
        assert self.stream.response()


class Slots:
    """One batch, in which streams are opened, fed and closed."""

    def __init__(self, kind: str, format: str, vocab: hs.Vocab, api: str) -> None:
        self.framed, self.api, self.format, self.vocab = kind == "framed", api, format, vocab
        self.batch = hs.batch.Batch(format, vocab, capacity=4, check_stops=False)
        for _ in range(2):
            self.add()

    def add(self) -> None:
        if self.framed:
            stream: Any = emitters.emitter_of(self.api, hs.Parser(self.format, self.vocab, check_stops=False))
            stream.start()
            self.batch.add(stream)
        else:
            self.batch.open()

    def call(self, number: int, long: list[int], ids: list[int]) -> None:
        batch, slot = self.batch, number >> 3 & 3
        feed = batch.feed_sse if self.framed else batch.feed
        verbs: tuple[Callable[[], Any], ...] = (
            *(lambda: feed([slot], long, [0, len(long)]), lambda: feed([0, 1], ids[:1] * 2), self.add),
            *(lambda: batch.close(slot), lambda: batch.finish(slot, "stop"), lambda: batch[slot].fork()),
            *(lambda: batch[slot].usage, lambda: batch.counts([slot])),
        )
        verbs[number % len(verbs)]()

    def look(self) -> None:
        batch = self.batch
        for slot in range(batch.capacity):
            try:
                parser = batch[slot]
            except ValueError:
                continue
            assert parser.position == parser.usage.total
        assert 0 <= len(batch) <= batch.capacity
