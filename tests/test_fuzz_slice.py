"""A short, deterministic slice of `make fuzz`: its first inputs, random changes of them, and every finding so far."""

from __future__ import annotations

import random

import pytest
from fuzz import replay, seeds, targets

FINDINGS = sorted(replay.CASES.glob("*.case"))
SEED, CHANGED = 2, 20_000


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_findings_stay_fixed(path):
    targets.check(*replay.read(replay.case_of(path)))


def test_first_inputs():
    for data in seeds.inputs():
        targets.run(data)


def test_changed_inputs():
    dice = random.Random(SEED)
    pool = list(seeds.inputs())
    for _ in range(CHANGED):
        targets.run(changed(dice.choice(pool), dice.choice(pool), dice))


def changed(data: bytes, other: bytes, dice: random.Random) -> bytes:
    """Some bytes replaced, and a stretch of another input put in."""
    made = bytearray(data)
    for _ in range(dice.randrange(1, 6)):
        made[dice.randrange(len(made))] = dice.randrange(256)
    start, stop = sorted(dice.randrange(targets.HEAD, len(other) + 1) for _ in range(2))
    at = dice.randrange(targets.HEAD, len(made) + 1)
    made[at:at] = other[start:stop]
    return bytes(made)


def test_a_case_reads_as_it_was_written():
    for data in list(seeds.inputs())[::50]:
        name, case = targets.decode(data)
        assert replay.read(replay.explain(data)) == (name, case)
