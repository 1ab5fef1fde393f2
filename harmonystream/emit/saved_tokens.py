"""Token ids and log probabilities in an emitter's state: those that were sent, and those that wait for their events."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from .payload import Payload
from .saved import State, is_count
from .text_logprobs import LogprobStream
from .tokens import Tokens

__all__ = ["of_logprobs", "of_tokens", "restore_logprobs", "restore_tokens"]


def of_tokens(tokens: Tokens) -> Payload:
    """Of the chunks of chat."""
    return {
        **{"ids": _listed(tokens._ids), "waiting": tokens._waiting, "sent_ids": tokens._all_ids},
        **{"logprobs": _listed(tokens._logprobs), "sent": tokens._all_logprobs, "next": tokens._next},
    }


def restore_tokens(tokens: Tokens, state: State) -> None:
    tokens._ids.extend(_placed(state, "ids", is_count))
    tokens._waiting += state.take("waiting", _are_ids, [])
    tokens._all_ids += state.take("sent_ids", _are_ids, [])
    tokens._logprobs.extend(_placed(state, "logprobs", lambda one: isinstance(one, dict)))
    tokens._all_logprobs += state.several("sent")
    tokens._next = state.count("next")
    state.end()


def of_logprobs(stream: LogprobStream) -> Payload:
    """Of the texts of Responses."""
    return {"logprobs": _listed(stream._logprobs or ()), "text": stream._text_logprobs, "next": stream._next}


def restore_logprobs(stream: LogprobStream, state: State) -> None:
    stream._logprobs = deque(_placed(state, "logprobs", _is_logprob))
    stream._text_logprobs = state.take("text", lambda value: isinstance(value, list) and all(map(_is_logprob, value)))
    stream._next, stream._watched = state.count("next"), True
    state.end()


def _listed(placed: Iterable[tuple[int, Any]]) -> list[list[Any]]:
    return [list(one) for one in placed]


def _placed(state: State, name: str, check: Any) -> list[tuple[int, Any]]:
    """What waits, by position."""

    def are_placed(value: Any) -> bool:
        if not isinstance(value, list) or not all(isinstance(one, list) and len(one) == 2 for one in value):
            return False
        places = [place for place, _ in value]
        return all(map(is_count, places)) and places == sorted(places) and all(check(one) for _, one in value)

    return [(place, one) for place, one in state.take(name, are_placed)]


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_count, value))


def _is_logprob(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() >= {"token", "logprob"}:
        return False
    others = value.get("top_logprobs") or []
    return isinstance(others, list) and all(
        isinstance(one, dict) and one.keys() >= {"token", "logprob"} for one in others
    )
