"""An HTTP server of one engine, scripted: what it sends, when it waits, and how it breaks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

DROP = object()  # the connection is lost
HANG = object()  # nothing more comes


@dataclass
class Upstream:
    """script: what a POST is answered with: bytes are sent, dicts as events, floats are slept, functions are
    awaited. status: of the response.
    first: the statuses of the first responses, which have no body. replied: more headers of each response.
    props: what llama-server says at /props.

    requests: (path, body) of each POST. peers: the clients' addresses, one for each
    connection. gone: how many answers lost their client before their end.
    """

    script: list[Any]
    status: int = 200
    models: Any = field(default_factory=lambda: {"data": [{"id": "the-model"}]})
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    peers: set[Any] = field(default_factory=set)
    gone: int = 0
    url: str = ""
    first: list[int] = field(default_factory=list)
    replied: dict[str, str] = field(default_factory=dict)
    props: Any = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.path, await request.json()))
        self.headers.append(dict(request.headers))
        self.peers.add(request.transport.get_extra_info("peername") if request.transport else None)
        if self.first:
            return web.Response(status=self.first.pop(0), headers=self.replied)
        replied = {"content-type": "text/event-stream", **self.replied}
        response = web.StreamResponse(status=self.status, headers=replied)
        await response.prepare(request)
        try:
            for item in self.script:
                await self._send(item, request, response)
        except (ConnectionError, asyncio.CancelledError):
            self.gone += 1
            raise
        return response

    async def _send(self, item: Any, request: web.Request, response: web.StreamResponse) -> None:
        if item is DROP:
            assert request.transport is not None
            request.transport.abort()
            raise asyncio.CancelledError
        if item is HANG:
            await asyncio.Event().wait()
        elif isinstance(item, float):
            await asyncio.sleep(item)
        elif callable(item):
            await item()
        else:
            await response.write(item if isinstance(item, bytes) else event(item))

    async def list_props(self, _: web.Request) -> web.Response:
        return web.json_response(self.props)

    async def list_models(self, _: web.Request) -> web.Response:
        return web.json_response(self.models)


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


@asynccontextmanager
async def serving(upstream: Upstream) -> AsyncIterator[str]:
    """The URL of a server that runs until the block ends. Answers whose client has gone are cancelled."""
    app = web.Application(client_max_size=1 << 26)
    app.router.add_get("/v1/models", upstream.list_models)
    if upstream.props is not None:
        app.router.add_get("/props", upstream.list_props)
    app.router.add_post("/{path:.*}", upstream.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    upstream.url = f"http://{host}:{port}"
    try:
        yield upstream.url
    finally:
        await runner.cleanup()
