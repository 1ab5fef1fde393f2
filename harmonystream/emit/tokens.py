"""Which tokens, and which of their logprobs, belong to a chunk of chat."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from operator import index
from typing import Any

from ..events import Event

__all__ = ["Tokens"]

Payload = dict[str, Any]


class Tokens:
    """Keeps what was fed until an event's range covers it.

    A chunk's logprobs are those of its event's tokens. Its token ids are those, and all before them that no
    chunk has said yet: joined, they are what was fed, but for hidden text.
    """

    def __init__(self, *, show_ids: bool) -> None:
        self._show_ids = show_ids
        self._logprobs: deque[tuple[int, Payload]] = deque()  # by position
        self._ids: deque[tuple[int, int]] = deque()
        self._all_logprobs: list[Payload] = []
        self._all_ids: list[int] = []

    def take_in(self, position: int, ids: Any, logprobs: Sequence[Payload] | None) -> Iterator[int]:
        """The ids one by one; position: of the first. Raises ValueError unless each has its logprobs."""
        given = _listed(ids)
        if logprobs is not None and len(logprobs) != len(given):
            raise ValueError(f"{len(logprobs)} logprobs for {len(given)} tokens")
        for at, token in enumerate(given):
            if logprobs is not None:
                self._logprobs.append((position + at, logprobs[at]))
            if self._show_ids:
                self._ids.append((position + at, token))
            yield token

    def attach(self, payloads: list[Payload], event: Event, *, hides: bool) -> None:
        """Add what belongs to this event to its chunk. hides: without a chunk, its tokens are hidden with its text."""
        before, here = _until(self._ids, event.start), _until(self._ids, event.stop)
        _until(self._logprobs, event.start)
        logprobs = [entry for _, entry in _until(self._logprobs, event.stop)]
        if not payloads:
            self._ids.extendleft(reversed(before if hides else before + here))
            return
        choice = payloads[0]["choices"][0]
        if choice["finish_reason"] is not None:
            before += _until(self._ids, None)
        if logprobs:
            choice["logprobs"] = {"content": logprobs, "refusal": None}
            self._all_logprobs += logprobs
        if self._show_ids:
            choice["token_ids"] = [token for _, token in before + here]
            self._all_ids += choice["token_ids"]

    def joined(self) -> Payload:
        """The fields of the whole choice."""
        made: Payload = {}
        if self._all_logprobs:
            made["logprobs"] = {"content": list(self._all_logprobs), "refusal": None}
        if self._show_ids:
            made["token_ids"] = list(self._all_ids)
        return made


def _until(kept: deque[Any], stop: int | None) -> list[Any]:
    """Take out what stands before `stop`; None: everything."""
    taken = []
    while kept and (stop is None or kept[0][0] < stop):
        taken.append(kept.popleft())
    return taken


def _listed(ids: Any) -> list[int]:
    if hasattr(ids, "__index__"):
        try:
            return [index(ids)]
        except TypeError:  # an array of several, which has the method nevertheless
            pass
    flat = ids.reshape(-1) if hasattr(ids, "reshape") else ids
    return [index(token) for token in (flat.tolist() if hasattr(flat, "tolist") else flat)]
