"""What a gateway allows: how many requests at once, how long they may take, and how large they may be."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

__all__ = ["Limits", "Quota"]


class Quota(NamedTuple):
    """The limits of one key: open requests at once, and tokens of prompts and answers per minute. 0 means no limit."""

    concurrent: int = 0
    tokens_per_minute: int = 0


@dataclass(frozen=True)
class Limits:
    """Limits of a gateway. Times are in seconds. Raises ValueError for a limit that is not positive.

    body, body_seconds: the size of a request's body, and the time in which it must arrive. concurrent: requests that
    are answered at once. concurrent_per_key: the same for one key; 0 sets no separate limit. queue, queue_seconds: how
    many requests may wait for their turn, and how long. tokens_per_minute: of prompts and answers of one key; 0 sets no
    limit.

    first_token, silence, total: how long an engine may take for its first token, for each later one, and for the whole
    answer. send: how long a client may take to accept more of its answer before it is disconnected. status_wait: how
    long a stream may wait for its first token before the response begins, so that an error can still have a status of
    its own. After this time, the stream begins with comments. keep_alive: after this much silence, a stream gets a
    comment. retries: further attempts at a generation that fails before its first token. drain: how long open answers
    may take when the gateway is stopped.

    tool_rounds: how many generations of one answer may call tools that run here. The next generation has no tools.

    stored, stored_bytes: how many responses are kept for `previous_response_id`, and their size as JSON. stored = 0
    keeps none. stored_per_key: how many for one key; 0 sets no separate limit. stored_seconds: how long each is kept.
    store_wait: how long an answer waits for a store that is shared with other gateways, before it goes on without the
    store.
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
        """The quota of a key that has no limits of its own."""
        return Quota(self.concurrent_per_key, self.tokens_per_minute)

    def of_each(self, workers: int) -> Limits:
        """The limits for each of several processes. Together, their requests and queues stay within the gateway's
        limits.
        """
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
