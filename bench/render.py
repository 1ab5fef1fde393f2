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
from pathlib import Path
from typing import Any

import harmonystream as hs

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", str(ROOT / "harmonystream" / "data"))
sys.path += [str(ROOT / "tests" / "support"), str(ROOT / ".peers" / "transformers")]

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


def best(work: Callable[[], Any], least: float = 0.5) -> float:
    """Seconds of one call: the best of many, for at least half a second."""
    work()
    found, end = float("inf"), time.perf_counter() + least
    while time.perf_counter() < end:
        begin = time.process_time()
        rounds = 0
        while (spent := time.process_time() - begin) < 0.02:
            work()
            rounds += 1
        found = min(found, spent / rounds)
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
    print("µs a token. `render` reads Chat messages and tools; the others are given Harmony's own messages.")
    print(
        "| Harmony prompt | tokens | render | its encoding alone | openai-harmony, objects | from JSON | times faster |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|")
    for turns in (1, 20):
        messages = chat(turns)
        objects, with_json = official(messages)
        encoding = alone(messages)
        ids = hs.render(messages, model="gpt-oss", tools=TOOLS, date="2026-11-22").ids
        assert ids == encoding() == list(objects()) == list(with_json())
        whole = best(lambda messages=messages: hs.render(messages, model="gpt-oss", tools=TOOLS, date="2026-11-22"))
        seconds = [whole, best(encoding), best(objects), best(with_json)]
        costs = [f"{value / len(ids) * 1e6:.2f}" for value in seconds]
        print(f"| turns: {turns} | {len(ids)} | {' | '.join(costs)} | {seconds[2] / seconds[1]:.1f} |")


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
        mine = best(lambda template=template, tools=tools, messages=messages: template.render(messages, tools=tools))
        other = "not measured"
        if render_jinja_template is not None and "arguments +" not in source:

            def render(source: str = source, tools: Any = tools, messages: Any = messages) -> Any:
                return render_jinja_template(
                    [messages], tools, None, source, add_generation_prompt=True, bos_token="<s>"
                )

            other = f"{best(render) * 1e6:.0f}"
        print(f"| {path.stem} | {len(text)} | {mine * 1e6:.0f} | {other} |")


if __name__ == "__main__":
    harmony_rows()
    print()
    template_rows()
