"""The cases in which openai-harmony does the same work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench import official, ours, streams
from bench.clock import medians
from bench.old_release import OldRelease
from bench.rows import Ratio
from bench.streams import Work


@dataclass(frozen=True)
class Case:
    name: str
    work: Work
    run: Callable[[], float]
    floor: float | None = None


def one_by_one(name: str, work: Work, floor: float | None = None) -> Case:
    return Case(name, work, ours.one_at_a_time(work), floor)


def cases(n: int) -> Iterator[Case]:
    """n: the length of the streams, in tokens."""
    prose, code, chinese = streams.prose(n), streams.code_in_arguments(n), streams.chinese(n)
    yield one_by_one("feed(id): English, reasoning", prose, 25)
    yield one_by_one("feed(id): code, arguments", code, 25)
    yield one_by_one("feed(id): Chinese with emoji, answer", chinese, 25)
    yield Case("feed(id), and each event's text read", prose, ours.read_texts(prose))
    yield Case("feed(64 ids): English, reasoning", prose, ours.in_chunks(prose, 64), 100)
    yield Case("feed(64 ids): code, arguments", code, ours.in_chunks(code, 64), 100)
    yield Case("feed(64 ids): Chinese with emoji, answer", chinese, ours.in_chunks(chinese, 64))
    yield Case("label(int32 buffer): English, reasoning", prose, ours.labels(prose), 300)
    yield one_by_one("a short answer, parser included", streams.short_answer(), 60)
    yield one_by_one("a header that never ends", streams.endless_header(n // 8), 200)
    yield one_by_one("worst: characters split over four tokens", streams.split_characters(n))
    yield one_by_one("worst: arguments of nothing but escapes", streams.escapes_in_arguments(n))
    yield one_by_one("worst: messages of one token each", streams.many_messages(n // 8))


def measured(n: int, rounds: int, old: OldRelease | None) -> Iterator[Ratio]:
    encoding = streams.encoding()
    for case in cases(n):
        work = case.work
        contenders = {
            "ours": case.run,
            "newest": lambda work=work: official.per_token(encoding, work.opening, work.ids, work.whole),
        }
        if old is not None:
            contenders["old"] = old.round(work.name, work.opening, work.ids, work.whole)
        took = medians(contenders, rounds)
        yield Ratio(case.name, took["ours"], took["newest"], took.get("old"), case.floor)
