"""A real MCP server over standard input and output, or the application of the same server over HTTP."""

from __future__ import annotations

import asyncio
import os
from typing import Any

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


if __name__ == "__main__":
    server().run("stdio")
