"""What each key uses now, and its tokens of the last minute. All processes of a gateway see the same counts."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable
from functools import wraps
from time import time
from typing import Any

from ..limits import Limits, Quota
from ..refused import Refused, seconds_of
from .shared import connect, writing

__all__ = ["Quotas", "forget_process", "too_many", "used_up"]

log = logging.getLogger("harmonystream.gateway")
_CODE = "rate_limit_exceeded"
_OWNERS = 10_000
"""For how many owners the use of tokens is remembered."""
_LONGEST = 3600.0
"""The most seconds that a client is asked to wait."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS open (
    owner TEXT, process INTEGER, count INTEGER, PRIMARY KEY (owner, process)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (owner TEXT PRIMARY KEY, left REAL, at REAL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tokens_at ON tokens (at);
"""


def _unless_broken(counted: Callable[..., None]) -> Callable[..., None]:
    """Let requests in while counting fails: a full disk must not take the gateway down."""

    @wraps(counted)
    def tried(self: Quotas, *arguments: Any) -> None:
        try:
            counted(self, *arguments)
        except sqlite3.Error as error:
            log.error("limits of keys do not hold: %s", error)

    return tried


class Quotas:
    """Counts by owner, where there are limits. folder: for the database that several processes share.

    quota: an owner's own quota. None stands for the limits' quota.
    """

    def __init__(self, limits: Limits, folder: str | os.PathLike[str] | None = None) -> None:
        self._quota = limits.quota
        self._database = connect(folder, _SCHEMA)
        self._process = os.getpid()

    def open(self) -> dict[str, int]:
        """How many requests each owner has open in all processes, where there is a limit."""
        return dict(self._database.execute("SELECT owner, SUM(count) FROM open GROUP BY owner").fetchall())

    @_unless_broken
    def enter(self, owner: str, quota: Quota | None = None) -> None:
        """Open a request, until `leave`. Raises `Refused` if the owner has too many, or has used its tokens."""
        most, per_minute = quota or self._quota
        if per_minute:
            left = self._left(owner, per_minute)
            if left <= 0:
                raise used_up(per_minute, left)
        if not most:
            return
        run = self._database.execute
        with writing(self._database):
            (count,) = run("SELECT TOTAL(count) FROM open WHERE owner = ?", (owner,)).fetchone()
            if count >= most:
                raise too_many(most)
            add = "INSERT INTO open VALUES (?, ?, 1) ON CONFLICT (owner, process) DO UPDATE SET count = count + 1"
            run(add, (owner, self._process))

    @_unless_broken
    def leave(self, owner: str, quota: Quota | None = None) -> None:
        """Close a request. quota: the one passed to `enter`."""
        if not (quota or self._quota).concurrent:
            return
        of = (owner, self._process)
        with writing(self._database):
            self._database.execute("UPDATE open SET count = count - 1 WHERE owner = ? AND process = ?", of)
            self._database.execute("DELETE FROM open WHERE owner = ? AND process = ? AND count < 1", of)

    @_unless_broken
    def take(self, owner: str, tokens: int, quota: Quota | None = None) -> None:
        """Count used tokens. An owner has a minute's worth, which refill steadily. One request may overdraw them."""
        per_minute = (quota or self._quota).tokens_per_minute
        if not per_minute:
            return
        with writing(self._database):
            left = self._left(owner, per_minute) - tokens
            self._database.execute("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?)", (owner, left, time()))
            (count,) = self._database.execute("SELECT COUNT(*) FROM tokens").fetchone()
            if count > _OWNERS:
                oldest = "SELECT owner FROM tokens ORDER BY at LIMIT ?"
                self._database.execute(f"DELETE FROM tokens WHERE owner IN ({oldest})", (count - _OWNERS,))

    def _left(self, owner: str, per_minute: int) -> float:
        found = self._database.execute("SELECT left, at FROM tokens WHERE owner = ?", (owner,)).fetchone()
        if found is None:
            return float(per_minute)
        left, at = found
        filled: float = max(0.0, time() - at) * per_minute / 60  # a clock may be set back
        now: float = left + filled
        return min(float(per_minute), now)


def too_many(most: int) -> Refused:
    """The error for an owner with too many open requests."""
    return Refused(429, f"This key has as many open requests as it may have: {most}.", code=_CODE, retry_after=1)


def used_up(per_minute: int, left: float) -> Refused:
    """The error for an owner that has no tokens left."""
    wait = min(60 * (1 - left) / per_minute, _LONGEST)
    what = f"This key has used its {per_minute} tokens a minute. Try again in {seconds_of(wait)} seconds."
    return Refused(429, what, code=_CODE, retry_after=wait)


def forget_process(folder: str | os.PathLike[str], process: int) -> None:
    """Forget a process that has ended, and the requests that it had open."""
    database = connect(folder, _SCHEMA)
    database.execute("DELETE FROM open WHERE process = ?", (process,))
