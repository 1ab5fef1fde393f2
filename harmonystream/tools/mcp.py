"""The tools of an MCP server. One connection is open while the `Tools` are entered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .results import Failure, ToolError
from .tool import Tool

try:
    from mcp import Client, MCPError
    from mcp.types import CONNECTION_CLOSED, CallToolResult, EmbeddedResource, ResourceLink, TextContent
    from mcp.types import Tool as Listed
except ImportError as error:
    raise ImportError("tools of an MCP server need the client: pip install 'harmonystream[mcp]'") from error

if TYPE_CHECKING:
    from .binding import Bound

__all__ = ["Connection", "Text"]

MAX_PAGES = 100
"""The most pages of a server's list of tools."""

CLOSING = 10.0
"""How many seconds a connection has to close. A server in a process of its own has some of them to end by itself."""


class Text(str):
    """The text of an MCP tool's answer. `result` is the whole answer, including images and structured content."""

    result: CallToolResult


class Connection:
    """A client in a task of its own.

    The task that entered the client's scopes must also leave them. And if they end for any reason, the caller must not
    end with them.

    server: a URL (Streamable HTTP), `mcp.StdioServerParameters`, an `mcp.Client` or anything that a client connects to.
        A client that the caller has entered is used as it is, and is not closed.
    prefix: put before each tool's name, with an underscore, if it is not empty.
    """

    def __init__(self, server: Any, prefix: str) -> None:
        self._where = _where(server)
        self._client = server if isinstance(server, Client) else Client(server)
        self._is_own = not _is_entered(self._client)
        self._prefix = f"{prefix}_" if prefix else ""
        self._loop = asyncio.get_running_loop()
        self._listed: asyncio.Future[list[Listed]] = self._loop.create_future()
        self._leave = asyncio.Event()
        self._task = asyncio.create_task(self._hold())
        self.names: list[str] = []  # names of the tools that were added for this server

    async def _hold(self) -> None:
        if not self._is_own:
            self._listed.set_result(await self._list())
            await self._leave.wait()
            return
        async with self._client:
            self._listed.set_result(await self._list())
            await self._leave.wait()

    async def _list(self) -> list[Listed]:
        page = await self._client.list_tools()
        listed = list(page.tools)
        for _ in range(MAX_PAGES):
            if page.next_cursor is None:
                return listed
            page = await self._client.list_tools(cursor=page.next_cursor)
            listed += page.tools
        raise ValueError(f"the server's list of tools has more than {MAX_PAGES} pages")

    async def tools(self, timeout: float | None) -> list[Tool]:
        """The server's tools. Raises TimeoutError or ConnectionError if they cannot be fetched."""
        either: set[asyncio.Future[Any]] = {self._listed, self._task}
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if self._listed.done():
            return [self._tool(listed) for listed in self._listed.result()]
        if not self._task.done():
            raise TimeoutError(f"the MCP server{self._where} did not list its tools within {timeout:g} seconds")
        cause = None if self._task.cancelled() else self._task.exception()
        raise ConnectionError(f"the MCP server{self._where} did not list its tools: {_first(cause)}") from cause

    async def close(self) -> None:
        """Leave the client, and cancel it if it does not end."""
        self._leave.set()
        try:
            if self._listed.done():
                await asyncio.wait({self._task}, timeout=CLOSING)
        finally:
            self._task.cancel()  # this does nothing to a task that has ended
            await asyncio.wait({self._task}, timeout=CLOSING)
            if self._task.done() and not self._task.cancelled():
                self._task.exception()  # read it to prevent a warning: the calls have reported it

    def _tool(self, listed: Listed) -> Tool:
        hints = listed.annotations

        async def function(**arguments: Any) -> Text:
            return await self._call(listed.name, arguments)

        return Tool(
            self._prefix + listed.name,
            listed.description or "",
            listed.input_schema,
            function,
            early=hints is not None and bool(hints.read_only_hint),
            bind=_binder(listed.input_schema),
        )

    async def _call(self, name: str, arguments: dict[str, Any]) -> Text:
        if self._task.done() or self._leave.is_set():
            raise Failure("unavailable", "the MCP server is not connected")
        if asyncio.get_running_loop() is not self._loop:
            raise Failure("unavailable", "the MCP server is connected in another event loop")
        try:
            result = await self._client.call_tool(name, arguments)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise Failure("unavailable", "the connection to the MCP server is lost", error) from None
            raise ToolError(str(error)) from error
        text = _text(result)
        if result.is_error:
            raise ToolError(text)
        return text


def _where(server: Any) -> str:
    """The server's URL or command, for errors."""
    if isinstance(server, str):
        return f" {server}"
    command = getattr(server, "command", None)
    return f" {' '.join([command, *getattr(server, 'args', ())])}" if isinstance(command, str) else ""


def _is_entered(client: Client) -> bool:
    try:
        return client.session is not None
    except RuntimeError:
        return False


def _first(error: BaseException | None) -> str:
    """The first error in a group, because it is more precise than the group."""
    while error is not None and (inner := getattr(error, "exceptions", None)):
        error = inner[0]
    return "it ended" if error is None else f"{type(error).__name__}: {error}"


def _binder(schema: dict[str, Any]) -> Callable[[dict[str, Any]], Bound]:
    from .validation import SchemaBinder

    try:
        return SchemaBinder(schema)
    except ValueError:  # the server has made the schema, and also checks the arguments
        return lambda arguments: ((), arguments)


def _text(result: CallToolResult) -> Text:
    """The texts of an answer, with a line for each part that is not text."""
    from .results import text_of

    if not result.content and result.structured_content is not None:
        text = Text(text_of(result.structured_content, MAX_TEXT)[0])
    else:
        text = Text("\n".join(map(_block_text, result.content)))
    text.result = result
    return text


MAX_TEXT = 10_000_000
"""How many characters of structured content are written. `Tools.max_result` cuts the text for the model."""


def _block_text(block: Any) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ResourceLink):
        return f"[resource: {block.uri}]"
    if isinstance(block, EmbeddedResource):
        text = getattr(block.resource, "text", None)
        return text if isinstance(text, str) else f"[resource: {block.resource.uri}]"
    return f"[{block.type}: {block.mime_type}]"
