"""LiteLLM."""

from __future__ import annotations

import json
import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # it would look for prices on the network

import litellm
from report import QUESTION, URL, get_forecast, report

TOOL = {
    "type": "function",
    "function": {
        "name": "get_forecast",
        "description": "The forecast of a day.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "day": {"type": "string"}, "hourly": {"type": "boolean"}},
        },
    },
}


def converse(model: str, base: str) -> tuple[str, str | None]:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    while True:
        options: Any = {"api_base": base, "api_key": "none", "max_tokens": 999, "tools": [TOOL], "num_retries": 0}
        chunks = list(litellm.completion(model=model, messages=messages, stream=True, **options))
        message = litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message
        if not message.tool_calls:
            return message.content or "", getattr(message, "reasoning_content", None)
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            said = get_forecast(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": said})


report("LiteLLM, hosted_vllm", "Chat Completions", "litellm", lambda: converse("hosted_vllm/recorded", f"{URL}/v1"))
report("LiteLLM, anthropic", "Messages", "litellm", lambda: converse("anthropic/recorded", URL))
