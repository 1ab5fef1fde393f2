"""Responses that clients may build on, in a database and bounded: the oldest go first."""

from __future__ import annotations

import json
import os
from typing import Any

from .refused import Refused
from .shared import connect, writing

__all__ = ["Store"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS responses (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, input TEXT, response TEXT, size INTEGER
);
CREATE TABLE IF NOT EXISTS items (key TEXT PRIMARY KEY, number INTEGER, item TEXT) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_of ON items (number);
CREATE TABLE IF NOT EXISTS totals (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER, size INTEGER);
INSERT OR IGNORE INTO totals VALUES (1, 0, 0);
"""


class Store:
    """Responses by owner and id. An owner sees its own alone.

    responses, size: how many there may be, and how many bytes of JSON. folder: of the database that several processes
    share; None: this process has its own, in memory.
    """

    def __init__(
        self, responses: int = 10_000, size: int = 1 << 28, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self._most, self._most_size = responses, size
        self._database = connect(folder, _SCHEMA)

    def __len__(self) -> int:
        return self._totals()[0]

    @property
    def size(self) -> int:
        """Bytes of JSON."""
        return self._totals()[1]

    def _totals(self) -> tuple[int, int]:
        count, size = self._database.execute("SELECT count, size FROM totals").fetchone()
        return count, size

    def put(self, owner: str, items: list[Any], response: dict[str, Any]) -> None:
        """Keep a response, and the input items it answers. One that is too large by itself is not kept.

        Raises `sqlite3.Error` if it cannot be kept, because the disk is full, say.
        """
        said, answered = json.dumps(items), json.dumps(response)
        size = len(said) + len(answered)
        if size > self._most_size or self._most < 1:
            return
        key, run = _key(owner, response["id"]), self._database.execute
        with writing(self._database):
            self._delete("key = ?", key)
            made = run(
                "INSERT INTO responses (key, input, response, size) VALUES (?, ?, ?, ?)", (key, said, answered, size)
            )
            run("UPDATE totals SET count = count + 1, size = size + ?", (size,))
            kept = [(_key(owner, item["id"]), made.lastrowid, json.dumps(item)) for item in response["output"]]
            self._database.executemany("INSERT OR REPLACE INTO items VALUES (?, ?, ?)", kept)
            while self._has_too_much():
                self._delete("number = (SELECT MIN(number) FROM responses)")

    def _has_too_much(self) -> bool:
        count, size = self._totals()
        return count > self._most or size > self._most_size

    def _delete(self, which: str, *values: str) -> bool:
        found = self._database.execute(f"SELECT number, size FROM responses WHERE {which}", values).fetchone()
        if found is None:
            return False
        self._database.execute("DELETE FROM responses WHERE number = ?", found[:1])
        self._database.execute("DELETE FROM items WHERE number = ?", found[:1])
        self._database.execute("UPDATE totals SET count = count - 1, size = size - ?", found[1:])
        return True

    def delete(self, owner: str, id: str) -> bool:
        """Was it there?"""
        with writing(self._database):
            return self._delete("key = ?", _key(owner, id))

    def _find(self, what: str, table: str, key: str) -> Any:
        found = self._database.execute(f"SELECT {what} FROM {table} WHERE key = ?", (key,)).fetchone()
        return None if found is None else [json.loads(one) for one in found]

    def response(self, owner: str, id: str) -> dict[str, Any]:
        """Raises `Refused` for one that is not there, or no longer."""
        found = self._find("response", "responses", _key(owner, id))
        if found is None:
            raise Refused(404, "There is no response with this id, or no longer.", param="response_id")
        response: dict[str, Any] = found[0]
        return response

    def earlier(self, owner: str, kind: str, id: str) -> list[Any]:
        """The items that a request builds on: a whole "response" with its input, or one "item". Raises `Refused`."""
        if kind == "item":
            item: list[Any] | None = self._find("item", "items", _key(owner, id))
            if item is None:
                what = "There is no item with this id, or no longer: send the item itself."
                raise Refused(404, what, param="input", code="item_not_found")
            return item
        found = self._find("input, response", "responses", _key(owner, id))
        if found is None:
            what = "There is no response with this id, or no longer: send the whole input."
            raise Refused(404, what, param="previous_response_id", code="previous_response_not_found")
        items, response = found
        return [*items, *response["output"]]


def _key(owner: str, id: str) -> str:
    """JSON, because an id is what a client says, and may have halves of characters."""
    return json.dumps([owner, id])
