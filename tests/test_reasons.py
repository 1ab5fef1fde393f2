"""Engines' words for why a generation ended."""

from __future__ import annotations

import enum
from typing import Any

import pytest

import harmonystream as hs
from harmonystream.reasons import ENGINES, matched, normal


def test_no_word_has_two_meanings():
    said: dict[str, set[str]] = {}
    for words in ENGINES.values():
        for word, meaning in words.items():
            said.setdefault(word, set()).add(meaning)
    assert {word: meanings for word, meanings in said.items() if len(meanings) > 1} == {}
    assert all(word == word.lower() for word in said)
    assert {*set().union(*said.values())} == {"stop", "length", "content_filter", "abort", "error", ""}


class IntFinish(enum.IntEnum):  # vLLM's
    STOP = 0
    LENGTH = 1


class StrFinish(enum.Enum):
    END = "end_turn"


@pytest.mark.parametrize(
    ("said", "means"),
    [
        *((word, "stop") for word in ("stop", "STOP", "eos", "EOS", "eos_token", "end_turn", "stop_sequence")),
        *((word, "length") for word in ("length", "max_tokens", "MAX_TOKENS", "limit", "max_new_tokens")),
        *((word, word) for word in ("tool_calls", "function_call", "abort", "error", "pause_turn", "Preempted")),
        *((nothing, None) for nothing in (None, "", "none", {}, {"type": None})),
        ("timed_out", "abort"),
        ("SAFETY", "content_filter"),
        ({"type": "stop", "matched": 151645}, "stop"),
        ({"type": "length", "length": 99}, "length"),
        ({"type": "abort", "message": "Gone."}, "abort"),
        (IntFinish.LENGTH, "length"),
        (StrFinish.END, "stop"),
    ],
)
def test_reasons_have_one_name(said: Any, means: str | None) -> None:
    assert normal(said) == means


@pytest.mark.parametrize("said", [5, b"stop", ["stop"], {"type": 5}])
def test_what_is_no_reason(said: Any) -> None:
    with pytest.raises(TypeError, match=r"finish\(\) takes the engine's reason as a str, or None; not"):
        normal(said)


def test_a_stop_string_is_reported_and_a_stop_token_is_not_one():
    assert matched({"type": "stop", "matched": "\n\n"}) == "\n\n"
    for said in ({"type": "stop", "matched": 151645}, {"type": "stop"}, "stop", None, {"matched": ""}):
        assert matched(said) is None


CALL = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}'


@pytest.mark.parametrize(
    ("reason", "told", "complete"),
    [
        ("stop", "tool_calls", True),
        ("EOS", "tool_calls", True),
        ("eos_token", "tool_calls", True),
        ({"type": "stop", "matched": 200012}, "tool_calls", True),
        ("max_tokens", "length", False),
        ({"type": "length", "length": 7}, "length", False),
        ("abort", "abort", False),
    ],
)
def test_the_parser_reads_them(reason, told, complete):
    """A call whose end token the engine has kept for itself is whole only if the engine says that it has stopped."""
    parser = hs.Parser()
    parser.feed_text(CALL)
    *_, call, _, end = parser.finish(reason)
    assert (call.complete, end.reason) == (complete, told)


@pytest.mark.parametrize("api", [hs.ChatStream, hs.ResponsesStream, hs.MessagesStream])
def test_the_emitters_read_them(api):
    made = {}
    for reason in ("stop", "eos_token", {"type": "stop", "matched": 200002}, "length", {"type": "length"}):
        seconds = {"created": 7} if api is hs.ChatStream else {"created": 7} if api is hs.ResponsesStream else {}
        stream = api(id="1", model="m", **seconds)
        made[str(reason)] = stream.start() + stream.feed_text("<|channel|>final<|message|>Hi") + stream.finish(reason)
    stop, *same, length, other = made.values()
    assert same == [stop] * 2
    assert other == length != stop
