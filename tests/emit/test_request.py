"""What callers say of a response: reasons, usage, tool choices, ids."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harmonystream.emit.request import CallIds, counted, normal, shown_calls


@pytest.mark.parametrize(
    ("said", "means"),
    [
        *((word, "stop") for word in ("stop", "STOP", "eos", "end_turn", "tool_use")),
        *((word, "length") for word in ("length", "max_tokens", "MAX_TOKENS")),
        *((word, word) for word in ("tool_calls", "content_filter", "abort", "error", "pause_turn")),
        *((nothing, None) for nothing in (None, "")),
    ],
)
def test_reasons_have_one_name(said: str | None, means: str | None) -> None:
    assert normal(said) == means


def test_a_usage_is_ints_and_says_nothing_as_none() -> None:
    given = {
        "prompt_tokens": np.int64(5),
        "completion_tokens": None,
        "details": {"a_tokens": 1, "b_tokens": None},
        "x": "y",
    }
    assert counted(given) == {"prompt_tokens": 5, "details": {"a_tokens": 1}, "x": "y"}
    assert type((counted(given) or {})["prompt_tokens"]) is int
    assert (counted(None), counted({})) == (None, {})


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (5, "usage is a dict with the API's names, not int"),
        (SimpleNamespace(prompt_tokens=1), "not SimpleNamespace: of a model, model_dump"),
        ({"prompt_tokens": "5"}, r"usage\['prompt_tokens'\] is a number of tokens, not '5'"),
        ({"x": {1}}, "not JSON serializable"),
    ],
)
def test_what_is_no_usage(wrong: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        counted(wrong)


@pytest.mark.parametrize(
    ("choice", "parallel", "shown"),
    [
        *((choice, True, None) for choice in (None, "auto", "required", {"type": "function"})),
        *((choice, True, 0) for choice in ("none", {"type": "none"}, SimpleNamespace(type="none"))),
        *(("auto", parallel, shown) for parallel, shown in ((None, None), (False, 1), (0, 1))),
        ("none", False, 0),
    ],
)
def test_how_many_calls_a_request_wants_to_see(choice: Any, parallel: bool | None, shown: int | None) -> None:
    assert shown_calls(choice, parallel) == shown


def test_each_id_is_given_once() -> None:
    ids = CallIds(lambda index: f"own_{index}")
    assert [ids.take(own, index) for index, own in enumerate((None, "f:0", "f:0", ""))] == [
        "own_0",
        "f:0",
        "own_2",
        "own_3",
    ]


@pytest.mark.parametrize("made", ["same", None, 5, ""])
def test_an_id_that_is_not_new_is_refused(made: Any) -> None:
    ids = CallIds(lambda index: made)
    with pytest.raises(ValueError, match=r"call_id\(1\) gave"):
        ids.take("same", 0)
        ids.take(None, 1)
