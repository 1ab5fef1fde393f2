"""The comparison: every stream, read by every side in turn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from bench.clock import medians
from bench.rivals import streams
from bench.rivals.families import FAMILIES, OF_FORMAT, THINK, Family
from bench.rivals.rows import RIVALS, Cell, Row, with_floors
from bench.rivals.side import Side
from bench.rivals.streams import Stream
from bench.rows import Figure

ONCE = 3.0  # seconds: what takes longer is read once, as it is checked
AT_64K, CONTENT, FRAMES = 1.1, 1.3, 200.0


def knows(side: str, family: Family) -> bool:
    return {"vLLM": family.vllm, "SGLang": family.sglang}.get(side, family) is not None


def cells(sides: Sequence[Side], name: str, stream: Stream, rounds: int, seconds: float) -> dict[str, Cell]:
    """What each side took. A first reading is checked; those that are quick then take turns."""
    found: dict[str, Cell] = {}
    quick = {}
    for side in sides:
        answer = side.load(name, stream)
        if "error" in answer:
            found[side.name] = Cell(None, f"failed: {answer['error']}")
            continue
        found[side.name] = Cell(answer["took"], answer["wrong"] and f"wrong: {answer['wrong']}")
        if answer["took"] * len(stream.ids) < ONCE * 1e9:
            quick[side.name] = lambda side=side: side.again(name)
    for side_name, took in medians(quick, rounds, seconds).items() if quick else ():
        found[side_name] = Cell(took, found[side_name].note)
    return found


def row(sides: Sequence[Side], family: Family, what: str, n: int, stream: Stream, rounds: int, seconds: float) -> Row:
    able = [side for side in sides if knows(side.name, family)]
    found = cells(able, f"{family.format} {what} {n}", stream, rounds, seconds)
    ours = found.pop("harmonystream")
    absent = {rival: Cell(None, "not run" if knows(rival, family) else "no parser") for rival in RIVALS}
    return Row(f"{family.label} (`{family.format}`), {what}", n, ours, absent | found)


def measured(sides: Sequence[Side], sizes: Sequence[int], rounds: int, seconds: float) -> Iterator[Row]:
    """`sides`: ours, and the rivals that run."""
    for family in FAMILIES:
        rows = [row(sides, family, "call", n, streams.call(family, n), rounds, seconds) for n in sizes]
        yield from with_floors(rows)
    for n in sizes:
        yield row(sides, THINK, "reasoning", n, streams.reasoning(n), rounds, seconds)
    for family in FAMILIES:
        n = sizes[min(1, len(sizes) - 1)]
        yield row(sides, family, "content", n, streams.content(family, n), rounds, seconds)


def framed(sides: Sequence[Side], n: int, rounds: int, seconds: float) -> Iterator[Row]:
    """Token id -> SSE bytes: bodies of n tokens, and short responses as a whole. SGLang's path is not measured."""
    hermes, short = OF_FORMAT["hermes"], n // 10
    for name, stream, whole, floor in (
        ("Harmony, content", streams.harmony_content(n), False, FRAMES),
        ("Harmony, arguments", streams.harmony_call(n), False, FRAMES),
        ("Hermes, content", streams.content(hermes, n), False, None),
        ("Hermes, arguments", streams.call(hermes, n), False, None),
        ("Harmony, a whole response: content", streams.harmony_content(short), True, None),
        ("Harmony, a whole response: a call", streams.harmony_call(short), True, None),
    ):
        able = [side for side in sides if side.name != "SGLang"]
        found = cells(able, f"{name} {len(stream.ids)}", replace(stream, framed=True, whole=whole), rounds, seconds)
        ours, vllm = found["harmonystream"], found.get("vLLM", Cell(None, "not run"))
        floors = {} if floor is None or vllm.took is None else {"vLLM": floor}
        yield Row(name, short if whole else n, ours, {"vLLM": vllm}, floors)


def ours_alone(ours: Side, n: int, rounds: int, seconds: float) -> Iterator[Figure]:
    """What must not grow, and what must not be dearer than Harmony."""
    for family in FAMILIES:
        name = f"{family.format} long call"
        fault = fault_in(ours.load(name, streams.long_call(family)))
        value = math.inf if fault else median(ours.growth(name, streams.BLOCKS) for _ in range(rounds))
        title = f"`{family.format}`: a token of arguments after 63k, over one of the first 1k"
        yield Figure(title, value, "×", at_most=AT_64K, note=fault)
    ours.load("harmony", streams.harmony_content(n))
    for family in (*FAMILIES, THINK):
        name = f"{family.format} only content"
        fault = fault_in(ours.load(name, streams.content(family, n)))
        turns = {key: lambda key=key: ours.again(key) for key in ("harmony", name)}
        took = {"harmony": 1.0, name: math.inf} if fault else medians(turns, rounds, seconds)
        title = f"`{family.format}`: a token of content, over one of Harmony's"
        note = fault or f"{took[name]:.1f} ns; Harmony's {took['harmony']:.1f} ns"
        yield Figure(title, took[name] / took["harmony"], "×", at_most=CONTENT, note=note)


def fault_in(answer: dict[str, Any]) -> str:
    return str(answer.get("error") or answer["wrong"])
