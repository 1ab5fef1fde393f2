"""What clients are told by a server of vLLM, and what harmonystream itself says of the same ids."""

from __future__ import annotations

from functools import cache
from typing import Any

import anthropic
import openai
from host_scenarios import FLAT, INPUTS, MESSAGES, TOOLS, Contents, of_choices, of_message, of_response, parsed
from vllm_servers import Server


def expected(server: Server, ids: list[int], **more: Any) -> Contents:
    """Of the ids after the prompt that the server rendered last."""
    return parsed(server.format, server.vocab, server.asked()["prompt"], ids, **more)


@cache
def _openai(server: Server) -> openai.OpenAI:
    """One for all requests to a server: to make a client takes longer than an answer. Nothing here takes a minute."""
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="-", max_retries=0, timeout=60)


@cache
def _anthropic(server: Server) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="-", max_retries=0, timeout=60)


def chat_stream(server: Server, **more: Any) -> tuple[Contents, Any]:
    """By the official client's own accumulation; and the last chunk's usage."""
    more = {"messages": MESSAGES, "tools": TOOLS, "stream_options": {"include_usage": True}, **more}
    with _openai(server).chat.completions.stream(model="tiny", **more) as stream:
        for _ in stream:
            pass
        whole = stream.current_completion_snapshot
    return of_choices(whole.choices, "reasoning"), whole.usage


def chat(server: Server, **more: Any) -> tuple[Contents, Any]:
    """Without streaming."""
    more = {"messages": MESSAGES, "tools": TOOLS, **more}
    whole = _openai(server).chat.completions.create(model="tiny", **more)
    return of_choices(whole.choices, "reasoning"), whole.usage


def responses(server: Server, *, streams: bool, **more: Any) -> Contents:
    more = {"model": "tiny", "input": "Go!", "tools": FLAT, "store": False, **more}
    client = _openai(server)
    if streams:
        with client.responses.stream(**more) as stream:
            *_, last = stream
        whole = last.response
    else:
        whole = client.responses.create(**more)
    return of_response(whole)


def messages(server: Server, *, streams: bool = True, **more: Any) -> Contents:
    client, more = _anthropic(server), {"max_tokens": 2000, "messages": MESSAGES, "tools": INPUTS, **more}
    if streams:
        with client.messages.stream(model="tiny", **more) as stream:
            for _ in stream:
                pass
            whole = stream.get_final_message()
    else:
        whole = client.messages.create(model="tiny", **more)
    return of_message(whole)
