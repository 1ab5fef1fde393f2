"""What the processes of a gateway share: stored responses, the usage of each key, and the running gateways."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

from ..limits import Limits, Quota
from ..refused import Refused
from .quotas import Quotas
from .store import Store

__all__ = ["LocalState", "Reference", "State", "StateError", "absent", "earlier_of"]

Reference = tuple[str, str]
"""What a request builds on: "response" or "item", and its id."""
Returned = TypeVar("Returned")


class StateError(Exception):
    """The shared state cannot be read or changed now. The message is for the log."""


class State(Protocol):
    """The shared state. Every owner sees only its own data. A method that cannot read or change it raises `StateError`,
    unless the method's description differs.

    Use it inside `async with`.
    """

    @property
    def me(self) -> str:
        """This gateway's name among those that share the state."""

    @property
    def is_there(self) -> bool:
        """Did the last attempt to store something succeed?"""

    async def __aenter__(self) -> State: ...

    async def __aexit__(self, *exception: object) -> None: ...

    async def enter(self, owner: str, quota: Quota) -> None:
        """Open a request, until `leave`. Raises `Refused` for an owner beyond its quota, and nothing else."""

    def leave(self, owner: str, quota: Quota) -> None:
        """Close a request. It neither waits nor raises."""

    def take(self, owner: str, tokens: int, quota: Quota) -> None:
        """Count used tokens. It neither waits nor raises."""

    def hold(self, limits: Limits) -> None:
        """Apply other limits to what is stored from now on."""

    def open(self) -> dict[str, int]:
        """How many requests each owner has open here, where there is a limit."""

    async def put(self, owner: str, items: list[Any], response: dict[str, Any]) -> bool:
        """Keep a response, and the input items that it answers. Is it kept? One that is too large by itself is not."""

    async def response(self, owner: str, id: str) -> tuple[list[Any], dict[str, Any]] | None:
        """The input items that a response answers, those of earlier responses included, and the response."""

    async def item(self, owner: str, id: str) -> dict[str, Any] | None:
        """An item of a stored response."""

    async def delete(self, owner: str, id: str) -> bool:
        """Delete a response. Was it there?"""

    async def count(self) -> int:
        """How many responses are stored."""

    async def is_sound(self) -> bool:
        """Can something be stored? It does not raise."""

    async def gateways(self) -> int:
        """How many gateways share this. It does not raise."""

    async def is_alive(self, gateway: str) -> bool:
        """Does the gateway of this name run?"""


async def earlier_of(state: State, owner: str, references: Iterable[Reference]) -> Mapping[Reference, list[Any]]:
    """For each reference that is stored: the items of a "response" and of all before it, or the one "item"."""
    found: dict[Reference, list[Any]] = {}
    for kind, id in references:
        if kind == "item":
            if (item := await state.item(owner, id)) is not None:
                found[kind, id] = [item]
        elif (stored := await state.response(owner, id)) is not None:
            items, response = stored
            if response["status"] == "in_progress":
                what = "The previous response is not complete yet."
                raise Refused(400, what, param="previous_response_id", code="previous_response_not_complete")
            found[kind, id] = [*items, *response["output"]]
    return found


_ABSENT = {
    "response": ("send the whole input.", "previous_response_id", "previous_response_not_found"),
    "item": ("send the item itself.", "input", "item_not_found"),
}


def absent(kind: str = "") -> Refused:
    """The error if a response is not stored, or the "response" or "item" that a request builds on."""
    if not kind:
        return Refused(404, "There is no response with this id, or no longer.", param="response_id")
    instead, param, code = _ABSENT[kind]
    return Refused(404, f"There is no {kind} with this id, or no longer: {instead}", param=param, code=code)


class LocalState:
    """The state of one machine, in SQLite. folder: shared by several processes. None: there is one process."""

    def __init__(self, limits: Limits, folder: str | os.PathLike[str] | None = None) -> None:
        self.me, self._is_shared = str(os.getpid()), folder is not None
        self.store = Store(*_bounds(limits), folder)
        self.quotas = Quotas(limits, folder)
        self.leave, self.take, self.open = self.quotas.leave, self.quotas.take, self.quotas.open

    @property
    def is_there(self) -> bool:
        return True

    async def __aenter__(self) -> LocalState:
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    def hold(self, limits: Limits) -> None:
        self.store.hold(*_bounds(limits))

    async def enter(self, owner: str, quota: Quota) -> None:
        self.quotas.enter(owner, quota)

    async def put(self, owner: str, items: list[Any], response: dict[str, Any]) -> bool:
        return await _in_thread(partial(self.store.put, owner, items, response))

    async def response(self, owner: str, id: str) -> tuple[list[Any], dict[str, Any]] | None:
        return await _in_thread(partial(self.store.response, owner, id))

    async def item(self, owner: str, id: str) -> dict[str, Any] | None:
        return await _in_thread(partial(self.store.item, owner, id))

    async def delete(self, owner: str, id: str) -> bool:
        return await _in_thread(partial(self.store.delete, owner, id))

    async def count(self) -> int:
        return await _in_thread(self.store.__len__)

    async def is_sound(self) -> bool:
        return await _in_thread(self.store.is_sound)

    async def gateways(self) -> int:
        return 1

    async def is_alive(self, gateway: str) -> bool:
        if gateway == self.me or not self._is_shared or not gateway.isdecimal():
            return gateway == self.me
        try:
            os.kill(int(gateway), 0)  # it only looks: several processes need POSIX
        except OSError:
            return False
        return True


def _bounds(limits: Limits) -> tuple[int, int, int, float]:
    return limits.stored, limits.stored_bytes, limits.stored_per_key, limits.stored_seconds


async def _in_thread(call: Callable[[], Returned]) -> Returned:
    """Run in a thread: writing a long conversation takes some milliseconds, and other streams go on. Raises
    `StateError`.
    """
    try:
        return await asyncio.to_thread(call)
    except sqlite3.Error as error:
        raise StateError(str(error)) from error
