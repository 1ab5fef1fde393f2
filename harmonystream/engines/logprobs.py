"""Converts log probabilities in the form of `/v1/completions` to Chat Completions' objects, one for each token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._native.core.vocab import Vocab
from ..errors import EngineError

__all__ = ["token_logprobs"]

_ID = "token_id:"
"""The prefix with which vLLM writes a token as its id."""
LEAST = -9999.0
"""The API's logprob of an impossible token."""


def token_logprobs(given: Any, ids: Sequence[int], vocab: Vocab, most: int) -> list[dict[str, Any]]:
    """The objects for these ids. given: a choice's `logprobs`. most: how many alternatives each may have.

    Raises EngineError unless each id has a number.
    """
    values = given.get("token_logprobs") if isinstance(given, Mapping) else None
    if not isinstance(values, list) or len(values) != len(ids) or not all(map(_is_number, values)):
        raise EngineError(
            f"the engine sent logprobs that are not one number for each id: {str(given)[:200]}", "protocol"
        )
    others = given.get("top_logprobs")
    if not isinstance(others, list) or len(others) != len(ids):
        others = [None] * len(ids)
    return [
        {**_entry(_bytes_of(tid, vocab), value), "top_logprobs": _alternatives(tops, vocab, most)}
        for tid, value, tops in zip(ids, values, others)
    ]


def _is_number(value: Any) -> bool:
    return value is None or type(value) in (int, float)


def _alternatives(given: Any, vocab: Vocab, most: int) -> list[dict[str, Any]]:
    """The most likely tokens, with the likeliest first. given: logprobs by token."""
    found = [one for one in given.items() if _is_number(one[1])] if isinstance(given, Mapping) else []
    found.sort(key=lambda one: LEAST if one[1] is None else one[1], reverse=True)
    return [_entry(_spelled(token, vocab), value) for token, value in found[:most]]


def _spelled(token: str, vocab: Vocab) -> bytes:
    number = token.removeprefix(_ID)
    if number != token and number.isascii() and number.isdecimal() and len(number) < 10:
        return _bytes_of(int(number), vocab)
    return token.encode("utf-8", "replace")


def _bytes_of(tid: int, vocab: Vocab) -> bytes:
    return vocab.token_bytes(tid) if tid in vocab else b""


def _entry(data: bytes, logprob: float | None) -> dict[str, Any]:
    return {
        "token": data.decode("utf-8", "replace"),
        "logprob": LEAST if logprob is None else logprob,
        "bytes": list(data),
    }
