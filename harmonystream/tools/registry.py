"""The tools of an application, and the tools of one request."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload
from weakref import WeakKeyDictionary

from .._native.core.tools import Tools as Compiled
from .._native.core.tools import compiled_tools
from ..checks import check_function, check_number, check_text, shown
from ..errors import suggestion
from .calls import call_of
from .definitions import definition, tool_from
from .listeners import Listeners, Registered
from .running import answer
from .threads import Threads

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from typing_extensions import Self

    from .definitions import Api
    from .listeners import Moment
    from .mcp import Connection
    from .results import ToolResult
    from .tool import Approve, Tool

__all__ = ["Tools"]

_F = TypeVar("_F", bound=Callable[..., Any])


class Tools:
    """Tools by name, in the order in which they were added. `Parser`, emitters, `render` and the loop take them.

    items: functions, `Tool`s, definitions as the Chat Completions, Responses and Messages APIs have them, names,
        classes that pydantic knows, and other `Tools`.
    timeout: how many seconds one run may take, unless the tool has its own limit. None: no limit.
    approve: called before each run, unless the tool has its own function.
    mcp: MCP servers, whose tools are added while the `Tools` are entered (`async with tools`). Each is a URL, an
        `mcp.StdioServerParameters` or an `mcp.Client`. In a mapping, the keys are prefixes of the tools' names.
    max_concurrency: how many tools may run at the same time, in one event loop.
    max_threads: how many threads of plain functions may be alive, including those that hang.
    max_result: how many characters a result may have. A longer one is cut, and its last line reports the cut.

    Raises ValueError for two tools of one name, and ValueError or TypeError for an item that cannot be a tool.
    """

    def __init__(
        self,
        *items: object,
        mcp: Iterable[Any] | Mapping[str, Any] = (),
        timeout: float | None = 60.0,
        approve: Approve | None = None,
        max_concurrency: int = 8,
        max_threads: int = 64,
        max_result: int = 100_000,
    ) -> None:
        check_number("timeout", timeout, above=0, none=True)
        check_function("approve", approve)
        for name, limit in (("concurrency", max_concurrency), ("threads", max_threads), ("result", max_result)):
            check_number(f"max_{name}", limit, least=1, whole=True)
        self.timeout = timeout
        self.approve = approve
        self.max_concurrency = max_concurrency
        self.max_result = max_result
        self.threads: Threads = Threads(max_threads)
        self.listeners: Listeners = Listeners()
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        self._by_name: dict[str, Tool] = {}
        if not isinstance(mcp, Iterable) or isinstance(mcp, (str, bytes)):
            raise TypeError(f"mcp is a list of MCP servers, or a mapping with prefixes of names, not {shown(mcp)}")
        self._servers = list(mcp.items()) if isinstance(mcp, Mapping) else [("", server) for server in mcp]
        for prefix, server in self._servers:
            check_text("the prefix of an MCP server", prefix, none=False)
            if isinstance(server, str) and not server.startswith(("http://", "https://")):
                raise ValueError(f"the URL of an MCP server begins with http:// or https://, unlike {server!r}")
            if server is None or isinstance(server, (bytes, int, float, list, tuple, dict, set)):
                raise TypeError(
                    f"an MCP server is a URL, an mcp.StdioServerParameters or an mcp.Client, not {shown(server)}"
                )
        self._connections: list[Connection] = []
        self._changed()
        for item in items:
            for one in item if isinstance(item, Tools) else (item,):
                self._insert(tool_from(one, {}))

    def _insert(self, tool: Tool) -> None:
        if tool.name in self._by_name:
            raise ValueError(f"there are two tools of the name {tool.name!r}: rename one, or remove() the first")
        self._by_name[tool.name] = tool
        self._changed()

    def _changed(self) -> None:
        """Mark the compiled tables as out of date."""
        self.state: object = object()  # a new object after each change
        self.compiled: Compiled | None = None

    def compile(self) -> Compiled:
        """The tables in which parsers look up names and types. They are made once, and again after a change.

        `Parser(tools=tools)`, `label`, `Batch` and the emitters call this. It does not notice if a schema is changed in
        place.
        """
        made = self.compiled
        if made is None:
            state = self.state
            made = self.compiled = compiled_tools(self.schemas("chat"))
            if self.state is not state:  # another thread has added or removed a tool meanwhile
                self.compiled = None
        return made

    # --- by name ---

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Tool:
        if name not in self._by_name:
            raise KeyError(f"there is no tool {name!r}; {suggestion(str(name), [*self._by_name])}")
        return self._by_name[name]

    def get(self, name: str) -> Tool | None:
        return self._by_name.get(name)

    def __repr__(self) -> str:
        return f"Tools({', '.join(map(repr, self._by_name))})"

    # --- declared ---

    @overload
    def add(self, item: _F, /, **options: Any) -> _F: ...
    @overload
    def add(self, item: object, /, **options: Any) -> Any: ...
    @overload
    def add(self, /, **options: Any) -> Callable[[_F], _F]: ...

    def add(self, item: Any = None, /, **options: Any) -> Any:
        """Add a tool: `tools.add(item)`, or the decorator `@tools.add` or `@tools.add(timeout=10)`. Returns the item.

        options: fields of `Tool` that replace those of the item.
        """
        if item is None:
            return lambda function: self.add(function, **options)
        self._insert(tool_from(item, options))
        return item

    def remove(self, name: str) -> None:
        """Removes a tool. Raises KeyError if no tool has this name. Runs that have begun continue."""
        del self._by_name[self[name].name]
        self._changed()

    def schemas(self, api: Api = "chat") -> list[dict[str, Any]]:
        """The tools' definitions for requests of an API: "chat" (Completions), "responses" or "messages"."""
        if self._servers and not self._connections:
            raise RuntimeError("the tools of MCP servers are known after `async with tools`")
        return [definition(tool, api) for tool in self]

    def choice(self, api: Api = "chat") -> Any:
        """The `tool_choice` that forces the `required` tool. Without a required tool, it is "auto" in the API's form.

        If several tools are required, an API can only force a call of one of them.
        """
        required = [tool.name for tool in self if tool.required]
        if api == "messages":
            if len(required) == 1:
                return {"type": "tool", "name": required[0]}
            return {"type": "any" if required else "auto"}
        if len(required) == 1:
            named = {"name": required[0]}
            return {"type": "function", **named} if api == "responses" else {"type": "function", "function": named}
        return "required" if required else "auto"

    def offered(self, request: Any) -> Tools:
        """The tools for one request, without those whose `when` returns False. Listeners and limits are shared."""
        view = copy.copy(self)
        view._by_name = {tool.name: tool for tool in self if tool.when is None or tool.when(request)}
        view._changed()
        for tool in view:
            self.listeners.notify(Registered(tool, request))
        return view

    def only(self, name: str) -> Tools:
        """Only the tool with this name, as `Tools`. Raises KeyError if no tool has this name."""
        view = copy.copy(self)
        view._by_name = {name: self._by_name[name]}
        view._changed()
        return view

    def with_declared(self, items: Iterable[object]) -> Tools:
        """These tools and others, for example the tools that a request declares. Listeners and limits are shared.

        A new tool with the same name replaces the tool here. Raises what the constructor raises for an item.
        """
        view = copy.copy(self)
        added = [tool_from(item, {}) for item in items]
        view._by_name = {**self._by_name, **{tool.name: tool for tool in added}}
        view._changed()
        return view

    def on(self, moment: Moment, listener: Callable[[Any], object]) -> Callable[[], None]:
        """Call `listener` with the `Registered`, `Called` or `Answered` object at each such moment.

        Returns a function that ends this.
        """
        return self.listeners.on(moment, listener)

    def once(self, moment: Moment, listener: Callable[[Any], object]) -> Callable[[], None]:
        """Like `on`, for the next such moment only."""
        return self.listeners.once(moment, listener)

    # --- MCP servers ---

    async def __aenter__(self) -> Self:
        """Connect the MCP servers and add their tools. If one fails, close all of them and raise its exception."""
        if self._connections:
            raise RuntimeError("these tools are entered already: use `async with` once, around all that needs them")
        if not self._servers:
            return self
        from .mcp import Connection  # it needs the extra `mcp`, which tools without servers do without

        try:
            for prefix, server in self._servers:
                connection = Connection(server, prefix)
                self._connections.append(connection)
                for tool in await connection.tools(self.timeout):
                    self._insert(tool)
                    connection.names.append(tool.name)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Remove the MCP servers' tools, and close the connections."""
        connections, self._connections = self._connections, []
        for connection in connections:
            for name in connection.names:
                self._by_name.pop(name, None)
        self._changed()
        await asyncio.gather(*(connection.close() for connection in connections))

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Tools]:
        """These tools together with those of the MCP servers. Servers that are not connected are connected for the
        block.

        Raises what entering the tools raises.
        """
        if not self._servers or self._connections:
            yield self
            return
        view = copy.copy(self)
        view._by_name, view._connections = dict(self._by_name), []
        async with view:
            yield view

    # --- run ---

    async def run(self, call: object, *, timeout: float | None = None, context: Any = None) -> ToolResult:
        """Run one call, and return its result. If the call fails, the result has an `error`.

        call: a `harmonystream.ToolCall`, or a call in the form of an API or its client. Raises TypeError for anything
        else.
        timeout: seconds for the whole run, including waiting and approval. Cancelling the run cancels the tool.
        context: any object of the application, for functions with a parameter that is annotated with `Context`.
        """
        return await answer(self, call_of(call), timeout, context)

    async def run_all(
        self, calls: Iterable[object], *, timeout: float | None = None, context: Any = None
    ) -> list[ToolResult]:
        """Run calls at the same time. The results have the order of the calls. timeout: seconds for all of them
        together.
        """
        known = [call_of(call) for call in calls]
        tasks = [asyncio.create_task(answer(self, call, timeout, context)) for call in known]
        try:
            if tasks:
                await asyncio.wait(tasks)
        except asyncio.CancelledError:  # gather() would return before its tasks have ended
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            raise
        return [task.result() for task in tasks]

    @asynccontextmanager
    async def slots(self) -> AsyncIterator[None]:
        """Wait until one more tool may run."""
        loop = asyncio.get_running_loop()
        async with self._slots.setdefault(loop, asyncio.Semaphore(self.max_concurrency)):
            yield
