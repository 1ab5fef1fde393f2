"""Responses that clients may build on, in a database of bounded size. The oldest are deleted first."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable
from functools import wraps
from time import time
from typing import Any, TypeVar

from .shared import connect, writing

__all__ = ["Store"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS responses (
    number INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT, key TEXT UNIQUE, input TEXT, response TEXT, size INTEGER,
    ends REAL
);
CREATE INDEX IF NOT EXISTS responses_of ON responses (owner, number);
CREATE TABLE IF NOT EXISTS owners (owner TEXT PRIMARY KEY, count INTEGER, size INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (key TEXT PRIMARY KEY, number INTEGER, item TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_of ON items (number);
CREATE TABLE IF NOT EXISTS totals (
    one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER, size INTEGER, probes INTEGER
);
INSERT OR IGNORE INTO totals VALUES (1, 0, 0, 0);
"""


Returned = TypeVar("Returned")


def _alone(method: Callable[..., Returned]) -> Callable[..., Returned]:
    """Only one thread at a time: a transaction belongs to the connection, and requests are read in threads."""

    @wraps(method)
    def locked(self: Store, *arguments: Any) -> Returned:
        with self._lock:
            return method(self, *arguments)

    return locked


class Store:
    """Responses by owner and id. An owner sees only its own.

    responses, size: the most responses, and the most bytes of JSON. each: the most responses of one owner; 0 sets no
    limit. seconds: how long each is kept. folder: for the database that several processes share. None: this process has
    its own, in memory.
    """

    def __init__(
        self,
        responses: int = 10_000,
        size: int = 1 << 28,
        each: int = 0,
        seconds: float = 30 * 86400.0,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.hold(responses, size, each, seconds)
        self._database = connect(folder, _SCHEMA)
        self._lock = threading.RLock()

    def hold(self, responses: int, size: int, each: int, seconds: float) -> None:
        """Apply other bounds to what is stored from now on."""
        self._most, self._most_size, self._each, self._seconds = responses, size, each, seconds

    @_alone
    def __len__(self) -> int:
        return self._totals()[0]

    @property
    def size(self) -> int:
        """Bytes of JSON."""
        return self._totals()[1]

    @_alone
    def is_sound(self) -> bool:
        """Can something be stored? A full disk stores nothing."""
        try:
            with writing(self._database):
                self._database.execute("UPDATE totals SET probes = probes + 1")
        except sqlite3.Error:
            return False
        return True

    def _totals(self) -> tuple[int, int]:
        count, size = self._database.execute("SELECT count, size FROM totals").fetchone()
        return count, size

    @_alone
    def put(self, owner: str, items: list[Any], response: dict[str, Any]) -> bool:
        """Keep a response, and the input items that it answers. Is it kept? One that is too large by itself is not.

        Raises `sqlite3.Error` if it cannot be kept, for example because the disk is full.
        """
        given, answered = json.dumps(items), json.dumps(response)
        size = len(given) + len(answered)
        if size > self._most_size or self._most < 1:
            return False
        key, run = _key(owner, response["id"]), self._database.execute
        with writing(self._database):
            self._delete("key = ?", key)
            made = run(
                "INSERT INTO responses (owner, key, input, response, size, ends) VALUES (?, ?, ?, ?, ?, ?)",
                (owner, key, given, answered, size, time() + self._seconds),
            )
            add = "ON CONFLICT (owner) DO UPDATE SET count = count + 1, size = size + excluded.size"
            run(f"INSERT INTO owners VALUES (?, 1, ?) {add}", (owner, size))
            run("UPDATE totals SET count = count + 1, size = size + ?", (size,))
            kept = [(_key(owner, item["id"]), made.lastrowid, json.dumps(item)) for item in response["output"]]
            self._database.executemany("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", kept)
            oldest = "number = (SELECT MIN(number) FROM responses WHERE owner = ?)"
            while self._each and self._count_of(owner) > self._each:
                self._delete(oldest, owner)
            while self._delete("number = (SELECT MIN(number) FROM responses) AND ends <= ?", time()):
                pass
            while self._has_too_much():
                # Delete from the owner who has most, so that no owner loses responses because another one stores many.
                share = "MAX(CAST(count AS REAL) / ?, CAST(size AS REAL) / ?)"
                most = f"SELECT owner FROM owners ORDER BY {share} DESC, owner = ? DESC LIMIT 1"
                oldest = f"SELECT MIN(number) FROM responses WHERE owner = ({most})"
                self._delete(f"number = ({oldest})", self._most, self._most_size, owner)
            return run("SELECT 1 FROM responses WHERE key = ?", (key,)).fetchone() is not None

    def _has_too_much(self) -> bool:
        count, size = self._totals()
        return count > self._most or size > self._most_size

    def _count_of(self, owner: str) -> int:
        found = self._database.execute("SELECT count FROM owners WHERE owner = ?", (owner,)).fetchone()
        return 0 if found is None else found[0]

    def _delete(self, which: str, *values: Any) -> bool:
        found = self._database.execute(f"SELECT number, size, owner FROM responses WHERE {which}", values).fetchone()
        if found is None:
            return False
        self._database.execute("DELETE FROM responses WHERE number = ?", found[:1])
        self._database.execute("DELETE FROM items WHERE number = ?", found[:1])
        self._database.execute("UPDATE totals SET count = count - 1, size = size - ?", found[1:2])
        self._database.execute("UPDATE owners SET count = count - 1, size = size - ? WHERE owner = ?", found[1:])
        self._database.execute("DELETE FROM owners WHERE owner = ? AND count < 1", found[2:])
        return True

    @_alone
    def delete(self, owner: str, id: str) -> bool:
        """Delete a response. Was it there?"""
        with writing(self._database):
            return self._delete("key = ?", _key(owner, id))

    @_alone
    def response(self, owner: str, id: str) -> tuple[list[Any], dict[str, Any]] | None:
        """The input items that a response answers, those of earlier responses included, and the response."""
        which = "SELECT input, response FROM responses WHERE key = ? AND ends > ?"
        found = self._database.execute(which, (_key(owner, id), time())).fetchone()
        return None if found is None else (json.loads(found[0]), json.loads(found[1]))

    @_alone
    def item(self, owner: str, id: str) -> dict[str, Any] | None:
        """An item of a response."""
        which = "SELECT item FROM items JOIN responses USING (number) WHERE items.key = ? AND ends > ?"
        found = self._database.execute(which, (_key(owner, id), time())).fetchone()
        item: dict[str, Any] | None = None if found is None else json.loads(found[0])
        return item


def _key(owner: str, id: str) -> str:
    """In JSON, because an id comes from the client and may have lone surrogates."""
    return json.dumps([owner, id])
