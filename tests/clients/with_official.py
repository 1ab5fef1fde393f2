"""The official clients of OpenAI and Anthropic for Python."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
from report import QUESTION, URL, get_forecast, report

OPENAI = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "day": {"type": "string"}, "hourly": {"type": "boolean"}},
}


def chat() -> tuple[str, str | None]:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    function = {"name": "get_forecast", "parameters": PARAMETERS}
    while True:
        tools: Any = [{"type": "function", "function": function}]
        with OPENAI.chat.completions.stream(model="recorded", messages=messages, tools=tools) as stream:
            message = stream.get_final_completion().choices[0].message
        if not message.tool_calls:
            return message.content or "", getattr(message, "reasoning", None)
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            said = get_forecast(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})


def responses() -> tuple[str, str | None]:
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    while True:
        tools: Any = [{"type": "function", "name": "get_forecast", "parameters": PARAMETERS, "strict": False}]
        with OPENAI.responses.stream(model="recorded", input=items, tools=tools) as stream:
            response = stream.get_final_response()
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            thoughts = [part.text for item in response.output if item.type == "reasoning" for part in item.summary]
            return response.output_text, "".join(thoughts)
        items += [item.model_dump(exclude_none=True) for item in response.output]
        for call in calls:
            said = get_forecast(**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": said})


def messages() -> tuple[str, str | None]:
    """The tool runner, which asks for a thread first and must be refused."""
    client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
    runner = client.beta.messages.tool_runner(
        model="recorded",
        max_tokens=999,
        messages=[{"role": "user", "content": QUESTION}],
        tools=[anthropic.beta_tool(get_forecast)],
    )
    *_, last = runner
    text = "".join(block.text for block in last.content if block.type == "text")
    return text, "".join(block.thinking for block in last.content if block.type == "thinking")


report("openai (Python)", "Chat Completions", "openai", chat)
report("openai (Python)", "Responses", "openai", responses)
report("anthropic (Python), tool runner", "Messages", "anthropic", messages)
