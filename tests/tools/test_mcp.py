"""Tools of MCP servers: real ones over standard input and output, over HTTP, and within the process."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import mcp_server
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, EmbeddedResource, ResourceLink, TextContent, TextResourceContents
from mcp_server import http_server
from tool_calls import call, error_text

import harmonystream as hs
from harmonystream.tools import mcp

NAMES = ["forecast", "fail", "picture", "hang", "die"]
STDIO = StdioServerParameters(command=sys.executable, args=[str(Path(mcp_server.__file__))])


def names(tools: hs.Tools) -> list[str]:
    return [tool.name for tool in tools]


async def use(tools: hs.Tools) -> None:
    """What holds for the server's tools, whatever carries them."""
    assert names(tools) == ["local", *NAMES]
    assert [tool.name for tool in tools if tool.early] == ["forecast"]  # the server calls it read-only
    assert tools["forecast"].description == "The forecast of a city."
    calls = [
        call("forecast", '{"city": "Bergen", "days": "3"}'),  # a number as text is mended before it is sent
        call("forecast", '{"days": 3}'),
        call("fail", '{"reason": "no such city"}'),
        call("picture"),
        call("local"),
    ]
    results = await tools.run_all(calls)
    assert results[0].value.result.structured_content == {"city": "Bergen", "days": 3, "note": "晴"}
    assert "晴" in results[0].text
    assert [result.error for result in results] == [None, "invalid_arguments", "failed", None, None]
    assert error_text(results[2]).endswith("no such city")
    assert results[3].text == "[image: image/png]"
    late = await tools.run(call("hang"), timeout=0.05)
    assert late.error == "timeout"
    assert (await tools.run(call("forecast", '{"city": "Oslo"}'))).error is None  # the connection goes on


async def closed(tools: hs.Tools) -> None:
    assert names(tools) == ["local"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


def local() -> int:
    return 1


def test_a_server_over_standard_input_and_output_that_dies():
    async def main():
        tools = hs.Tools(local, mcp=[STDIO])
        with pytest.raises(RuntimeError, match="async with"):
            tools.schemas()
        async with tools:
            await use(tools)
            offered = tools.offered({})
            assert len(tools.schemas("messages")) == 6
            for name in ("die", "forecast"):
                result = await tools.run(call(name, '{"city": "Oslo"}' if name == "forecast" else "{}"))
                assert (result.error, error_text(result)) == ("unavailable", "the connection to the MCP server is lost")
            assert (await tools.run(call("local"))).text == "1"
        result = await offered.run(call("forecast", '{"city": "Oslo"}'))
        assert error_text(result) == "the MCP server is not connected"
        await closed(tools)

    before = set(os.listdir("/proc/self/fd")) if sys.platform == "linux" else set()
    asyncio.run(main())
    assert not before or len(os.listdir("/proc/self/fd")) <= len(before)


def test_a_server_over_http_that_goes_away():
    async def main():
        with http_server() as (url, server, thread):
            async with hs.Tools(local, mcp=[url]) as tools:
                await use(tools)
                server.should_exit = True
                await asyncio.to_thread(thread.join)
                result = await tools.run(call("forecast", '{"city": "Oslo"}'), timeout=20)
                assert (result.error, error_text(result)) == ("unavailable", "the connection to the MCP server is lost")
            await closed(tools)

    asyncio.run(main())


def test_servers_in_the_process_with_prefixes_and_one_that_the_caller_has_entered():
    async def main():
        async with Client(mcp_server.server()) as client:
            tools = hs.Tools(mcp={"a": mcp_server.server(), "b": client})
            async with tools:
                assert names(tools) == [f"{prefix}_{name}" for prefix in "ab" for name in NAMES]
                with pytest.raises(RuntimeError, match="entered already"):
                    await tools.__aenter__()
                result = await tools.run(call("b_forecast", '{"city": "Oslo"}'))
                assert result.value.result.structured_content["city"] == "Oslo"
            assert names(tools) == []
            async with tools:  # once more
                assert len(tools) == 2 * len(NAMES)
            assert (await client.call_tool("forecast", {"city": "Oslo"})).is_error is False  # it is still open
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_names_that_collide_close_everything():
    async def main():
        tools = hs.Tools(local, mcp=[mcp_server.server(), mcp_server.server()])
        with pytest.raises(ValueError, match="two tools of the name 'forecast'"):
            async with tools:
                pass
        await closed(tools)

    asyncio.run(main())


@pytest.mark.parametrize("server", ["http://127.0.0.1:9/mcp", StdioServerParameters(command="no-such-command-here")])
def test_a_server_that_cannot_be_reached_is_reported(server):
    async def main():
        tools = hs.Tools(local, mcp=[server])
        with pytest.raises(ConnectionError, match=r"the MCP server .* did not list its tools: "):
            async with tools:
                pass
        await closed(tools)

    asyncio.run(main())


def test_a_server_that_says_nothing_is_given_up():
    async def main():
        silent = StdioServerParameters(command=sys.executable, args=["-c", "import sys; sys.stdin.read()"])
        tools = hs.Tools(local, mcp=[silent], timeout=0.05)
        with pytest.raises(TimeoutError, match=r"within 0.05 seconds"):
            async with tools:
                pass
        await closed(tools)

    asyncio.run(main())


def test_a_call_from_another_event_loop_is_an_error():
    async def main():
        async with hs.Tools(mcp=[mcp_server.server()]) as tools:
            return await asyncio.to_thread(lambda: asyncio.run(tools.run(call("forecast", '{"city": "x"}'))))

    result = asyncio.run(main())
    assert (result.error, error_text(result)) == ("unavailable", "the MCP server is connected in another event loop")


def test_blocks_of_every_kind_become_text():
    resource = TextResourceContents(uri="file:///a.txt", text="inside")
    content = [
        TextContent(text="said"),
        EmbeddedResource(resource=resource),
        ResourceLink(uri="file:///b.txt", name="b"),
    ]
    assert mcp._text(CallToolResult(content=content)) == "said\ninside\n[resource: file:///b.txt]"
    assert mcp._text(CallToolResult(content=[], structured_content={"n": 1})) == '{"n": 1}'
