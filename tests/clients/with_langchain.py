"""LangChain for Python."""

from __future__ import annotations

from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from report import QUESTION, URL, get_forecast, report


def converse(model: Any) -> tuple[str, str | None]:
    bound = model.bind_tools([tool(get_forecast)])
    messages: list[Any] = [("user", QUESTION)]
    while True:
        whole: Any = None
        for chunk in bound.stream(messages):
            whole = chunk if whole is None else whole + chunk
        if not whole.tool_calls:
            blocks = whole.content_blocks
            thoughts = [block.get("reasoning", "") for block in blocks if block["type"] == "reasoning"]
            return whole.text, "".join(thoughts) or None
        messages.append(whole)
        for call in whole.tool_calls:
            messages.append(ToolMessage(get_forecast(**call["args"]), tool_call_id=call["id"]))


OPENAI = {"model": "recorded", "base_url": f"{URL}/v1", "api_key": "none", "max_retries": 0}
report("LangChain, openai", "Chat Completions", "langchain-openai", lambda: converse(ChatOpenAI(**OPENAI)))
report(
    *("LangChain, openai", "Responses", "langchain-openai"),
    lambda: converse(ChatOpenAI(**OPENAI, use_responses_api=True)),
)
report(
    *("LangChain, anthropic", "Messages", "langchain-anthropic"),
    lambda: converse(ChatAnthropic(model="recorded", base_url=URL, api_key="none", max_retries=0, max_tokens=999)),
)
