"""A short, deterministic slice of `make fuzz`: its first inputs, random changes of them, and every finding so far."""

from __future__ import annotations

import random

import pytest
from fuzz import cutting, replay, rows, seeds, tag_reference, targets

FINDINGS = sorted(replay.CASES.glob("*.case"))
SEED, CHANGED = 2, 5_000
INPUTS = tuple(seeds.inputs())


@pytest.mark.parametrize("path", FINDINGS, ids=lambda path: path.stem)
def test_findings_stay_fixed(path):
    targets.check(*replay.read(replay.case_of(path)))


def test_first_inputs():
    for data in INPUTS:
        targets.run(data)


def test_changed_inputs():
    dice = random.Random(SEED)
    for _ in range(CHANGED):
        targets.run(changed(dice.choice(INPUTS), dice.choice(INPUTS), dice))


@pytest.mark.parametrize(
    ("name", "tries"), [("program", 1500), ("threads", 150), ("watched", 4000), ("conserving", 4000)]
)
def test_random_inputs(name, tries):
    """Targets whose inputs mean something whatever their bytes are."""
    dice = random.Random(SEED)
    for _ in range(tries):
        data = targets.encode(name, dice.randbytes(targets.HEAD - 1), dice.randbytes(dice.randrange(300)))
        targets.run(data)


def test_long_streams_in_two_cuts():
    assert list(cutting.run_all(200_000, SEED)) == []


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
    for data in INPUTS[::50]:
        name, case = targets.decode(data)
        assert replay.read(replay.explain(data)) == (name, case)


def test_every_target_has_first_inputs():
    assert {targets.decode(data)[0] for data in INPUTS} == set(targets.TARGETS)


def test_a_payload_is_the_same_stream_in_every_form():
    text = b'<tool_call>\n{"name": "f", "arguments": {"k": "\xe6\x97\xa5"}}\n</tool_call> ok'
    alphabet = rows.built_in("hermes")
    stream = alphabet.read(alphabet.write(text))
    assert rows.units(alphabet, "text", stream) == text
    for how in ("control", "plain", "split", "bytes"):
        vocab = alphabet.vocab(how)
        ids = rows.units(alphabet, how, stream)
        assert b"".join(vocab.token_bytes(tid) for tid in ids) == text
        assert any(vocab.is_control(tid) for tid in ids) == (how == "control")
    assert len(rows.units(alphabet, "bytes", stream)) == len(text)


def test_most_rows_of_the_fuzzers_are_accepted():
    dice = random.Random(SEED)
    made = [rows.decode_row(dice.randbytes(rows.ROW_SIZE)) for _ in range(400)]
    accepted = [row for row in made if rows.is_accepted(row)]
    assert 100 < len(accepted) < 350
    assert {row["call"] is None for row in accepted} == {row["pair"] is None for row in accepted} == {True, False}


def test_the_reference_is_compared_with(monkeypatch):
    """A machine that drops a letter is found."""
    case = {"row": "hermes", "how": "text", "stream": [b"<think>", b"a", b"</think>", b"b"], "tools": "unknown"}
    case |= {"start": "auto", "empty_args": "{}", "trim": "seams", "max_hold": 1 << 20, "reason": None}
    tag_reference.check(**case)
    monkeypatch.setattr(tag_reference.rows, "units", lambda *_: b"<think>a</think>")
    items = tag_reference.items_of_bytes(b"<think>a</think>b")
    monkeypatch.setattr(tag_reference, "items_of_bytes", lambda _: items)
    with pytest.raises(AssertionError):
        tag_reference.check(**case)
