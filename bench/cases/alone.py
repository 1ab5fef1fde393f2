"""Cases without a rival, and their rows. pytest-benchmark can time them, too (bench/test_cases.py)."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import harmonystream as hs
from bench import streams
from bench.cases import batch, blocks, emitters
from bench.cases import rows as whole_rows
from bench.clock import Case, Feed, medians
from bench.report import Row, figure, shown

PIECE = 64 * 1024  # characters of ASCII, bytes of anything else
LITTLE = 4  # characters
NEW = "a new Parser on a loaded vocabulary"
ARGUMENTS = streams.CALL + '{"content": "'
EMITTERS_HEAD = ("SSE bytes, per token", *emitters.KINDS)


class Alone(NamedTuple):
    """A case and its floor, in its unit. Megabytes per second have a lower bound, all others an upper one."""

    case: Case
    unit: str = "ns"
    floor: float | None = None
    note: str = ""

    def row(self, nanoseconds: float) -> Row:
        """nanoseconds: for each of the case's units."""
        if self.unit == "MB/s":
            return figure(self.case.name, 1e3 / nanoseconds, self.unit, at_least=self.floor, note=self.note)
        value = nanoseconds / 1e3 if self.unit == "µs" else nanoseconds
        return figure(self.case.name, value, self.unit, at_most=self.floor, note=self.note)


def filled(text: str) -> str:
    """64 KiB of it, in UTF-8."""
    data = text.encode()
    return (data * (PIECE // len(data) + 1))[:PIECE].decode("utf-8", "ignore")


def text_case(name: str, header: str, chunks: list[str] | list[bytes], units: int, repeat: int) -> Case:
    def opened() -> Feed:
        parser = hs.Parser()
        parser.feed_text(header)
        return parser.feed_text

    return Case(name, opened, chunks, units, repeat)


def texts(n: int) -> Iterator[Alone]:
    """n: the length of the streams, in tokens."""
    marked, chinese = filled(streams.prose_text().replace("<|", "(|")), filled(streams.chinese_text())
    prose = marked.replace("<", "(")  # not one that could begin a marker
    escaped = json.dumps(streams.code_text().replace("<|", "(|"))[1:-1]
    code = filled(escaped).rstrip("\\")  # a chunk that ends in half an escape would close the string
    for name, header, text in (("English, answer", streams.FINAL, prose), ("code, arguments", ARGUMENTS, code)):
        chunks = [text[at : at + LITTLE] for at in range(0, min(n * LITTLE, len(text)), LITTLE)]
        yield Alone(text_case(f"feed_text(4 characters): {name}", header, chunks, len(chunks), 1), floor=120)
    for name, header, chunk, floor in (
        ("English str, answer (handed on as it is)", streams.FINAL, prose, 500),
        ("English bytes, answer", streams.FINAL, prose.encode(), 500),
        ("Chinese str, answer (handed on as it is)", streams.FINAL, chinese, 500),
        ("Chinese bytes, answer", streams.FINAL, chinese.encode(), 500),
        ("English str with a `<` here and there", streams.FINAL, marked, None),
        ("code str, arguments", ARGUMENTS, code, None),
        ("code bytes, arguments", ARGUMENTS, code.encode(), None),
        ("worst, all `<`, str", streams.FINAL, "<" * PIECE, None),
        ("worst, all `<`, bytes", streams.FINAL, b"<" * PIECE, None),
    ):
        size = len(chunk.encode()) if isinstance(chunk, str) else len(chunk)
        case = text_case(f"feed_text(64 KiB): {name}", header, [chunk], size, max(1, n // 64))
        yield Alone(case, "MB/s", floor)


def tag_texts(n: int) -> Iterator[Alone]:
    for name in ("hermes", "qwen3_coder"):
        for what, given in (("content", blocks.content(name, n)), ("code, arguments", blocks.call(name, n))):
            stream = blocks.as_text(given)

            pieces = [piece for block in stream.blocks for piece in block]
            case = Case(f"feed_text(4 characters), `{name}`: {what}", stream.opened, pieces, len(pieces), 1)
            yield Alone(case, floor=120)


def limits(n: int) -> Iterator[Alone]:
    """What CPython itself takes: C functions of the standard library, called for each token, or for each 64."""
    ids = streams.prose(n).body
    chunks = [ids[at : at + 64] for at in range(0, n, 64)]
    for name, function, pieces, unit in (
        ("limit: a C function that looks up an id (`dict.get`)", {}.get, ids, "ns"),
        ("limit: a C function that returns a tuple of two new objects (`math.modf`)", math.modf, ids, "ns"),
        ("limit: 64 ids of a list, four bytes copied for each (`array`)", partial(array, "I"), chunks, "ns/id"),
    ):
        yield Alone(Case(name, lambda function=function: function, pieces, n), unit)


def watched(n: int) -> Alone:
    """Code in a call's arguments. The file's content is also decoded."""
    stream = streams.code_in_arguments(n)

    def opened() -> Feed:
        parser = hs.Parser(watch=[("write_file", "content")])
        parser.feed(stream.opening)
        return parser.feed

    return Alone(Case("feed(id): code, arguments, `content` watched", opened, stream.body, len(stream.body)), floor=250)


def engine_cases(n: int) -> Iterator[Alone]:
    """What hosts call instead of feed()."""
    prose, markup = streams.prose(n), hs.inside.Markup()

    def opened() -> Feed:
        parser = hs.Parser()
        parser.feed(prose.opening)
        return parser.feed_delta

    yield Alone(Case("feed_delta(one id)", opened, prose.body, n))
    whole = [*prose.opening, *prose.body]
    yield from moves([*prose.opening, *prose.body[:100]])
    yield Alone(Case("Markup.find_reasoning_end", lambda: markup.find_reasoning_end, [whole], len(whole)), "ns/id")


def moves(ids: list[int]) -> Iterator[Alone]:
    """A response that goes to another process and comes back, in the middle of a text of a hundred tokens."""
    for make in emitters.EMITTERS.values():
        stream = make(hs.Parser(), model="gpt-oss-20b", taken=["call_1", "call_2"])
        stream.start()
        stream.feed(ids)

        def move(_: object, stream: Any = stream) -> None:
            stream.from_bytes(stream.to_bytes())

        name = f"{type(stream).__name__}, with earlier calls: to_bytes and from_bytes"
        yield Alone(Case(name, lambda move=move: move, range(100), 100, 1), "µs", 60)


def groups(n: int) -> dict[str, list[Alone]]:
    """All cases. n: the length of the streams, in tokens."""
    note = f"{batch.STREAMS:,} streams, one token each"
    steps = zip(batch.cases(), (20, 100, 100), ("", "; in one block", ""))
    return {
        "emitters": [Alone(case) for cases in emitters.cases(n).values() for case in cases],
        "text": list(texts(n)),
        "parser": [Alone(Case(NEW, lambda: lambda _: hs.Parser(), range(1000), 1000, 1), "µs", 2), watched(n)],
        "engine": list(engine_cases(n)),
        "rows": [Alone(case, "µs", floor) for case, floor in whole_rows.cases()],
        "batch": [Alone(case, floor=floor, note=note + more) for case, floor, more in steps],
        "limits": list(limits(n)),
        "tags": list(tag_texts(max(64, n // 2))),
    }


def rows(group: list[Alone], rounds: int) -> Iterator[Row]:
    for alone in group:
        yield alone.row(medians({"": alone.case.round}, rounds)[""])


def emitter_rows(n: int, rounds: int) -> Iterator[Row]:
    for api, cases in emitters.cases(n).items():
        took = medians({case.name: case.round for case in cases}, rounds)
        yield Row((api, *(f"{shown(each)} ns" for each in took.values())))
