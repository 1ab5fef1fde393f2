"""Which tokens, and which of their logprobs, belong to a chunk of chat."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

from .payload import Payload, to_json
from .state import State, are_counts, is_count, placed

__all__ = ["Tokens", "as_sent", "taken_until"]

LEAST = -9999.0
"""The logprob of what cannot be."""


class Tokens:
    """Keeps what was fed until an event's range covers it.

    A chunk's logprobs are those of its event's tokens. Its token ids are those, and all before them that no
    chunk has sent yet, so joined they are what was fed, without hidden text. A hidden call's header is not hidden text.
    """

    def __init__(self, *, show_ids: bool, keeps: bool = True) -> None:
        self._show_ids, self._keeps = show_ids, keeps
        self._logprobs: deque[tuple[int, Payload]] = deque()  # by position
        self._waiting: list[int] = []  # ids that the next chunk will send
        self._ids: deque[tuple[int, int]] = deque()  # those that no event has covered yet, by position
        self._all_logprobs: list[Payload] = []
        self._all_ids: list[int] = []
        self._next = 0  # the position of the next token
        self._here: list[int] = []  # of the event that is written
        self._logprobs_here: list[Payload] = []

    def take_in(self, position: int, ids: list[int], logprobs: Sequence[Payload] | None) -> None:
        """Tokens that will be fed; position: the parser's, which does not count the tokens that it holds back.

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
        """The logprobs and ids of an event's chunk, if it gets one, as JSON. last: it ends the stream."""
        self._waiting += taken_until(self._ids, start)
        self._here = taken_until(self._ids, None if last else stop)
        taken_until(self._logprobs, start)
        self._logprobs_here = taken_until(self._logprobs, stop)
        logprobs = {"content": self._logprobs_here, "refusal": None} if self._logprobs_here else None
        return to_json(logprobs), f',"token_ids":{to_json(self._waiting + self._here)}' if self._show_ids else ""

    def written(self, *, hides: bool, used: bool) -> None:
        """The event of of() has been written. used: it had a chunk. hides: without one, its tokens are hidden with its
        text.
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
        """Of a new object: what state() gave. Raises ValueError for anything else."""
        self._ids.extend(placed(state, "ids", is_count))
        self._waiting += state.take("waiting", are_counts, [])
        self._all_ids += state.take("sent_ids", are_counts, [])
        self._logprobs.extend(placed(state, "logprobs", lambda one: isinstance(one, dict)))
        self._all_logprobs += state.several("sent")
        self._next = state.count("next")
        state.end()


def taken_until(kept: deque[tuple[int, Any]], stop: int | None) -> list[Any]:
    """Take out what is before the position `stop`; None: everything."""
    taken = []
    while kept and (stop is None or kept[0][0] < stop):
        taken.append(kept.popleft()[1])
    return taken


def as_sent(entry: Payload) -> Payload:
    """With numbers that JSON has: NaN and the infinities become the API's least logprob."""
    made = dict(entry)
    if "logprob" in made:
        made["logprob"] = made["logprob"] if LEAST <= made["logprob"] < math.inf else LEAST
    if made.get("top_logprobs"):
        made["top_logprobs"] = [as_sent(other) for other in made["top_logprobs"]]
    return made
