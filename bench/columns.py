"""`python -m bench.columns`: what a conversation of a data set costs to render, beside openai-harmony.

Times are CPU time of all threads. The first row is the encoder alone, which is given the rendered texts: `render_many`
is compared with it.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import openai_harmony as oh

import harmonystream as hs
from bench import report
from bench.clock import medians, timed
from bench.render import TOOLS
from bench.report import Row
from bench.rivals.with_openai_harmony import encoding
from bench.worker import ROOT
from harmonystream.columns import render_many
from harmonystream.vocabs.encoders import Ranks, embedded_encoder

CONVERSATIONS = 2000
ROUNDS, SECONDS = 5, 60.0
WORDS = (ROOT / "README.md").read_text("utf-8").split()
HEAD = ("a conversation", "µs", "over the first row")


def conversation(draw: random.Random) -> list[dict[str, Any]]:
    """A question, in half of them a call and its result, and an answer: 320 tokens on average."""

    def text(least: int, most: int) -> str:
        return " ".join(draw.choice(WORDS) for _ in range(draw.randint(least, most))).capitalize() + "."

    talk: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": text(5, 60)},
    ]
    if draw.random() < 0.5:
        function = {"name": "get_0", "arguments": json.dumps({"city": text(1, 2), "days": draw.randint(1, 9)})}
        call = {"id": "functions.get_0:0", "type": "function", "function": function}
        talk.append({"role": "assistant", "content": "", "reasoning_content": text(15, 25), "tool_calls": [call]})
        talk.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps({"sky": text(2, 4)})})
    talk.append({"role": "assistant", "reasoning_content": text(20, 40), "content": text(20, 120)})
    return talk


def as_objects(talk: list[dict[str, Any]]) -> oh.Conversation:
    """As a user of openai-harmony writes it."""
    functions = [tool["function"] for tool in TOOLS]
    tools = [oh.ToolDescription.new(each["name"], each["description"], each["parameters"]) for each in functions]
    made = [oh.Message.from_role_and_content(oh.Role.SYSTEM, oh.SystemContent.new())]
    for message in talk:
        if message["role"] == "system":
            content = oh.DeveloperContent.new().with_instructions(message["content"]).with_function_tools(tools)
            made.append(oh.Message.from_role_and_content(oh.Role.DEVELOPER, content))
        elif message["role"] == "user":
            made.append(oh.Message.from_role_and_content(oh.Role.USER, message["content"]))
        elif message["role"] == "tool":
            author = oh.Author.new(oh.Role.TOOL, "functions.get_0")
            result = oh.Message.from_author_and_content(author, message["content"])
            made.append(result.with_channel("commentary").with_recipient("assistant"))
        else:
            thought = oh.Message.from_role_and_content(oh.Role.ASSISTANT, message["reasoning_content"])
            made.append(thought.with_channel("analysis"))
            for call in message.get("tool_calls", ()):
                function = call["function"]
                called = oh.Message.from_role_and_content(oh.Role.ASSISTANT, function["arguments"])
                called = called.with_channel("commentary").with_recipient(f"functions.{function['name']}")
                made.append(called.with_content_type("<|constrain|>json"))
            if message["content"]:
                answer = oh.Message.from_role_and_content(oh.Role.ASSISTANT, message["content"])
                made.append(answer.with_channel("final"))
    return oh.Conversation.from_messages(made)


def ways(talks: list[list[dict[str, Any]]]) -> dict[str, Callable[[], Any]]:
    options: dict[str, Any] = {"format": "harmony", "tools": TOOLS, "date": "2026-11-22", "training": True}
    texts = [hs.render(talk, **options).text for talk in talks]
    encoder = embedded_encoder(hs.vocab.o200k_harmony().control)
    assert isinstance(encoder, Ranks)
    encode = encoder._encoding.encode_ordinary
    theirs, config = encoding(), oh.RenderConversationConfig(auto_drop_analysis=False)
    return {
        "tiktoken's encode_ordinary of the rendered texts": lambda: list(map(encode, texts)),
        "render_many": lambda: render_many(talks, **options, threads=1),
        "openai-harmony": lambda: [theirs.render_conversation_for_training(as_objects(talk), config) for talk in talks],
    }


def main() -> None:
    asked = report.options("bench.columns", __doc__).parse_args()
    draw = random.Random(1)
    talks = [conversation(draw) for _ in range(CONVERSATIONS)]
    rounds = {name: timed(work, len(talks), time.process_time_ns) for name, work in ways(talks).items()}
    took = medians(rounds, ROUNDS, SECONDS)
    first = next(iter(took.values()))
    rows = [Row((name, f"{each / 1e3:.1f}", f"{each / first:.2f}")) for name, each in took.items()]
    report.show(HEAD, rows, asked.markdown)


if __name__ == "__main__":
    main()
