"""Token id -> the bytes of server-sent events, one token per call; and does a long response cost more per token?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from bench import by_hand, streams
from bench.clock import medians, now
from bench.emitters import EMITTERS, opened, per_token, works
from bench.old_release import OldRelease
from bench.rows import Figure, Ratio
from bench.streams import Work

BLOCKS = 64
OPENING = 16  # tokens until an item is open and its frames are made
KINDS = ("content", "arguments")


def measured(n: int, rounds: int, old: OldRelease | None) -> Iterator[Ratio]:
    """n: the length of the streams, in tokens."""
    encoding, given = streams.encoding(), works(n)
    for kind in KINDS:
        work = given[kind]
        contenders = {
            "ours": per_token("Chat", kind, work),
            "newest": lambda work=work: by_hand.per_token(encoding, work.opening, work.ids),
        }
        if old is not None:
            contenders["old"] = old.round(f"frames of {kind}", work.opening, work.ids, framed=True)
        took = medians(contenders, rounds)
        yield Ratio(f"token id to SSE bytes: {kind}", took["ours"], took["newest"], took.get("old"), 15)


def last_over_first(api: str, kind: str, work: Work) -> Callable[[], float]:
    """A round: the 64th block of a response, over the first. Each block holds the same tokens.

    The first tokens are fed beforehand: they open an item of the response, once, which would make the first block dear.
    """
    first, rest = work.ids[:OPENING], work.ids[OPENING:]

    def block(emitter: Any) -> int:
        feed = emitter.feed
        started = now()
        for tid in rest:
            feed(tid)
        return now() - started

    def run() -> float:
        young, old = opened(api, kind, work), opened(api, kind, work)
        for tid in first:
            young.feed(tid)
            old.feed(tid)
        for _ in range(BLOCKS - 1):
            block(old)
        return block(old) / block(young)

    return run


def linear(n: int, rounds: int) -> Iterator[Figure]:
    """n: the length of a block, in tokens."""
    given = works(n)
    for api in EMITTERS:
        for kind in KINDS:
            run = last_over_first(api, kind, given[kind])
            run()
            value = median(run() for _ in range(min(rounds, 31)))
            name = f"{api}: a token of {kind} after {BLOCKS - 1}k, over one of the first 1k"
            yield Figure(name, value, "×", at_most=1.1)
