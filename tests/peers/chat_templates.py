"""Chat templates of models, rendered by us and by transformers: the texts must be equal.

The templates are those of llama-cpp-python's source archive, trl, axolotl and unsloth, which `make check-templates`
fetches. What transformers refuses we may refuse or render; what it renders, of the same messages, we must render alike.
Harmony and DSML are compared with the templates of gpt-oss, DeepSeek-V3.2 and V4 as well.
"""

from __future__ import annotations

import datetime
import sys
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT), str(ROOT / "tests" / "support")]

from template_round_trips import templates as in_archive  # noqa: E402

import harmonystream as hs  # noqa: E402

TOKENS = {"bos_token": "<｜begin▁of▁sentence｜>", "eos_token": "<|eos|>"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a place",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "The place"},
                "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
                "days": {"type": "integer"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["place"],
        },
    },
}


def call(tid: str, place: str) -> dict[str, Any]:
    return {
        "id": tid,
        "type": "function",
        "function": {"name": "get_weather", "arguments": {"place": place, "days": 2}},
    }


SYSTEM = {"role": "system", "content": "Be brief & true."}
ASK, THANKS = {"role": "user", "content": "Weather in Zürich?"}, {"role": "user", "content": "Thanks!"}
ANSWER = {"role": "assistant", "content": "Cold.", "reasoning_content": "It says 3."}
IDS = ("functions.get_weather:0", "functions.get_weather:1", "a2c4e6g8i", "b2c4e6g8i")


def calling(first: str, second: str | None = None, **more: Any) -> list[dict[str, Any]]:
    calls = [call(first, "Zürich"), *([call(second, "Bern")] if second else [])]
    results = [
        {"role": "tool", "tool_call_id": made["id"], "name": "get_weather", "content": '{"t": 3}'} for made in calls
    ]
    return [{"role": "assistant", "content": "", "tool_calls": calls, **more}, *results]


CHATS = {
    "user": [ASK],
    "system": [SYSTEM, ASK],
    "two turns": [SYSTEM, ASK, {"role": "assistant", "content": "Cold."}, THANKS],
    "reasoning": [ASK, ANSWER, THANKS],
    "call": [SYSTEM, ASK, *calling(IDS[0])],
    "calls": [
        SYSTEM,
        ASK,
        *calling(IDS[0], IDS[1], reasoning_content="Two."),
        {"role": "assistant", "content": "3 and 3."},
        THANKS,
    ],
    "calls, nine": [ASK, *calling(IDS[2], IDS[3])],
}


def transformers_text(source: str, chat: list[dict[str, Any]], tools: Any, **variables: Any) -> str | None:
    from transformers.utils.chat_template_utils import render_jinja_template

    try:
        texts, _ = render_jinja_template([chat], tools, None, source, add_generation_prompt=True, **TOKENS, **variables)
    except Exception:
        return None
    return texts[0]


def our_text(template: hs.prompts.Template, chat: list[dict[str, Any]], tools: Any, **variables: Any) -> str | None:
    try:
        return template.render(chat, tools=tools, **variables)
    except hs.errors.PromptError:
        return None


def as_text(chat: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same chat with arguments as text, for templates that want it so."""
    import json

    def converted(message: dict[str, Any]) -> dict[str, Any]:
        calls = [
            {
                **made,
                "function": {
                    **made["function"],
                    "arguments": json.dumps(made["function"]["arguments"], ensure_ascii=False),
                },
            }
            for made in message.get("tool_calls", ())
        ]
        return {**message, "tool_calls": calls} if calls else message

    return [converted(message) for message in chat]


def as_parts(chat: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same chat with contents as parts, for templates that loop over them."""
    return [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in chat]


def compare(path: Path, source: str, counts: dict[str, int]) -> None:
    template = hs.prompts.Template(source, tokens=TOKENS)
    reads_tools = "tools" in template._chosen(None).variables
    wants = template._chosen([TOOL]).wants(template.tokens)
    for name, chat in CHATS.items():
        for tools in (None, [TOOL]) if reads_tools else (None,):
            given = chat if wants.objects else as_text(chat)
            given = as_parts(given) if wants.parts else given
            theirs, mine = transformers_text(source, given, tools), our_text(template, chat, tools)
            kind = (
                "equal"
                if theirs == mine
                else "theirs alone"
                if mine is None
                else "ours alone"
                if theirs is None
                else "differ"
            )
            kind = "neither" if theirs is None and mine is None else kind
            counts[kind] = counts.get(kind, 0) + 1
            if kind in ("differ", "theirs alone"):
                print(f"{path.name}, {name}{', tools' if tools else ''}: {kind}")
                print(f"  theirs {theirs!r}\n  ours   {mine!r}" if "-v" in sys.argv else "")


def encodings(templates: dict[str, str]) -> None:
    """Our own encodings beside the templates of the same models."""
    today = datetime.date.today()
    source = templates["openai-gpt-oss-120b.jinja"]
    for name in ("user", "system", "two turns", "reasoning", "call"):
        for tools in (None, [TOOL]):
            mine = hs.render(CHATS[name], model="gpt-oss", tools=tools, dialect="template", date=today).text
            report("gpt-oss", name, tools, transformers_text(source, CHATS[name], tools), mine)
    random_schemas(source)
    for model, dialect in (("V3.2", "v3.2"), ("V4", "v4")):
        source = templates[f"deepseek-ai-DeepSeek-{model}.jinja"]
        for name in ("user", "system", "two turns", "reasoning", "call", "calls"):
            for tools in (None, [TOOL]):
                mine = hs.render(CHATS[name], format="dsml", tools=tools, dialect=dialect).text
                report(
                    f"DeepSeek-{model}", name, tools, transformers_text(source, CHATS[name], tools, thinking=True), mine
                )


FAMILIES = {
    "Qwen/Qwen3-8B": "Qwen-Qwen3-0.6B.jinja",
    "Qwen/Qwen3-4B-Instruct-2507": "trl/qwen3_instruct_2507",
    "Qwen/Qwen3-4B-Thinking-2507": "unsloth/qwen3_thinking",
    "deepseek-ai/DeepSeek-V3.1": "deepseek-ai-DeepSeek-V3.1.jinja",
    "moonshotai/Kimi-K2-Instruct": "Kimi-K2-Instruct.jinja",
    "moonshotai/Kimi-K2-Thinking": "Kimi-K2-Thinking.jinja",
    "zai-org/GLM-4.5": "GLM-4.6.jinja",  # the same text
    "ByteDance-Seed/Seed-OSS-36B-Instruct": "ByteDance-Seed-OSS.jinja",
}


@cache
def plain_template(source: str) -> Any:
    """The template outside of transformers' sandbox, which refuses the `pop` of Kimi-K2's."""
    import json

    import jinja2

    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = lambda value, **more: json.dumps(value, **{"ensure_ascii": False, **more})
    return environment.from_string(source)


def plain_text(source: str, chat: list[dict[str, Any]], tools: Any, **variables: Any) -> str | None:
    import jinja2

    try:
        text: str = plain_template(source).render(messages=chat, tools=tools, **TOKENS, **variables)
    except jinja2.TemplateError:
        return None
    return text


def families(templates: dict[str, str], chats: int = 2000) -> None:
    """The prompts of families that need no file, on random conversations, with and without the switch of thinking."""
    import random

    from family_chats import MENTIONS, TOOLS, WORDS, random_chat

    for model, name in FAMILIES.items():
        source = templates[name]
        if "DeepSeek" in model:  # the archive's has an empty block of thoughts more, and arguments as objects
            source = source.replace("<think></think>", "</think>").replace("['arguments'] | tojson", "['arguments']")
        reads_tools = "tools" in hs.prompts.Template(source)._chosen(None).variables
        counts = {"equal": 0, "refused": 0, "differ": 0}
        for seed in range(chats):
            chat, draw = random_chat(seed, (*WORDS, *MENTIONS)), random.Random(seed)
            tools = draw.sample(TOOLS, draw.randint(1, 3)) if draw.random() < 0.5 and reads_tools else None
            ask = draw.random() < 0.9
            switch: dict[str, Any] = {} if ask else {"training": True}
            given: dict[str, Any] = {}
            if draw.random() < 0.5 and not model.startswith("moonshotai") and "2507" not in model:
                if "Seed" in model:
                    given = {"thinking_budget": draw.choice([0, -1, 1, 512, 513, 5000, 20000])}
                    switch |= given
                else:
                    on = draw.random() < 0.5
                    given = {"enable_thinking": on, "thinking": on}
                    switch["thinking"] = on
            normal = hs.prompts.normalize(chat)
            for message in normal:
                if isinstance(message["content"], list):
                    message["content"] = "".join(part["text"] for part in message["content"])
                if "reasoning" in message:
                    message["reasoning_content"] = message["reasoning"]
            given["add_generation_prompt"] = ask
            theirs = plain_text(source, normal if "DeepSeek" in model else as_objects(normal), tools, **given)
            mine = hs.render(chat, model=model, tools=tools, **switch).text
            kind = "refused" if theirs is None else "equal" if theirs == mine else "differ"
            counts[kind] += 1
            if kind == "differ" and counts["differ"] <= 2:
                report(model, f"chat {seed}", tools, theirs, mine)
        print(f"{model}: {counts}")


def as_objects(chat: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same chat with arguments as objects."""
    import json

    for message in chat:
        for made in message.get("tool_calls", ()):
            made["function"]["arguments"] = json.loads(made["function"]["arguments"])
    return chat


def random_schemas(source: str) -> None:
    """Tools with random schemas, as far as the template takes them: texts that it refuses are no comparison."""
    from harmony_chats import Chats

    equal = refused = differ = 0
    for seed in range(3000):
        schema = {"type": "object", "properties": {"a": Chats(seed + 1_000_000).schema()}}
        tool = {"type": "function", "function": {"name": "f", "description": "d", "parameters": schema}}
        theirs = transformers_text(source, CHATS["user"], [tool])
        if theirs is None:
            refused += 1
            continue
        mine = hs.render(CHATS["user"], model="gpt-oss", tools=[tool], dialect="template").text
        equal += theirs == mine
        differ += theirs != mine
        if theirs != mine and differ <= 5:
            report("gpt-oss", f"schema {schema}", None, theirs[400:], mine[400:])
    print(f"gpt-oss, random schemas: {equal} equal, {refused} refused, {differ} differ")


def report(model: str, name: str, tools: Any, theirs: str | None, mine: str) -> None:
    same = theirs == mine
    print(f"{model}, {name}{', tools' if tools else ''}: {'equal' if same else 'differ'}")
    if not same:
        print(f"  theirs {theirs!r}\n  ours   {mine!r}")


def main() -> None:
    with tarfile.open(sys.argv[1]) as archive:
        members = [
            member for member in archive if "/models/templates/" in member.name and member.name.endswith(".jinja")
        ]
        templates = {Path(member.name).name: archive.extractfile(member).read().decode() for member in members}
    for wheel in (Path(name) for name in sys.argv[2:] if name.endswith(".whl")):
        package = wheel.name.partition("-")[0]
        templates |= {f"{package}/{name}": source for name, source in in_archive(wheel)}
    counts: dict[str, int] = {}
    for name, source in sorted(templates.items()):
        compare(Path(name), source, counts)
    print(f"{len(templates)} templates: {counts}")
    encodings(templates)
    families(templates)


if __name__ == "__main__":
    main()
