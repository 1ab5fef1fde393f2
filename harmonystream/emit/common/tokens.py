"""Finds the tokens and logprobs that belong to each chunk of Chat Completions."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

from .payload import Payload, to_json
from .state import State, are_counts, is_count, placed

__all__ = ["Tokens", "as_sent", "taken_until"]

LEAST = -9999.0
"""The logprob of an impossible token."""


class Tokens:
    """Keeps tokens until an event's range covers them.

    A chunk's logprobs are those of its event's tokens. Its token ids are those of its event, and all earlier ones that
    no chunk has sent yet. So all chunks together have every id, except those of hidden text. The header of a hidden
    call does not count as hidden text.
    """

    def __init__(self, *, show_ids: bool, keeps: bool = True) -> None:
        self._show_ids, self._keeps = show_ids, keeps
        self._logprobs: deque[tuple[int, Payload]] = deque()  # by position
        self._waiting: list[int] = []  # ids that the next chunk will send
        self._ids: deque[tuple[int, int]] = deque()  # ids that no event has covered yet, by position
        self._all_logprobs: list[Payload] = []
        self._all_ids: list[int] = []
        self._next = 0  # the position of the next token
        self._here: list[int] = []  # ids of the event that is being written
        self._logprobs_here: list[Payload] = []

    def take_in(self, position: int, ids: list[int], logprobs: Sequence[Payload] | None) -> None:
        """Take tokens that are about to be read. position: the parser's, which does not count the tokens that it holds
        back.

        Raises ValueError unless each has its logprobs.
        """
        position = max(position, self._next)
        if logprobs is not None:
            if len(logprobs) != len(ids):
                raise ValueError(f"{len(logprobs)} logprobs for {len(ids)} tokens: pass one for each")
            self._logprobs.extend(enumerate(map(as_sent, logprobs), position))
        if self._show_ids:
            self._ids.extend(enumerate(ids, position))
        self._next = position + len(ids)

    def of(self, start: int, stop: int, *, last: bool) -> tuple[str, str]:
        """The logprobs and ids that go into an event's chunk, if it gets one, as JSON. last: does it end the stream?"""
        self._waiting += taken_until(self._ids, start)
        self._here = taken_until(self._ids, None if last else stop)
        taken_until(self._logprobs, start)
        self._logprobs_here = taken_until(self._logprobs, stop)
        logprobs = {"content": self._logprobs_here, "refusal": None} if self._logprobs_here else None
        return to_json(logprobs), f',"token_ids":{to_json(self._waiting + self._here)}' if self._show_ids else ""

    def written(self, *, hides: bool, used: bool) -> None:
        """The event of of() has been written. used: did it have a chunk? hides: without a chunk, its tokens are hidden
        together with its text.
        """
        if used:
            self._all_logprobs += self._logprobs_here if self._keeps else ()
            if self._show_ids:
                self._all_ids += self._waiting + self._here if self._keeps else ()
            self._waiting = []
        elif not hides:
            self._waiting += self._here

    def joined(self) -> Payload:
        """The fields of the whole choice."""
        made: Payload = {}
        if self._all_logprobs:
            made["logprobs"] = {"content": list(self._all_logprobs), "refusal": None}
        if self._show_ids:
            made["token_ids"] = list(self._all_ids)
        return made

    # --- moving ---

    def state(self) -> Payload:
        return {
            **{"ids": list(self._ids), "waiting": self._waiting, "sent_ids": self._all_ids},
            **{"logprobs": list(self._logprobs), "sent": self._all_logprobs, "next": self._next},
        }

    def restore(self, state: State) -> None:
        """Put what state() gave into a new object. Raises ValueError for anything else."""
        self._ids.extend(placed(state, "ids", is_count))
        self._waiting += state.take("waiting", are_counts, [])
        self._all_ids += state.take("sent_ids", are_counts, [])
        self._logprobs.extend(placed(state, "logprobs", lambda one: isinstance(one, dict)))
        self._all_logprobs += state.several("sent")
        self._next = state.count("next")
        state.end()


def taken_until(kept: deque[tuple[int, Any]], stop: int | None) -> list[Any]:
    """Remove and return the entries before the position `stop`. None stands for the end."""
    taken = []
    while kept and (stop is None or kept[0][0] < stop):
        taken.append(kept.popleft()[1])
    return taken


def as_sent(entry: Payload) -> Payload:
    """The entry with numbers that JSON has. NaN and the infinities become the API's least logprob."""
    made = dict(entry)
    if "logprob" in made:
        made["logprob"] = made["logprob"] if LEAST <= made["logprob"] < math.inf else LEAST
    if made.get("top_logprobs"):
        made["top_logprobs"] = [as_sent(other) for other in made["top_logprobs"]]
    return made
