"""What the official clients are told by SGLang's application, and what harmonystream itself says of the same ids."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import httpx
import openai
from families import FAMILIES, tokenizer
from families import TOOLS as FAMILY_TOOLS
from model_dirs import STOPS
from streams import encode_greedily, to_ids
from wire_scenarios import LONG, SCENARIOS, Scenario, write

import harmonystream as hs

TOOLS = [{**tool, "function": {**tool["function"], "description": "A tool."}} for tool in FAMILY_TOOLS]
MESSAGES = [{"role": "user", "content": "Go!"}]
FORMATS = {
    "hermes": "qwen3",
    "qwen3_coder": "qwen3_coder",
    "kimi_k2": "kimi_k2",
    "glm": "glm45",
    "deepseek": "deepseek_v31",
    "harmony": "gpt_oss",
}
"""A family whose tokenizer and template a server gets, for each format."""


class Said(NamedTuple):
    reasoning: str
    content: str
    calls: tuple[tuple[str, str], ...]
    reason: str | None


def scenarios(format: str) -> dict[str, Scenario]:
    """Those of a format, but the long one."""
    return {
        name: scenario
        for name, scenario in SCENARIOS.items()
        if format in scenario.where and LONG not in write(format, scenario)
    }


def ids_of(family: str, text: str, *, stops: bool) -> list[int]:
    """The ids of a text with its markers. stops: it ends as the model ends its turn."""
    if family == "gpt_oss":
        ids = to_ids(text.encode(), encode_greedily)
        if stops and ids and ids[-1] == 200007:
            ids[-1] = 200002
        return ids
    row = FAMILIES[family]
    made = tokenizer(row.special, row.plain)
    ids = list(made.encode(text, add_special_tokens=False).ids)
    return ids + [made.token_to_id(STOPS.get(family, row.special[1]))] * stops


def expected(server: Any, ids: list[int], *, reason: str = "stop", tools: Any = TOOLS) -> Said:
    """Of the ids after the prompt that the server rendered last."""
    prompt = server.manager.asked.input_ids
    parser = hs.Parser(server.format, server.vocab, tools=tools, prompt=prompt)
    deltas = [parser.feed_delta(ids), parser.finish_delta()]
    calls: dict[int, list[str]] = {}
    for delta in deltas:
        for call in delta.calls:
            calls.setdefault(call.index, [call.name or "", ""])[1] += call.arguments
    reasoning, content = ("".join(delta[at] for delta in deltas) for at in (0, 1))
    said = tuple((name, arguments) for name, arguments in calls.values())
    return Said(reasoning, content, said, "tool_calls" if said and reason == "stop" else reason)


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


def chat_stream(server: Any, **more: Any) -> Said:
    """By the official client's own accumulation."""

    async def ask(client: openai.AsyncOpenAI) -> Any:
        given = {"messages": MESSAGES, "tools": TOOLS, **more}
        async with client.chat.completions.stream(model="tiny", **given) as stream:
            async for _ in stream:
                pass
            return stream.current_completion_snapshot

    choice = asked(server, ask).choices[0]
    return _said(choice.message, choice.finish_reason)


def chat(server: Any, **more: Any) -> Said:
    """Without streaming."""

    async def ask(client: openai.AsyncOpenAI) -> Any:
        return await client.chat.completions.create(model="tiny", **{"messages": MESSAGES, "tools": TOOLS, **more})

    choice = asked(server, ask).choices[0]
    return _said(choice.message, choice.finish_reason)


def _said(message: Any, reason: str | None) -> Said:
    calls = tuple((call.function.name, call.function.arguments) for call in message.tool_calls or ())
    return Said(getattr(message, "reasoning_content", None) or "", message.content or "", calls, reason)


FLAT = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]


def responses(server: Any, *, streams: bool) -> Said:
    async def ask(client: openai.AsyncOpenAI) -> Any:
        given = {"model": "tiny", "input": "Go!", "tools": FLAT, "store": False}
        if not streams:
            return await client.responses.create(**given)
        return [event async for event in await client.responses.create(stream=True, **given)][-1].response

    whole = asked(server, ask)
    texts = {"reasoning": "", "message": ""}
    calls = []
    for item in whole.output:
        if item.type == "function_call":
            calls.append((item.name, item.arguments))
        else:
            texts[item.type] += "".join(part.text for part in item.content or ())
    return Said(texts["reasoning"], texts["message"], tuple(calls), whole.status)
