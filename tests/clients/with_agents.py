"""OpenAI's Agents SDK for Python."""

from __future__ import annotations

import asyncio

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from agents.items import ReasoningItem
from openai import AsyncOpenAI
from report import QUESTION, URL, get_forecast, report

set_tracing_disabled(True)


def converse(kind: type) -> tuple[str, str | None]:
    async def run() -> tuple[str, str | None]:
        model = kind("recorded", AsyncOpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0))
        agent = Agent(name="forecaster", model=model, tools=[function_tool(get_forecast)])
        result = Runner.run_streamed(agent, QUESTION)
        async for _ in result.stream_events():
            pass
        parts = [
            item.raw_item.summary or item.raw_item.content
            for item in result.new_items
            if isinstance(item, ReasoningItem)
        ]
        return result.final_output, "".join(part.text for some in parts for part in some or ())

    return asyncio.run(run())


report("openai-agents", "Chat Completions", "openai-agents", lambda: converse(OpenAIChatCompletionsModel))
report("openai-agents", "Responses", "openai-agents", lambda: converse(OpenAIResponsesModel))
