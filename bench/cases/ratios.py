"""The cases in which openai-harmony does the same work, in turns with it."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import harmonystream as hs
from bench import streams
from bench.cases.emitters import emitter_case
from bench.clock import Case, Feed, medians
from bench.report import Row, shown, verdict
from bench.rivals.sides import Side
from bench.streams import Stream

SSE_FLOOR = 15
HEAD = (
    "per token",
    "harmonystream",
    "openai-harmony {newest}",
    "faster",
    "floor",
    "",
    "openai-harmony {old}",
    "faster",
)


class Compared(NamedTuple):
    """Our way to read a stream, the stream as openai-harmony reads it, and how many times faster ours must be."""

    ours: Case
    stream: Stream
    floor: float | None = None


def parser_in(stream: Stream) -> hs.Parser:
    parser = hs.Parser()
    parser.feed(stream.opening)
    return parser


def one_by_one(name: str, stream: Stream) -> Case:
    return Case(name, lambda: parser_in(stream).feed, stream.body, len(stream.body))


def in_chunks(name: str, stream: Stream, size: int = 64) -> Case:
    pieces = [stream.body[at : at + size] for at in range(0, len(stream.body), size)]
    return Case(name, lambda: parser_in(stream).feed, pieces, len(stream.body))


def texts_read(name: str, stream: Stream) -> Case:
    """As a server would: look at each event."""

    def opened() -> Feed:
        feed = parser_in(stream).feed

        def read(ids: list[int]) -> None:
            for tid in ids:
                for event in feed(tid):
                    event.text  # noqa: B018

        return read

    return Case(name, opened, [stream.body], len(stream.body))


def whole(name: str, stream: Stream) -> Case:
    """The parser's making is timed, too."""

    def read(ids: list[int]) -> None:
        parser = hs.Parser()
        feed = parser.feed
        for tid in ids:
            feed(tid)
        parser.finish()

    return Case(name, lambda: read, [stream.body], len(stream.body))


def labelled(name: str, stream: Stream) -> Case:
    ids = array("i", [*stream.opening, *stream.body * 16])
    return Case(name, lambda: hs.label, [ids], len(ids), repeat=1)


def cases(n: int) -> Iterator[Compared]:
    """n: the length of the streams, in tokens."""
    prose, code, chinese = streams.prose(n), streams.code_in_arguments(n), streams.chinese(n)
    endless = streams.endless_header(n // 8)
    split, escapes = streams.split_characters(n), streams.escapes_in_arguments(n)
    short, many = streams.short_answer(), streams.many_messages(n // 8)
    yield Compared(one_by_one("feed(id): English, reasoning", prose), prose, 25)
    yield Compared(one_by_one("feed(id): code, arguments", code), code, 25)
    yield Compared(one_by_one("feed(id): Chinese with emoji, answer", chinese), chinese, 25)
    yield Compared(texts_read("feed(id), and each event's text read", prose), prose)
    yield Compared(in_chunks("feed(64 ids): English, reasoning", prose), prose, 100)
    yield Compared(in_chunks("feed(64 ids): code, arguments", code), code, 100)
    yield Compared(in_chunks("feed(64 ids): Chinese with emoji, answer", chinese), chinese)
    yield Compared(labelled("label(int32 buffer): English, reasoning", prose), prose, 300)
    yield Compared(whole("a short answer, parser included", short), short, 60)
    yield Compared(one_by_one("a header that never ends", endless), endless, 200)
    yield Compared(one_by_one("worst: characters split over four tokens", split), split)
    yield Compared(one_by_one("worst: arguments of nothing but escapes", escapes), escapes)
    yield Compared(whole("worst: messages of one token each", many), many)
    for kind, stream in (("content", streams.prose(n, streams.FINAL)), ("arguments", code)):
        framed = replace(stream, name=f"frames of {kind}", framed=True)
        yield Compared(emitter_case("Chat", f"token id to SSE bytes: {kind}", stream), framed, SSE_FLOOR)


def measured(n: int, rounds: int, newest: Side, old: Side | None) -> Iterator[Row]:
    rivals = {"newest": newest} if old is None else {"newest": newest, "old": old}
    for case in cases(n):
        for side in rivals.values():
            side.load(case.stream)
        rivals_rounds = {name: side.round_of(case.stream) for name, side in rivals.items()}
        took = medians({"ours": case.ours.round, **rivals_rounds}, rounds)
        yield ratio(case.ours.name, took["ours"], took["newest"], took.get("old"), case.floor)


def ratio(name: str, ours: float, newest: float, old: float | None = None, floor: float | None = None) -> Row:
    """Nanoseconds per token of each."""
    met = None if floor is None else newest / ours >= floor
    cells = (name, f"{shown(ours)} ns", f"{shown(newest)} ns", f"{shown(newest / ours)}×")
    cells += ("" if floor is None else f"{floor:g}×", verdict(met))
    cells += ("–", "–") if old is None else (f"{shown(old)} ns", f"{shown(old / ours)}×")
    return Row(cells, {} if met is None else {name: met})
