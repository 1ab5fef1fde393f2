"""Log probabilities in Responses. The deltas of an answer have them, and so does its item."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ..common.payload import Payload, to_json
from ..common.state import State, placed
from ..common.tokens import as_sent, taken_until

__all__ = ["TextLogprobs"]


class TextLogprobs:
    """Keeps logprobs until an event's range covers them. Only text is sent with logprobs."""

    def __init__(self) -> None:
        self._logprobs: deque[tuple[int, Payload]] = deque()  # by position
        self._here: list[Payload] = []  # logprobs of the event that is being written
        self._text: list[Payload] = []  # logprobs of the open text
        self._next = 0  # the position of the next token; the parser's does not count the tokens that it holds back

    def take_in(self, position: int, n: int, logprobs: Sequence[Payload]) -> None:
        """Take tokens that are about to be read. position: the parser's."""
        position = max(position, self._next)
        self._next = position + n
        self._logprobs.extend(enumerate(map(as_sent, logprobs), position))

    def of(self, start: int, stop: int) -> str:
        """The logprobs of an event's tokens, as JSON."""
        taken_until(self._logprobs, start)
        self._here = taken_until(self._logprobs, stop)
        return to_json(list(map(_without_bytes, self._here)))

    def written(self) -> None:
        """The event of of() was written as text."""
        self._text += self._here

    def of_text(self) -> tuple[str, str]:
        """The logprobs of a text that ends, as JSON: first for the event, then for the item."""
        text, self._text = self._text, []
        return to_json(list(map(_without_bytes, text))), to_json(text)

    # --- moving ---

    def state(self) -> Payload:
        return {"logprobs": list(self._logprobs), "text": self._text, "next": self._next}

    def restore(self, state: State) -> None:
        """Put what state() gave into a new object. Raises ValueError for anything else."""
        self._logprobs.extend(placed(state, "logprobs", _is_logprob))
        self._text = state.take("text", lambda value: isinstance(value, list) and all(map(_is_logprob, value)))
        self._next = state.count("next")
        state.end()


def _without_bytes(logprob: Payload) -> Payload:
    """The logprob for events of text, in which tokens have no bytes."""
    others = [{"token": one["token"], "logprob": one["logprob"]} for one in logprob.get("top_logprobs") or ()]
    return {"token": logprob["token"], "logprob": logprob["logprob"], "top_logprobs": others}


def _is_logprob(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() >= {"token", "logprob"}:
        return False
    others = value.get("top_logprobs") or []
    return isinstance(others, list) and all(
        isinstance(one, dict) and one.keys() >= {"token", "logprob"} for one in others
    )
