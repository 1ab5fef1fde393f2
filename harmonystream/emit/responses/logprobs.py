"""Log probabilities in Responses: those of an answer's tokens, in its deltas and in its item."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from ...events import Event
from ..common.kept import Kept
from ..common.payload import Payload
from ..common.state import State, placed
from ..common.tokens import as_sent, taken_until

__all__ = ["TextLogprobs"]


class TextLogprobs:
    """Keeps what is fed until an event's range covers it. Only text is sent with its logprobs."""

    def __init__(self) -> None:
        self._logprobs: deque[tuple[int, Payload]] = deque()  # by position
        self._text: list[Payload] = []  # of the text that is open
        self._next = 0  # the position of the next token: the parser's own does not count the tokens that it holds back

    def take_in(self, position: int, n: int, logprobs: Sequence[Payload]) -> None:
        """Tokens that will be fed; position: the parser's."""
        position = max(position, self._next)
        self._next = position + n
        self._logprobs.extend(enumerate(map(as_sent, logprobs), position))

    def attach(self, payloads: Iterable[Payload], event: Event, output: Kept) -> list[Payload]:
        """The payloads of this event, with what belongs to them. output: the items that are done."""
        taken_until(self._logprobs, event.start)
        here = taken_until(self._logprobs, event.stop)
        made = list(payloads)
        for payload in made:
            self._attach(payload, here, output)
        return made

    def _attach(self, payload: Payload, here: list[Payload], output: Kept) -> None:
        match payload["type"]:
            case "response.output_text.delta":
                self._text += here
                payload["logprobs"] = list(map(_without_bytes, here))
            case "response.output_text.done":
                payload["logprobs"] = list(map(_without_bytes, self._text))
            case "response.content_part.done" if payload["part"]["type"] == "output_text":
                payload["part"]["logprobs"] = self._text
            case "response.output_item.done" if payload["item"]["type"] == "message":
                kept = output[-1:] if isinstance(output, list) else ()
                for item in (payload["item"], *kept):
                    for part in item["content"]:
                        part["logprobs"] = self._text
                self._text = []

    # --- moving ---

    def state(self) -> Payload:
        return {"logprobs": list(self._logprobs), "text": self._text, "next": self._next}

    def restore(self, state: State) -> None:
        """Of a new object: what state() gave. Raises ValueError for anything else."""
        self._logprobs.extend(placed(state, "logprobs", _is_logprob))
        self._text = state.take("text", lambda value: isinstance(value, list) and all(map(_is_logprob, value)))
        self._next = state.count("next")
        state.end()


def _without_bytes(logprob: Payload) -> Payload:
    """As the events of text have it, in which a token has no bytes."""
    others = [{"token": one["token"], "logprob": one["logprob"]} for one in logprob.get("top_logprobs") or ()]
    return {"token": logprob["token"], "logprob": logprob["logprob"], "top_logprobs": others}


def _is_logprob(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() >= {"token", "logprob"}:
        return False
    others = value.get("top_logprobs") or []
    return isinstance(others, list) and all(
        isinstance(one, dict) and one.keys() >= {"token", "logprob"} for one in others
    )
