"""The errors: what they are kinds of, what they say, and that they survive a process boundary."""

from __future__ import annotations

import copy
import pickle

import pytest

from harmonystream.errors import EmitterError, FormatError, HarmonyStreamError, ParseError, VocabError


@pytest.mark.parametrize("error", [VocabError, FormatError, ParseError])
def test_every_error_can_be_caught_as_ours_or_as_a_value_error(error):
    assert error.__mro__[1:3] == (HarmonyStreamError, ValueError)


def test_a_parse_error_says_where_and_what():
    error = ParseError("text_in_header", 7, "HEADER", "<|message|>", ("event",))
    assert str(error) == "text_in_header at position 7, in state HEADER: expected <|message|>"
    assert (error.code, error.position, error.state, error.expected) == ("text_in_header", 7, "HEADER", "<|message|>")
    assert error.events == ("event",)


def test_a_parse_error_has_no_events_unless_given():
    assert ParseError("code", 0, "START", "<|start|>").events == ()


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_a_parse_error_is_copied_and_pickled_whole(twin):
    error = ParseError("code", 3, "BODY", "text", (1, "two"))
    error.__notes__ = ["found in request 5"]
    again = twin(error)
    assert type(again) is ParseError
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_emitter_error_has_the_errors_and_the_others_frames(twin):
    assert issubclass(EmitterError, HarmonyStreamError)
    error = twin(EmitterError({4: KeyError("mine"), 1: ValueError("other")}, [None, b"data: {}\n\n", None]))
    assert str(error) == "the emitter in slot 4 has raised KeyError('mine'), and 1 more"
    assert {slot: repr(one) for slot, one in error.errors.items()} == {4: "KeyError('mine')", 1: "ValueError('other')"}
    assert error.frames == [None, b"data: {}\n\n", None]
    assert error.__cause__ is error.errors[4]
    assert str(EmitterError({0: KeyError(1)}, [None])) == "the emitter in slot 0 has raised KeyError(1)"
