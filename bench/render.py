"""Prompts: what a token of one costs, beside openai-harmony and transformers. Run with `python -m bench.render`.

openai-harmony is asked in two ways: with its Python objects, as its users do, and with their JSON made beforehand.
transformers is measured where it is installed (`make check-templates` puts it into .peers/transformers).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import harmonystream as hs

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / ".peers" / "transformers")]

import rank_file  # noqa: E402

os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", rank_file.folder())

QUESTION = "What will the weather be in Bergen on Saturday, and do I need an umbrella? Bitte auf Deutsch, 谢谢。 "
ANSWER = "On Saturday it will rain in Bergen from the morning on, 12 degrees, with some wind from the west. "
PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "The city and the country, such as Bergen, Norway"},
        "days": {"type": "integer", "default": 1},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
    },
    "required": ["city"],
}
TOOLS = [
    {"type": "function", "function": {"name": f"get_{i}", "description": "The weather.", "parameters": PARAMETERS}}
    for i in range(5)
]


def chat(turns: int) -> list[dict[str, Any]]:
    """A conversation in which each turn asks, calls a tool, and answers."""
    found: list[dict[str, Any]] = [{"role": "system", "content": "Answer in the language of the question. " * 4}]
    for i in range(turns):
        call = {
            "id": f"functions.get_0:{i}",
            "type": "function",
            "function": {"name": "get_0", "arguments": {"city": "Bergen"}},
        }
        found += [
            {"role": "user", "content": QUESTION * 3},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "name": "get_0", "content": '{"temperature": 12}' * 5},
            {"role": "assistant", "content": ANSWER * 4},
        ]
    return [*found, {"role": "user", "content": QUESTION}]


def bests(*works: Callable[[], Any], least: float = 1.0) -> list[float]:
    """Seconds of one call of each: the best of many. They take turns: a busy machine slows all of them alike."""
    found = [float("inf")] * len(works)
    end = time.perf_counter() + least * len(works)
    for work in works:
        work()
    while time.perf_counter() < end:
        for i, work in enumerate(works):
            begin, rounds = time.process_time(), 0
            while (spent := time.process_time() - begin) < 0.003:
                work()
                rounds += 1
            found[i] = min(found[i], spent / rounds)
    return found


def alone(messages: list[dict[str, Any]]) -> Callable[[], Any]:
    """Our encoding of messages that are Harmony's already, as openai-harmony is given them."""
    from harmonystream.prompt.harmony import HarmonyOptions, harmony_messages
    from harmonystream.prompt.harmony_text import render_messages
    from harmonystream.prompt.writer import Writer

    made = harmony_messages(hs.normalize(messages), TOOLS, HarmonyOptions(date="2026-11-22"))

    def render() -> list[int]:
        writer = Writer(hs.vocab.o200k_harmony())
        render_messages(made, writer, next_role="assistant")
        return writer.ids

    return render


def official(messages: list[dict[str, Any]]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """openai-harmony on the messages of our prompt: with its objects, and with their JSON made beforehand."""
    import openai_harmony as oh
    from harmony_chats import as_json

    from harmonystream.prompt.harmony import HarmonyOptions, harmony_messages

    encoding = oh.load_harmony_encoding(oh.HarmonyEncodingName.HARMONY_GPT_OSS)
    made = harmony_messages(hs.normalize(messages), TOOLS, HarmonyOptions(date="2026-11-22"))
    text = as_json(made)
    conversation = oh.Conversation(messages=[oh.Message.from_dict(message) for message in json.loads(text)["messages"]])
    config = oh.RenderConversationConfig(auto_drop_analysis=False)

    def with_json() -> Any:
        return encoding._inner.render_conversation_for_completion(
            conversation_json=text, next_turn_role="assistant", config={"auto_drop_analysis": False}
        )

    return lambda: encoding.render_conversation_for_completion(conversation, oh.Role.ASSISTANT, config), with_json


def harmony_rows() -> None:
    print("µs a token. `render` reads Chat messages and tools; openai-harmony is given its own messages. What declares")
    print("tools is remembered from one request to the next; `new tools` declares others each time.")
    print("| Harmony prompt | tokens | render | new tools | its encoding alone | openai-harmony | from JSON | faster |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for turns in (0, 1, 5, 20):
        messages, counter = chat(turns), count()
        objects, with_json = official(messages)
        encoding = alone(messages)

        def render(tools: Any = TOOLS, messages: Any = messages) -> list[int]:
            return hs.render(messages, model="gpt-oss", tools=tools, date="2026-11-22").ids or []

        def render_new(messages: Any = messages, counter: Any = counter) -> list[int]:
            first = {**TOOLS[0]["function"], "description": f"The weather. {next(counter):08}"}
            return render([{"type": "function", "function": first}, *TOOLS[1:]], messages)

        ids = render()
        assert ids == encoding() == list(objects()) == list(with_json())
        seconds = bests(render, render_new, encoding, objects, with_json)
        costs = [f"{value / len(ids) * 1e6:.2f}" for value in seconds]
        print(f"| turns: {turns} | {len(ids)} | {' | '.join(costs)} | {seconds[3] / seconds[0]:.1f} |")


def template_rows() -> None:
    try:
        from transformers.utils.chat_template_utils import render_jinja_template
    except ImportError:
        render_jinja_template = None
    print("| chat template | characters | here, µs | transformers, µs |")
    print("|---|--:|--:|--:|")
    for path in sorted((ROOT / "tests" / "templates_chat").glob("*.jinja")):
        template, messages = hs.Template(path, tokens={"bos_token": "<s>"}), chat(5)
        source = path.read_text("utf-8")
        tools = TOOLS if "tools" in source else None
        text = template.render(messages, tools=tools)
        (mine,) = bests(
            lambda template=template, tools=tools, messages=messages: template.render(messages, tools=tools)
        )
        other = "not measured"
        if render_jinja_template is not None and "arguments +" not in source:

            def render(source: str = source, tools: Any = tools, messages: Any = messages) -> Any:
                return render_jinja_template(
                    [messages], tools, None, source, add_generation_prompt=True, bos_token="<s>"
                )

            other = f"{bests(render)[0] * 1e6:.0f}"
        print(f"| {path.stem} | {len(text)} | {mine * 1e6:.0f} | {other} |")


if __name__ == "__main__":
    harmony_rows()
    print()
    template_rows()
