"""The table of states of the tag machine: the machine does what the table says, and all of it."""

from __future__ import annotations

from record_transitions import recorded

from harmonystream._native.tags import transitions

TABLE = {row[:3] for row in transitions.TRANSITIONS}


def test_no_row_comes_twice():
    assert len(TABLE) == len(transitions.TRANSITIONS)


def test_the_machine_makes_no_other_transition():
    steps = recorded()["corpora"] | recorded()["random"]
    assert {step for step in steps if step[1] in transitions.__pyx_capi__} - TABLE == set()


def test_the_corpora_make_every_transition():
    assert TABLE - recorded()["corpora"] == set()
