"""Random conversations with calls and results, for prompts that text is all of."""

from __future__ import annotations

import json
import random
from typing import Any

WORDS = (
    *(
        "Hello",
        "rain & 'sun'",
        '"x"',
        "成都",
        "<b>",
        "a\nb",
        "  spaced ",
        "{x}",
        "\n\nlead",
        "🐼",
        "x</y>",
        "",
        "\t\n ",
    ),
    *("e\u0301", "\u200b", "\r\n", "\u2028", "{{ x }}", "{% raw %}"),
)
MENTIONS = ("<think>", "/nothink", "<tool_response>", "</tool_response>", "<tool_response>x</tool_response>")
"""Markers that text may mention. None closes reasoning: text that mentions the closer stays, and templates cut it."""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_forecast",
            "description": "The weather <of> a place",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Die Städte"},
                    "days": {"type": "integer"},
                    "hours": {"type": "array", "items": {"type": "number"}},
                    "wind": {"type": "boolean"},
                },
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "now", "description": "  ", "parameters": {"type": "object", "properties": {}}},
    },
    {
        "type": "function",
        "function": {
            "name": "my-tool.x",
            "description": "a\n  b\n\n",
            "parameters": {
                "type": "object",
                "properties": {
                    "o": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}},
                    "e": {"enum": ["a", "ü"], "default": "a"},
                    "u": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "  d "},
                },
                "required": [],
                "additionalProperties": False,
            },
        },
    },
]


def random_chat(seed: int, words: tuple[str, ...] = WORDS) -> list[dict[str, Any]]:
    """Turns of a user, each followed by rounds of calls and an answer, or by none.

    Contents may be empty or parts, and those of the assistant and of tools missing or None, too. The system may speak
    in the middle, a user twice, and results may be missing.
    """
    draw = random.Random(seed)

    def text() -> str:
        return "".join(draw.choice(words) for _ in range(draw.randint(0, 3)))

    def content() -> Any:
        kind = draw.random()
        if kind < 0.08:
            return None
        if kind < 0.16:
            return [{"type": "text", "text": text()} for _ in range(draw.randint(0, 3))]
        return text()

    def value() -> Any:
        return draw.choice([1, -3, "s", True, None, [1, "a"], {"q": "ü", "n": {"x": []}}, 1.5, 1e20, {}, "", text()])

    def call(count: int) -> dict[str, Any]:
        arguments: Any = {
            key: value() for key in draw.sample(["city", "days", "ünit", 'q"x', "a b"], draw.randint(0, 3))
        }
        written = [arguments, *(json.dumps(arguments, ensure_ascii=ascii, indent=ascii or None) for ascii in (0, 1))]
        function = {"name": draw.choice(["get_forecast", "my-tool.x"]), "arguments": draw.choice(written)}
        return {"id": f"functions.{function['name']}:{count}", "type": "function", "function": function}

    chat = [{"role": "system", "content": content() or ""}] if draw.random() < 0.5 else []
    count = 0
    for _ in range(draw.randint(1, 3)):
        for role in ("user", *(["user"] if draw.random() < 0.1 else []), *(["system"] if draw.random() < 0.1 else [])):
            chat.append({"role": role, "content": content() or ""})
        for _ in range(draw.randint(0, 3)):
            answer: dict[str, Any] = {"role": "assistant", "content": content()}
            chat.append(answer)
            if draw.random() < 0.5:
                answer[draw.choice(["reasoning_content", "reasoning"])] = text() or draw.choice(["t", "\n", ""])
            if draw.random() < 0.4:
                break
            if answer["content"] is None:
                del answer["content"]
            answer["tool_calls"] = calls = [call(count + k) for k in range(draw.randint(1, 3))]
            count += len(calls)
            answered = calls if draw.random() < 0.9 else calls[1:]
            chat += [{"role": "tool", "tool_call_id": made["id"], "content": content()} for made in answered]
    return chat
