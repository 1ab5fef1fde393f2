"""The table of states of the Harmony machine: the machine does what the table says, and all of it."""

from __future__ import annotations

from record_transitions import recorded

from harmonystream._native.harmony import message_transitions

TABLE = {row[:3] for row in message_transitions.TRANSITIONS}


def test_no_row_comes_twice():
    assert len(TABLE) == len(message_transitions.TRANSITIONS)


def test_the_machine_makes_no_other_transition():
    steps = recorded()["corpora"] | recorded()["random"]
    assert {step for step in steps if step[1] in message_transitions.__pyx_capi__} - TABLE == set()


def test_the_corpora_make_every_transition():
    assert TABLE - recorded()["corpora"] == set()
