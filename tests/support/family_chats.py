"""Random conversations with calls and results, for prompts that text is all of."""

from __future__ import annotations

import json
import random
from typing import Any

WORDS = ("Hello", "rain & 'sun'", '"x"', "成都", "<b>", "a\nb", "  spaced ", "{x}", "\n\nlead", "🐼", "x</y>")
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
]


def random_chat(seed: int, words: tuple[str, ...] = WORDS) -> list[dict[str, Any]]:
    """Turns of a user, each followed by rounds of calls and an answer, or by none."""
    draw = random.Random(seed)

    def text() -> str:
        return "".join(draw.choice(words) for _ in range(draw.randint(0, 3)))

    def value() -> Any:
        return draw.choice([1, "s", True, None, [1, "a"], {"q": "ü"}, 1.5, text()])

    chat = [{"role": "system", "content": text()}] if draw.random() < 0.5 else []
    count = 0
    for _ in range(draw.randint(1, 3)):
        chat.append({"role": "user", "content": text()})
        for _ in range(draw.randint(0, 3)):
            answer: dict[str, Any] = {"role": "assistant", "content": text()}
            chat.append(answer)
            if draw.random() < 0.5:
                answer["reasoning_content"] = text() or "t"
            if draw.random() < 0.4:
                break
            answer["tool_calls"] = calls = []
            for _ in range(draw.randint(1, 2)):
                keys = draw.sample(["city", "days", "ünit"], draw.randint(0, 3))
                arguments = json.dumps({key: value() for key in keys}, ensure_ascii=False)
                function = {"name": "get_forecast", "arguments": arguments}
                calls.append({"id": f"functions.get_forecast:{count}", "type": "function", "function": function})
                count += 1
            chat += [{"role": "tool", "tool_call_id": call["id"], "content": text()} for call in calls]
    return chat
