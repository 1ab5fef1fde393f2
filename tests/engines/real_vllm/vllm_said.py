"""What clients are told by a server of vLLM, and what harmonystream itself says of the same ids."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import anthropic
import openai
from families import FAMILIES, tokenizer
from families import TOOLS as FAMILY_TOOLS
from model_dirs import STOPS
from streams import encode_greedily, to_ids
from vllm_servers import Server
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
    "seed_oss": "seed_oss",
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


def ids_of(server: Server, text: str, *, stops: bool) -> list[int]:
    """The ids of a text with its markers. stops: it ends as the model ends its turn."""
    if server.family == "gpt_oss":
        ids = to_ids(text.encode(), encode_greedily)
        if stops and ids and ids[-1] == 200007:
            ids[-1] = 200002
        return ids
    row = FAMILIES[server.family]
    made = tokenizer(row.special, row.plain)
    ids = list(made.encode(text, add_special_tokens=False).ids)
    return ids + [made.token_to_id(STOPS.get(server.family, row.special[1]))] * stops


def expected(server: Server, ids: list[int], *, reason: str = "stop", tools: Any = TOOLS) -> Said:
    """Of the ids after the prompt that the server rendered last."""
    parser = hs.Parser(server.format, server.vocab, tools=tools, prompt=server.asked()["prompt"])
    deltas = [parser.feed_delta(ids), parser.finish_delta()]
    calls: dict[int, list[str]] = {}
    for delta in deltas:
        for call in delta.calls:
            if call.name is not None:
                calls[call.index] = [call.name, ""]
            calls[call.index][1] += call.arguments
    reasoning, content = ("".join(delta[at] for delta in deltas) for at in (0, 1))
    said = tuple((name, arguments) for name, arguments in calls.values())
    return Said(reasoning, content, said, "tool_calls" if said and reason == "stop" else reason)


def _openai(server: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0)


def chat_stream(server: Server, **more: Any) -> tuple[Said, Any]:
    """By the official client's own accumulation; and the last chunk's usage."""
    more = {"messages": MESSAGES, "tools": TOOLS, "stream_options": {"include_usage": True}, **more}
    with _openai(server) as client, client.chat.completions.stream(model="tiny", **more) as stream:
        for _ in stream:
            pass
        whole = stream.current_completion_snapshot
    choice = whole.choices[0]
    return _said(choice.message, choice.finish_reason), whole.usage


def chat(server: Server, **more: Any) -> tuple[Said, Any]:
    """Without streaming."""
    with _openai(server) as client:
        whole = client.chat.completions.create(model="tiny", **{"messages": MESSAGES, "tools": TOOLS, **more})
    choice = whole.choices[0]
    return _said(choice.message, choice.finish_reason), whole.usage


def _said(message: Any, reason: str | None) -> Said:
    calls = tuple((call.function.name, call.function.arguments) for call in message.tool_calls or ())
    return Said(getattr(message, "reasoning", None) or "", message.content or "", calls, reason)


FLAT = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]


def responses(server: Server, *, streams: bool, **more: Any) -> Said:
    more = {"model": "tiny", "input": "Go!", "tools": FLAT, "store": False, **more}
    with _openai(server) as client:
        if streams:
            with client.responses.stream(**more) as stream:
                *_, last = stream
            whole = last.response
        else:
            whole = client.responses.create(**more)
    reasoning = content = ""
    calls = []
    for item in whole.output:
        if item.type == "reasoning":
            reasoning += "".join(part.text for part in item.content or ())
        elif item.type == "message":
            content += "".join(part.text for part in item.content)
        else:
            calls.append((item.name, item.arguments))
    return Said(reasoning, content, tuple(calls), whole.status)


INPUTS = [
    {
        "name": tool["function"]["name"],
        "description": "A tool.",
        "input_schema": {"type": "object", **tool["function"]["parameters"]},
    }
    for tool in TOOLS
]


def messages(server: Server, **more: Any) -> Said:
    client = anthropic.Anthropic(base_url=server.url, api_key="-", max_retries=0)
    more = {"max_tokens": 2000, "messages": MESSAGES, "tools": INPUTS, **more}
    with client, client.messages.stream(model="tiny", **more) as stream:
        for _ in stream:
            pass
        whole = stream.get_final_message()
    texts = {"thinking": "", "text": ""}
    calls = []
    for block in whole.content:
        if block.type == "tool_use":
            calls.append((block.name, json.dumps(block.input, ensure_ascii=False)))
        else:
            texts[block.type] += getattr(block, block.type)
    return Said(texts["thinking"], texts["text"], tuple(calls), whole.stop_reason)
