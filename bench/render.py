"""Prompts: what a token of one costs, beside openai-harmony and transformers. Run with `python -m bench.render`.

openai-harmony is asked in two ways: with its Python objects, as its users do, and with their JSON made beforehand.
transformers is measured where it is installed (`make check-templates` puts it into .peers/transformers).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any

import harmonystream as hs
from bench.clock import medians, now, pin
from bench.report import Row, show, shown
from bench.worker import ROOT

QUESTION = "What will the weather be in Bergen on Saturday, and do I need an umbrella? Bitte auf Deutsch, 谢谢。 "
ANSWER = "On Saturday it will rain in Bergen from the morning on, 12 degrees, with some wind from the west. "
CITY = {"type": "string", "description": "The city and the country, such as Bergen, Norway"}
UNIT = {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"}
DAYS = {"type": "integer", "default": 1}
PARAMETERS = {"type": "object", "properties": {"city": CITY, "days": DAYS, "unit": UNIT}, "required": ["city"]}
WAYS = ("render", "new tools", "its encoding alone", "openai-harmony", "from JSON")
HEAD = ("chat template", "characters", "here", "transformers")
SECONDS = 5.0  # for the rounds of one row


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


def taken(works: dict[str, Callable[[], Any]]) -> list[float]:
    """Nanoseconds of one call of each, in turns."""

    def timed(work: Callable[[], Any]) -> float:
        started = now()
        work()
        return now() - started

    rounds = {name: partial(timed, work) for name, work in works.items()}
    return list(medians(rounds, 3001, SECONDS).values())


def others(messages: list[dict[str, Any]]) -> tuple[Callable[[], Any], Callable[[], Any], Callable[[], Any]]:
    """The encoding of messages that are Harmony's already: ours, openai-harmony's of its objects, and of their JSON."""
    import openai_harmony as oh
    from harmony_chats import as_json

    from bench.rivals.with_openai_harmony import encoding
    from harmonystream.prompt.harmony import HarmonyOptions, harmony_messages
    from harmonystream.prompt.harmony_text import render_messages
    from harmonystream.prompt.writer import Writer

    made = harmony_messages(hs.prompts.normalize(messages), TOOLS, HarmonyOptions(date="2026-11-22"))
    text, theirs = as_json(made), encoding()
    conversation = oh.Conversation(messages=[oh.Message.from_dict(each) for each in json.loads(text)["messages"]])
    config = oh.RenderConversationConfig(auto_drop_analysis=False)
    given = {"next_turn_role": "assistant", "config": {"auto_drop_analysis": False}}

    def render() -> list[int]:
        writer = Writer(hs.vocab.o200k_harmony())
        render_messages(made, writer, next_role="assistant")
        return writer.ids

    return (
        render,
        lambda: theirs.render_conversation_for_completion(conversation, oh.Role.ASSISTANT, config),
        lambda: theirs._inner.render_conversation_for_completion(conversation_json=text, **given),
    )


def harmony_rows() -> Iterator[Row]:
    """Microseconds a token. `render` reads Chat messages and tools; openai-harmony is given its own messages.

    What declares tools is remembered from one request to the next; `new tools` declares others each time.
    """
    for turns in (0, 1, 5, 20):
        messages, counter = chat(turns), count()

        def render(tools: Any = TOOLS, messages: Any = messages) -> list[int]:
            return hs.render(messages, model="gpt-oss", tools=tools, date="2026-11-22").ids or []

        def render_new(messages: Any = messages, counter: Any = counter) -> list[int]:
            return render([tool("get_0", f"The weather. {next(counter):08}"), *TOOLS[1:]], messages)

        ids, works = render(), others(messages)
        assert all(ids == list(work()) for work in works)
        took = taken(dict(zip(WAYS, (render, render_new, *works))))
        costs = [f"{shown(each / 1e3 / len(ids))} µs" for each in took]
        yield Row((f"turns: {turns}", str(len(ids)), *costs, f"{took[3] / took[0]:.1f}×"))


def template_rows() -> Iterator[Row]:
    try:
        theirs = import_module("transformers.utils.chat_template_utils").render_jinja_template
    except ImportError:
        theirs = None
    for path in sorted((ROOT / "tests" / "templates_chat").glob("*.jinja")):
        template, messages, source = (
            hs.prompts.Template(path, tokens={"bos_token": "<s>"}),
            chat(5),
            path.read_text("utf-8"),
        )
        tools = TOOLS if "tools" in source else None
        works = {"here": partial(template.render, messages, tools=tools)}
        if theirs is not None and "arguments +" not in source:
            given = {"add_generation_prompt": True, "bos_token": "<s>"}
            works["transformers"] = partial(theirs, [messages], tools, None, source, **given)
        took = [f"{shown(each / 1e3)} µs" for each in taken(works)]
        yield Row((path.stem, str(len(works["here"]())), *took, *["not measured"] * (2 - len(took))))


def main() -> None:
    pin()
    sys.path += [str(ROOT / "tests" / "support"), str(ROOT / ".peers" / "transformers")]
    show(("Harmony prompt", "tokens", *WAYS, "faster"), harmony_rows(), markdown=True)
    show(HEAD, template_rows(), markdown=True)


if __name__ == "__main__":
    main()
