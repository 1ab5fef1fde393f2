"""Responses that clients may build on, in memory and bounded: the oldest go first."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any, NamedTuple

from .refused import Refused

__all__ = ["Store"]


class _Entry(NamedTuple):
    input: list[Any]
    response: dict[str, Any]
    size: int


class Store:
    """Responses by owner and id. An owner sees its own alone.

    responses, size: how many there may be, and how many bytes of JSON.
    """

    def __init__(self, responses: int = 10_000, size: int = 1 << 28) -> None:
        self._most, self._most_size = responses, size
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._items: dict[tuple[str, str], Any] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, owner: str, items: list[Any], response: dict[str, Any]) -> None:
        """Keep a response, and the input items it answers. One that is too large by itself is not kept."""
        size = len(json.dumps([items, response], default=str))
        if size > self._most_size or self._most < 1:
            return
        self.delete(owner, response["id"])
        self._entries[owner, response["id"]] = _Entry(items, response, size)
        self.size += size
        for item in response["output"]:
            self._items[owner, item["id"]] = item
        while len(self._entries) > self._most or self.size > self._most_size:
            first_owner, first = next(iter(self._entries))
            self.delete(first_owner, first)

    def delete(self, owner: str, id: str) -> bool:
        """Was it there?"""
        entry = self._entries.pop((owner, id), None)
        if entry is None:
            return False
        self.size -= entry.size
        for item in entry.response["output"]:
            self._items.pop((owner, item["id"]), None)
        return True

    def response(self, owner: str, id: str) -> dict[str, Any]:
        """Raises `Refused` for one that is not there, or no longer."""
        entry = self._entries.get((owner, id))
        if entry is None:
            raise Refused(404, "There is no response with this id, or no longer.", param="response_id")
        return entry.response

    def earlier(self, owner: str, kind: str, id: str) -> list[Any]:
        """The items that a request builds on: a whole "response" with its input, or one "item". Raises `Refused`."""
        if kind == "item":
            item = self._items.get((owner, id))
            if item is None:
                what = "There is no item with this id, or no longer: send the item itself."
                raise Refused(404, what, param="input", code="item_not_found")
            return [item]
        entry = self._entries.get((owner, id))
        if entry is None:
            what = "There is no response with this id, or no longer: send the whole input."
            raise Refused(404, what, param="previous_response_id", code="previous_response_not_found")
        return [*entry.input, *entry.response["output"]]
