"""The comparison with vLLM and SGLang: every stream, read by every side in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from bench import streams
from bench.clock import medians
from bench.families import FAMILIES, OF_FORMAT, THINK, Family
from bench.report import Row, shown, verdict
from bench.rivals.sides import Side
from bench.streams import HARMONY, Stream

OURS, RIVALS = "harmonystream", ("vLLM", "SGLang")
ONCE = 3.0  # seconds: what takes longer is read once, as it is checked
AT_1K, AT_16K, QUADRATIC, FRAMES = 50.0, 1000.0, 4, 200.0
FRAMED = "token id to SSE bytes, per token"


class Cell(NamedTuple):
    """Nanoseconds per token, or None. `note` says why there are none, or what the parser got wrong."""

    took: float | None
    note: str = ""

    def __str__(self) -> str:
        if self.took is None:
            return self.note
        text = f"{shown(self.took)} ns" if self.took < 1000 else f"{shown(self.took / 1000)} µs"
        return f"{text} ({self.note})" if self.note else text


def head(versions: Mapping[str, str], what: str = "per token", rivals: Sequence[str] = RIVALS) -> tuple[str, ...]:
    """`versions`: of the rivals that run."""
    columns = [(f"{rival} {versions.get(rival, '')}".strip(), "faster", "floor", "") for rival in rivals]
    return (what, "tokens", OURS, *(title for four in columns for title in four))


def row(name: str, tokens: int, took: Mapping[str, Cell], floors: Mapping[str, float]) -> Row:
    """`took`: by side, ours and the rivals of the table. `floors`: how many times slower those rivals must be.

    Ours must be right to meet a floor.
    """
    ours, verdicts = took[OURS], {}
    cells = [name, f"{tokens:,}", str(ours)]
    for rival, theirs in took.items():
        if rival == OURS:
            continue
        times = None if theirs.took is None or ours.took is None else theirs.took / ours.took
        met, floor = None, floors.get(rival)
        if floor is not None:
            met = verdicts[f"{name}, {tokens:,}, {rival}"] = times is not None and not ours.note and times >= floor
        faster = "–" if times is None else f"{shown(times)}×"
        cells += [str(theirs), faster, "" if floor is None else f"{floor:,g}×", verdict(met)]
    return Row(tuple(cells), verdicts)


def taken(sides: Sequence[Side], stream: Stream, rounds: int, seconds: float) -> dict[str, Cell]:
    """What each side took. A first reading is checked; those that are quick then take turns."""
    found: dict[str, Cell] = {}
    quick = {}
    for side in sides:
        try:
            answer = side.load(stream)
        except RuntimeError as error:
            found[side.name] = Cell(None, f"failed: {error}")
            continue
        found[side.name] = Cell(answer["took"], answer["wrong"] and f"wrong: {answer['wrong']}")
        if answer["took"] * len(stream.ids) < ONCE * 1e9:
            quick[side.name] = side.round_of(stream)
    for name, took in medians(quick, rounds, seconds).items() if quick else ():
        found[name] = found[name]._replace(took=took)
    return found


def of_family(sides: Sequence[Side], family: Family, stream: Stream, rounds: int, seconds: float) -> dict[str, Cell]:
    """Beside the rivals that do not read it, or do not run."""
    able = [side for side in sides if side.name == OURS or side.name in family.parsers]
    absent = {rival: Cell(None, "not run" if rival in family.parsers else "no parser") for rival in RIVALS}
    return {OURS: Cell(None), **absent, **taken(able, stream.merged(), rounds, seconds)}


def floors_of(calls: Mapping[int, Mapping[str, Cell]]) -> dict[int, dict[str, float]]:
    """The floors of one format's calls, by their tokens: at 1,000, and at 16,000 where a rival is quadratic.

    It is if one of its 16,000 tokens takes more than `QUADRATIC` times as long as one of 1,000.
    """
    floors: dict[int, dict[str, float]] = {}
    for rival in RIVALS:
        short, long = (calls.get(tokens, {}).get(rival, Cell(None)).took for tokens in (1000, 16000))
        if short is not None:
            floors.setdefault(1000, {})[rival] = AT_1K
            if long is not None and long > QUADRATIC * short:
                floors.setdefault(16000, {})[rival] = AT_16K
    return floors


def measured(sides: Sequence[Side], sizes: Sequence[int], rounds: int, seconds: float) -> Iterator[Row]:
    """`sides`: ours, and the rivals that run."""

    def title(family: Family, what: str) -> str:
        return f"{family.label} (`{family.format}`), {what}"

    for family in FAMILIES:
        calls = {n: of_family(sides, family, streams.call(family, n), rounds, seconds) for n in sizes}
        floors = floors_of(calls)
        yield from (row(title(family, "call"), n, took, floors.get(n, {})) for n, took in calls.items())
    for n in sizes:
        took = of_family(sides, THINK, streams.reasoning(n), rounds, seconds)
        yield row(title(THINK, "reasoning"), n, took, {})
    n = sizes[min(1, len(sizes) - 1)]
    for family in FAMILIES:
        took = of_family(sides, family, streams.content(family, n), rounds, seconds)
        yield row(title(family, "content"), n, took, {})


def framed(sides: Sequence[Side], n: int, rounds: int, seconds: float) -> Iterator[Row]:
    """Token id -> SSE bytes: bodies of n tokens, and short responses as a whole. SGLang's path is not measured."""
    hermes, short = OF_FORMAT["hermes"], n // 10
    for name, stream, whole, floor in (
        ("Harmony, content", streams.content(HARMONY, n), False, FRAMES),
        ("Harmony, arguments", streams.call(HARMONY, n), False, FRAMES),
        ("Hermes, content", streams.content(hermes, n), False, None),
        ("Hermes, arguments", streams.call(hermes, n), False, None),
        ("Harmony, a whole response: content", streams.content(HARMONY, short), True, FRAMES),
        ("Harmony, a whole response: a call", streams.call(HARMONY, short), True, FRAMES),
    ):
        able = [side for side in sides if side.name != "SGLang"]
        stream = replace(stream, name=f"{name} {len(stream.ids)}", framed=True, whole=whole)
        took = {OURS: Cell(None), "vLLM": Cell(None, "not run"), **taken(able, stream, rounds, seconds)}
        floors = {} if floor is None or took["vLLM"].took is None else {"vLLM": floor}
        yield row(name, short if whole else n, took, floors)
