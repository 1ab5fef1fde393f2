"""Responses that are made after their request has been answered: `background` of Responses.

The response is stored as "in_progress" at once, with the name of the gateway that makes it. Any gateway that shares the
store can show or cancel it. The one that makes it looks at what is stored, and ends if the response is no longer
wanted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from ..refused import Refused, later_error, refused_for
from ..requests.bodies import Json
from .request_record import RequestRecord, log
from .state import State, StateError, absent

__all__ = ["Background", "Begun"]

LOOKS = 1.0
"""The seconds between looks at what is stored."""
MARGIN = 5.0
"""The seconds after `drain` in which responses may still end."""
_BY = "made_by"
_RUNS = "in_progress"


class Begun(Json):
    """The answer to a request whose response is still made."""


class Background:
    """Makes responses, and shows and cancels those of all gateways that share the state."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(
        self,
        http: Request,
        record: RequestRecord,
        items: list[Any],
        response: dict[str, Any],
        make: Callable[[Request], Awaitable[Response]],
    ) -> Begun:
        """Store a response that is not complete, and begin to make it. Raises `Refused` and `StateError`.

        make: makes and stores the response of a request.
        """
        record.response_id = response["id"]
        begun = {**response, "status": _RUNS, "background": True, _BY: self._state.me}
        if not await self._state.put(record.owner, items, begun):
            raise Refused(400, "This response cannot be stored here.", param="background", code="unsupported_parameter")
        task = asyncio.ensure_future(self._make(http, record, items, begun, make))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return Begun(_public(begun))

    async def _make(
        self,
        http: Request,
        record: RequestRecord,
        items: list[Any],
        begun: dict[str, Any],
        make: Callable[[Request], Awaitable[Response]],
    ) -> None:
        unwanted = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await unwanted.wait()
            return {"type": "http.disconnect"}

        looking = asyncio.ensure_future(self._look(record.owner, begun["id"], unwanted))
        status = 200
        try:
            status = (await make(Request(http.scope, receive))).status_code
        except ClientDisconnect:
            pass
        except Exception as error:
            refused = refused_for(error)
            status, record.error = refused.status, refused.name
            log.error("request %s: its response in the background failed: %r", record.id, error)
            refusal = later_error(refused, "responses")
            failed = {"status": "failed", "error": {"code": refusal["code"], "message": refusal["message"]}}
            with suppress(StateError):
                if await self.is_wanted(record.owner, begun["id"]):
                    await self._state.put(record.owner, items, {**_public(begun), **failed})
        finally:
            looking.cancel()
            record.end(status)

    async def _look(self, owner: str, id: str, unwanted: asyncio.Event) -> None:
        while True:
            await asyncio.sleep(LOOKS)
            with suppress(StateError):
                if not await self.is_wanted(owner, id):
                    unwanted.set()
                    return

    async def is_wanted(self, owner: str, id: str) -> bool:
        """Is this response still to be made? It may have been cancelled or deleted. Raises `StateError`."""
        stored = await self._state.response(owner, id)
        return stored is not None and stored[1]["status"] == _RUNS

    async def shown(self, response: dict[str, Any]) -> dict[str, Any]:
        """A stored response as its owner sees it. If the gateway that made it is gone, it has failed. Raises
        `StateError`.
        """
        by = response.get(_BY)
        runs = by is not None and (by == self._state.me or await self._state.is_alive(by))
        if runs or response["status"] != _RUNS:
            return _public(response)
        error = {"code": "server_error", "message": "The gateway that made this response has stopped."}
        return {**_public(response), "status": "failed", "error": error}

    async def cancel(self, owner: str, id: str) -> dict[str, Any]:
        """Cancel a response, if it is not complete. Raises `Refused` and `StateError`."""
        stored = await self._state.response(owner, id)
        if stored is None:
            raise absent()
        items, response = stored
        if not response.get("background"):
            raise Refused(400, "Only a response in the background can be cancelled.", param="response_id")
        response = await self.shown(response)
        if response["status"] == _RUNS:
            response["status"] = "cancelled"
            await self._state.put(owner, items, response)
        return response

    async def finish(self, seconds: float) -> None:
        """Let the responses end, for this long. Those that are left are ended."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds + MARGIN)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _public(response: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in response.items() if name != _BY}
