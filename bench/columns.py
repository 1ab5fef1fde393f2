"""Rendering a data set: what a conversation costs, beside openai-harmony and transformers. Run with
`python -m bench.columns`.

Times are CPU time of all threads, but for the rows by the clock. The encoder alone, which is given the rendered texts,
is the floor that `render_many` is held against. transformers is measured where it is installed (`make check-templates`
puts it into .peers/transformers).
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harmonystream as hs
from bench.render import TOOLS
from bench.rivals.with_openai_harmony import encoding
from bench.worker import ROOT
from harmonystream.columns import render_many
from harmonystream.vocabs.encoders import O200K_PATTERN, Ranks, embedded_encoder

CONVERSATIONS = 2000
TEMPLATED = 200
"""Conversations: by Harmony, and by a chat template."""
ROUNDS = 5
WORDS = (ROOT / "README.md").read_text().split()


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


def chats() -> list[list[dict[str, Any]]]:
    draw = random.Random(1)
    return [conversation(draw) for _ in range(CONVERSATIONS)]


def taken(works: dict[str, tuple[Callable[[], Any], Callable[[], float]]], count: int) -> dict[str, float]:
    """Microseconds of a conversation: the least of some rounds, in which the works take turns."""
    least = dict.fromkeys(works, float("inf"))
    for _ in range(ROUNDS):
        for name, (work, clock) in works.items():
            started = clock()
            work()
            least[name] = min(least[name], (clock() - started) * 1e6 / count)
    return least


def harmony(talks: list[list[dict[str, Any]]]) -> dict[str, tuple[Callable[[], Any], Callable[[], float]]]:
    import openai_harmony as oh

    options: dict[str, Any] = {"format": "harmony", "tools": TOOLS, "date": "2026-11-22", "training": True}
    texts = [hs.render(talk, **options).text for talk in talks]
    encoder = embedded_encoder(hs.vocab.o200k_harmony().control)
    assert isinstance(encoder, Ranks)
    encode = encoder._encoding.encode_ordinary
    theirs = encoding()
    config = oh.RenderConversationConfig(auto_drop_analysis=False)

    def by_openai_harmony() -> None:
        for talk in talks:
            theirs.render_conversation_for_training(_conversation(talk), config)

    cpu = time.process_time
    return {
        "tiktoken's encode_ordinary of the rendered texts": (lambda: list(map(encode, texts)), cpu),
        "render_many": (lambda: render_many(talks, **options, threads=1), cpu),
        "render_many, labels and masks too": (
            lambda: render_many(talks, **options, threads=1, fields=("ids", "labels", "mask", "messages")),
            cpu,
        ),
        "render_many, one thread, by the clock": (lambda: render_many(talks, **options, threads=1), time.perf_counter),
        "render_many, two threads, by the clock": (lambda: render_many(talks, **options, threads=2), time.perf_counter),
        "render, one after the other": (lambda: [hs.render(talk, **options) for talk in talks], cpu),
        "openai-harmony": (by_openai_harmony, cpu),
    }


def _conversation(talk: list[dict[str, Any]]) -> Any:
    """As a user of openai-harmony writes it."""
    import openai_harmony as oh

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


def template(
    talks: list[list[dict[str, Any]]], folder: Path
) -> dict[str, tuple[Callable[[], Any], Callable[[], float]]]:
    """A chat template in the form of Hermes and Qwen, with a tokenizer of gpt-oss's tokens."""
    chosen = hs.prompts.Template(folder)
    vocab = chosen.vocab
    options: dict[str, Any] = {"template": chosen, "tools": TOOLS, "training": True}
    texts = [hs.render(talk, **options).text for talk in talks]
    assert vocab is not None
    cpu = time.process_time
    works: dict[str, tuple[Callable[[], Any], Callable[[], float]]] = {
        "tokenizers' encode_batch_fast of the rendered texts": (lambda: vocab.encode_many(texts, control=True), cpu),
        "render_many": (lambda: render_many(talks, **options, threads=1), cpu),
    }
    try:
        sys.path.insert(0, str(ROOT / ".peers" / "transformers"))
        from transformers import PreTrainedTokenizerFast
    except ImportError:
        print("transformers is not installed (`make check-templates` puts it into .peers): its row is left out")
        return works
    finally:
        sys.path.pop(0)
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    source = (folder / "chat_template.jinja").read_text()
    works["transformers' apply_chat_template"] = (
        lambda: [theirs.apply_chat_template(talk, chat_template=source, tools=TOOLS) for talk in talks],
        cpu,
    )
    return works


def _whole_words(path: Path) -> None:
    """Make the tests' tokenizer.json, which has no merges, cut and encode texts as gpt-oss's own does most words."""
    spec = json.loads(path.read_text())
    spec["model"]["ignore_merges"] = True
    cut = {"type": "Split", "pattern": {"Regex": O200K_PATTERN}, "behavior": "Isolated", "invert": False}
    spec["pre_tokenizer"]["use_regex"] = False
    spec["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [cut, spec["pre_tokenizer"]]}
    path.write_text(json.dumps(spec))


def show(title: str, works: dict[str, tuple[Callable[[], Any], Callable[[], float]]], count: int) -> None:
    found = taken(works, count)
    floor = next(iter(found.values()))
    print(f"\n{title}: microseconds of a conversation, and times the first row\n")
    for name, value in found.items():
        print(f"  {name:<54}{value:9.1f}{value / floor:8.2f}")


def main() -> None:
    import tempfile

    sys.path += [str(ROOT / "tests" / "support")]
    import model_dirs

    talks = chats()
    show("Harmony", harmony(talks), len(talks))
    with tempfile.TemporaryDirectory() as folder:
        made = model_dirs.write(Path(folder), "gpt_oss")
        source = (ROOT / "tests" / "templates_chat" / "hermes.jinja").read_text()
        (made / "chat_template.jinja").write_text(source)
        _whole_words(made / "tokenizer.json")
        show("The chat template of Hermes and Qwen", template(talks[:TEMPLATED], made), TEMPLATED)


if __name__ == "__main__":
    main()
