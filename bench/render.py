"""`python -m bench.render`: what a token of a Harmony prompt costs, beside openai-harmony.

`render` is given Chat messages and tools; openai-harmony is given its own objects, which are made beforehand. What
declares tools is remembered from one request to the next; the column `new tools` declares others each time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import openai_harmony as oh
from harmony_chats import as_json

import harmonystream as hs
from bench import report
from bench.clock import medians, pin, timed
from bench.report import Row, shown
from bench.rivals.with_openai_harmony import encoding
from harmonystream.prompt.harmony import HarmonyOptions, harmony_messages

QUESTION = "What will the weather be in Bergen on Saturday, and do I need an umbrella? Bitte auf Deutsch, 谢谢。 "
ANSWER = "On Saturday it will rain in Bergen from the morning on, 12 degrees, with some wind from the west. "
CITY = {"type": "string", "description": "The city and the country, such as Bergen, Norway"}
UNIT = {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"}
DAYS = {"type": "integer", "default": 1}
PARAMETERS = {"type": "object", "properties": {"city": CITY, "days": DAYS, "unit": UNIT}, "required": ["city"]}
DATE = "2026-11-22"
TURNS = (0, 1, 5, 20)
HEAD = ("Harmony prompt", "tokens", "render", "new tools", "openai-harmony", "faster")


def tool(name: str, description: str = "The weather.") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": PARAMETERS}}


TOOLS = [tool(f"get_{i}") for i in range(5)]


def chat(turns: int) -> list[dict[str, Any]]:
    """A conversation in which each turn asks, calls a tool, and answers."""
    found: list[dict[str, Any]] = [{"role": "system", "content": "Answer in the language of the question. " * 4}]
    for i in range(turns):
        function = {"name": "get_0", "arguments": {"city": "Bergen"}}
        call = {"id": f"functions.get_0:{i}", "type": "function", "function": function}
        found += [
            {"role": "user", "content": QUESTION * 3},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "name": "get_0", "content": '{"temperature": 12}' * 5},
            {"role": "assistant", "content": ANSWER * 4},
        ]
    return [*found, {"role": "user", "content": QUESTION}]


def by_openai_harmony(messages: list[dict[str, Any]]) -> Callable[[], list[int]]:
    text = as_json(harmony_messages(hs.prompts.normalize(messages), TOOLS, HarmonyOptions(date=DATE)))
    conversation = oh.Conversation(messages=[oh.Message.from_dict(each) for each in json.loads(text)["messages"]])
    config = oh.RenderConversationConfig(auto_drop_analysis=False)
    return partial(encoding().render_conversation_for_completion, conversation, oh.Role.ASSISTANT, config)


def row(turns: int) -> Row:
    messages, numbers = chat(turns), count()

    def render(tools: list[dict[str, Any]] = TOOLS) -> list[int]:
        return hs.render(messages, model="gpt-oss", tools=tools, date=DATE, dialect="openai").ids or []

    def render_new() -> list[int]:
        return render([tool("get_0", f"The weather. {next(numbers):08}"), *TOOLS[1:]])

    theirs, ids = by_openai_harmony(messages), render()
    assert ids == list(theirs())
    works = {"render": render, "new tools": render_new, "openai-harmony": theirs}
    took = medians({name: timed(work, len(ids)) for name, work in works.items()}, rounds=3001, seconds=5.0)
    costs = [f"{shown(each / 1e3)} µs" for each in took.values()]
    return Row((f"turns: {turns}", str(len(ids)), *costs, f"{took['openai-harmony'] / took['render']:.1f}×"))


def main() -> None:
    asked = report.options("bench.render", __doc__).parse_args()
    pin()
    report.show(HEAD, map(row, TURNS), asked.markdown)


if __name__ == "__main__":
    main()
