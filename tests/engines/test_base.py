"""Sampling, requests, and sums of usage."""

from __future__ import annotations

import pytest

from harmonystream.engines import EngineError, Sampling
from harmonystream.engines.base import add_usage, chat_usage, request_fields


def test_only_what_is_set_is_sent_and_the_limit_always():
    assert request_fields(Sampling(), {}) == {"max_tokens": 4096}
    sampling = Sampling(max_tokens=1, temperature=0.0, stop=("a",), extra={"x": 1})
    assert request_fields(sampling, {"max_tokens": "n"}) == {"n": 1, "temperature": 0.0, "stop": ["a"], "x": 1}


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"stop": "word"}, {"stop": ("",)}, {"stop": (1,)}])
def test_limits_that_cannot_be_are_refused(options):
    with pytest.raises(ValueError, match=r"max_tokens|stop"):
        Sampling(**options)


def test_usage_is_summed_number_by_number_and_flags_are_left_out():
    total = chat_usage(1, 2)
    add_usage(total, {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}, "estimated": True, "x": None})
    add_usage(total, {"prompt_tokens_details": {"cached_tokens": 5}})
    assert total == {
        "prompt_tokens": 4,
        "completion_tokens": 2,
        "total_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 7},
    }


def test_an_engine_error_survives_pickling():
    import pickle

    error = pickle.loads(pickle.dumps(EngineError("busy", "status", 503)))
    assert (str(error), error.kind, error.status) == ("busy", "status", 503)
