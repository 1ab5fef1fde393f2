"""A small database that the processes of one gateway share, or that one process has for itself."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["connect", "writing"]

_WAIT = 5.0
"""How many seconds a process waits for another one's transaction."""


class _Connection(sqlite3.Connection):
    """A connection that closes itself when it is dropped, because newer Pythons warn about open ones."""

    def __del__(self) -> None:
        self.close()


def connect(folder: str | os.PathLike[str] | None, schema: str) -> sqlite3.Connection:
    """A connection to the database in this folder. None: in memory. schema: statements that create what is missing.

    Only one thread may use it at a time. Each statement is a transaction, unless `writing` begins one.
    """
    where = ":memory:" if folder is None else os.path.join(folder, "shared.sqlite")
    made = sqlite3.connect(where, timeout=_WAIT, isolation_level=None, check_same_thread=False, factory=_Connection)
    if folder is not None:  # the data need not outlive the gateway, so no write has to reach the disk
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("PRAGMA synchronous = OFF")
    made.executescript(schema)
    return made


@contextmanager
def writing(database: sqlite3.Connection) -> Iterator[None]:
    """A transaction. No other process writes during it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
