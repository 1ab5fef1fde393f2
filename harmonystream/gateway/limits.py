"""What a gateway allows: how much at once, how long, and how large."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

__all__ = ["Limits", "Quota"]


class Quota(NamedTuple):
    """What one key may use: requests that are open at once, and tokens of prompts and answers a minute; 0: no limit."""

    concurrent: int = 0
    tokens_per_minute: int = 0


@dataclass(frozen=True)
class Limits:
    """Limits of a gateway. Times are in seconds. Raises ValueError for a limit that is not positive.

    body, body_seconds: of a request's body, and how long it may take to arrive. concurrent: requests that are
    answered at once; concurrent_per_key: of one key; 0: no limit of its own. queue, queue_seconds: how many wait for
    their turn, and how long. tokens_per_minute: of prompts and answers of one key; 0: no limit.

    first_token, silence, total: how long an engine may take for its first token, for another one, and for the whole
    answer. send: how long a client may take nothing of its answer before it is left. status_wait: how long a stream's
    status may wait for the first token, so that an error has a status of its own; after that the stream begins with
    comments. keep_alive: silence after which a stream gets a comment. retries: other attempts at a generation that
    fails before its first token. drain: how long open answers may take when the gateway is stopped.

    tool_rounds: generations of one answer in which a model may call tools that run here; the next one has no tools.

    stored, stored_bytes: responses that are kept for `previous_response_id`, and their size as JSON; stored = 0 keeps
    none. stored_per_key: of one key; 0: no limit of its own. stored_seconds: how long each is kept. store_wait: how
    long an answer waits for a store that is shared with other gateways, before it goes on without it.
    """

    body: int = 1 << 25
    body_seconds: float = 60.0
    concurrent: int = 512
    concurrent_per_key: int = 0
    queue: int = 1024
    queue_seconds: float = 30.0
    tokens_per_minute: int = 0
    first_token: float = 300.0
    silence: float = 120.0
    total: float = 3600.0
    send: float = 60.0
    status_wait: float = 15.0
    keep_alive: float = 15.0
    retries: int = 2
    drain: float = 30.0
    tool_rounds: int = 8
    stored: int = 10_000
    stored_bytes: int = 1 << 28
    stored_per_key: int = 0
    stored_seconds: float = 30 * 86400.0
    store_wait: float = 0.5

    @property
    def quota(self) -> Quota:
        """Of a key that has no limits of its own."""
        return Quota(self.concurrent_per_key, self.tokens_per_minute)

    def of_each(self, workers: int) -> Limits:
        """The limits of one of so many processes: their requests and queues together are those of the gateway."""
        return replace(self, concurrent=-(-self.concurrent // workers), queue=-(-self.queue // workers))

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            whole = isinstance(one.default, int)
            if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
                raise ValueError(f"{one.name} is {'an integer' if whole else 'a number'}, not {value!r}")
            least = 0 if one.name in _MAY_BE_NOTHING else 1 if whole else 0.001
            if not least <= value <= 1e12:
                raise ValueError(f"{one.name} is {least} or more, not {value}")


_MAY_BE_NOTHING = {
    *("concurrent_per_key", "queue", "tokens_per_minute", "retries"),
    *("stored", "stored_per_key", "status_wait", "drain"),
}
