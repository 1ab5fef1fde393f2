"""What the official clients understand of a gateway's answer, in words that are the same for all three APIs."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from gateways import ASKED, TOOLS
from wire_server import Clients

__all__ = ["REASONS", "Contents", "ask", "whole_answer"]

REASONS = {
    "chat": {"stop": "stop", "length": "length", "calls": "tool_calls"},
    "responses": {"stop": "completed", "length": "max_output_tokens", "calls": "completed"},
    "messages": {"stop": "end_turn", "length": "max_tokens", "calls": "tool_use"},
}
"""How each API says why an answer ended."""
_LIMITS = {"chat": "max_completion_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}


class Contents(NamedTuple):
    reasoning: str
    content: str
    calls: tuple[tuple[str, Any], ...] = ()
    reason: str | None = None


def ask(clients: Clients, api: str, *, streams: bool, tools: bool = False, limit: int = 0, **more: Any) -> Contents:
    """What an answer says. tools: the tool `add` is offered."""
    if tools:
        more["tools"] = TOOLS[api]
    if limit:
        more[_LIMITS[api]] = limit
    return _READ[api](whole_answer(clients, api, streams=streams, **more))


def whole_answer(clients: Clients, api: str, *, streams: bool, **more: Any) -> Any:
    """The client's own object. streams: it is assembled by the client's helper for streams."""
    asked = {**ASKED[api], "model": "tiny", **more}
    if not streams:
        return clients.create[api](**asked)
    if api == "chat":
        with clients.openai.chat.completions.stream(**asked) as chunks:
            chunks.until_done()
            return chunks.current_completion_snapshot
    if api == "responses":
        with clients.openai.responses.stream(**asked) as parts:
            last: Any = list(parts)[-1]
            return last.response
    with clients.anthropic.messages.stream(**asked) as events:
        return events.get_final_message()


def _chat(whole: Any) -> Contents:
    choice = whole.choices[0]
    calls = tuple((call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or ())
    reasoning = getattr(choice.message, "reasoning", None) or ""
    return Contents(reasoning, choice.message.content or "", calls, choice.finish_reason)


def _responses(whole: Any) -> Contents:
    reasoning = content = ""
    calls = []
    for item in whole.output:
        if item.type == "reasoning":
            reasoning += "".join(part.text for part in item.summary)
        elif item.type == "message":
            content += "".join(part.text for part in item.content)
        else:
            calls.append((item.name, json.loads(item.arguments)))
    cut = whole.incomplete_details
    return Contents(reasoning, content, tuple(calls), whole.status if cut is None else cut.reason)


def _messages(whole: Any) -> Contents:
    texts = {"thinking": "", "text": ""}
    calls = []
    for block in whole.content:
        if block.type == "tool_use":
            calls.append((block.name, block.input))
        else:
            texts[block.type] += getattr(block, block.type)
    return Contents(texts["thinking"], texts["text"], tuple(calls), whole.stop_reason)


_READ = {"chat": _chat, "responses": _responses, "messages": _messages}
