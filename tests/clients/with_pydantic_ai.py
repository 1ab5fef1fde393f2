"""pydantic-ai."""

from __future__ import annotations

from typing import Any

from anthropic import AsyncAnthropic
from pydantic_ai import Agent
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from report import QUESTION, URL, get_forecast, report


def converse(model: Any) -> tuple[str, str | None]:
    agent = Agent(model, tools=[get_forecast])
    result = agent.run_sync(QUESTION)
    parts = [part for message in result.all_messages() for part in message.parts if isinstance(part, ThinkingPart)]
    return result.output, "".join(part.content for part in parts) or None


OPENAI = OpenAIProvider(base_url=f"{URL}/v1", api_key="none")
ANTHROPIC = AnthropicProvider(anthropic_client=AsyncAnthropic(base_url=URL, api_key="none", max_retries=0))
NAME = "pydantic-ai-slim"
report("pydantic-ai", "Chat Completions", NAME, lambda: converse(OpenAIChatModel("recorded", provider=OPENAI)))
report("pydantic-ai", "Responses", NAME, lambda: converse(OpenAIResponsesModel("recorded", provider=OPENAI)))
report("pydantic-ai", "Messages", NAME, lambda: converse(AnthropicModel("recorded", provider=ANTHROPIC)))
