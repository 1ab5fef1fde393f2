"""A real MCP server over standard input and output, or the application of the same server over HTTP."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations


def server() -> MCPServer:
    made = MCPServer("weather")

    @made.tool(annotations=ToolAnnotations(read_only_hint=True))
    def forecast(city: str, days: int = 1) -> dict[str, Any]:
        """The forecast of a city."""
        return {"city": city, "days": days, "note": "晴"}

    @made.tool()
    def fail(reason: str) -> str:
        """Fails."""
        raise ToolError(reason)

    @made.tool()
    def picture() -> Image:
        """A picture."""
        return Image(data=b"\x89PNG", format="png")

    @made.tool()
    async def hang() -> None:
        """Never ends."""
        await asyncio.Event().wait()

    @made.tool()
    def die() -> str:
        """Ends the process."""
        os._exit(1)

    return made


@contextmanager
def http_server() -> Iterator[Any]:
    """The URL of the server, in a thread, on a port of the system's choice."""
    app = server().streamable_http_app()
    running = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        while not running.started:
            assert thread.is_alive()
        port = running.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp", running, thread
    finally:
        running.should_exit = True
        thread.join()


if __name__ == "__main__":
    server().run("stdio")
