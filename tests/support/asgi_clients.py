"""What the official client is told by the application of an engine in this process."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import httpx
import httpx2  # anthropic's; openai takes both
import openai
from host_scenarios import FLAT, INPUTS, MESSAGES, TOOLS, Contents, Play, of_choices, of_message, of_response, wrong
from wire_scenarios import Scenario


def asked(server: Any, ask: Any) -> Any:
    """ask: a coroutine function of an official client of the server's application."""

    async def run() -> Any:
        transport = httpx.ASGITransport(app=server.app)
        async with httpx.AsyncClient(transport=transport) as http:
            client = openai.AsyncOpenAI(base_url="http://here/v1", api_key="-", max_retries=0, http_client=http)
            return await ask(client)

    return asyncio.run(run())


def chunks(server: Any, **more: Any) -> list[Any]:
    async def ask(client: openai.AsyncOpenAI) -> list[Any]:
        given = {"model": "tiny", "messages": MESSAGES, "tools": TOOLS, "stream": True, **more}
        return [chunk async for chunk in await client.chat.completions.create(**given)]

    return asked(server, ask)


def chat_stream(server: Any, **more: Any) -> Contents:
    """By the official client's own accumulation."""

    async def ask(client: openai.AsyncOpenAI) -> Any:
        given = {"messages": MESSAGES, "tools": TOOLS, **more}
        async with client.chat.completions.stream(model="tiny", **given) as stream:
            async for _ in stream:
                pass
            return stream.current_completion_snapshot

    return of_choices(asked(server, ask).choices, "reasoning_content")


def chat(server: Any, **more: Any) -> Contents:
    """Without streaming."""

    async def ask(client: openai.AsyncOpenAI) -> Any:
        return await client.chat.completions.create(model="tiny", **{"messages": MESSAGES, "tools": TOOLS, **more})

    return of_choices(asked(server, ask).choices, "reasoning_content")


def responses(server: Any, *, streams: bool, **more: Any) -> Contents:
    async def ask(client: openai.AsyncOpenAI) -> Any:
        given = {"model": "tiny", "input": "Go!", "tools": FLAT, "store": False, **more}
        if not streams:
            return await client.responses.create(**given)
        return [event async for event in await client.responses.create(stream=True, **given)][-1].response

    return of_response(asked(server, ask))


def messages(server: Any, *, streams: bool, **more: Any) -> Contents:
    given = {"model": "tiny", "max_tokens": 2000, "messages": MESSAGES, "tools": INPUTS, **more}

    async def run() -> Any:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=server.app)) as http:
            client = anthropic.AsyncAnthropic(base_url="http://here", api_key="-", max_retries=0, http_client=http)
            if not streams:
                return await client.messages.create(**given)
            async with client.messages.stream(**given) as stream:
                return await stream.get_final_message()

    return of_message(asyncio.run(run()))


ROUTES = {"Chat, streamed": chat_stream, "Chat, whole": chat}


def wrong_answer(route: str, server: Any, play: Play, format: str, scenario: Scenario) -> str:
    """What is wrong with what the route says of the scenario that the server plays; "" if it is right."""
    try:
        said = ROUTES[route](server, extra_body=play.more)
    except (openai.APIError, ValueError) as error:
        return type(error).__name__
    return wrong(said, format, scenario)
