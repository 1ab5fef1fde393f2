"""Prompts of open models: a conversation of two questions in each family, without a template file."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from loops import end_of, run
from scripted import Scripted, call

import harmonystream as hs

SYSTEM = "You are a helpful assistant that can use tools to get information for the user."
PARAMETERS = {
    "type": "object",
    "properties": {"location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"}},
    "required": ["location"],
}
TOOL = {
    "name": "get_weather",
    "description": "Get current weather information for a location",
    "parameters": PARAMETERS,
}


def asks(*places: str) -> list[dict[str, Any]]:
    return [{"function": {"name": "get_weather", "arguments": {"location": place}}} for place in places]


MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": "What's the weather like in New York?"},
    {"role": "assistant", "content": "<think>\nOne city.\n</think>\nI'll check.", "tool_calls": asks("New York")},
    {"role": "tool", "content": '{"temperature": 22}'},
    {"role": "assistant", "content": "It is sunny.", "tool_calls": None},
    {"role": "user", "content": "Thanks! What about Boston and Paris?"},
    {
        "role": "assistant",
        "content": "<think>\nTwo.\n</think>\nI'll check both.",
        "tool_calls": asks("Boston", "Paris"),
    },
    {"role": "tool", "content": '{"temperature": 15}'},
    {"role": "tool", "content": '{"temperature": 19}'},
]
"""Calls have no ids, thoughts are in the text, and tools are not wrapped."""
LAST_TURN = {
    "Qwen/Qwen3-8B": (
        "<|im_start|>user\nThanks! What about Boston and Paris?<|im_end|>\n<|im_start|>assistant\n"
        "<think>\nTwo.\n</think>"
        '\n\nI\'ll check both.\n<tool_call>\n{"name": "get_weather", "arguments": {"location": "Boston"}}\n'
        "</tool_call>\n"
        '<tool_call>\n{"name": "get_weather", "arguments": {"location": "Paris"}}\n</tool_call><|im_end|>\n'
        '<|im_start|>user\n<tool_response>\n{"temperature": 15}\n</tool_response>\n'
        '<tool_response>\n{"temperature": 19}\n'
        "</tool_response><|im_end|>\n<|im_start|>assistant\n"
    ),
    "deepseek-ai/DeepSeek-V3.1": (
        "<｜User｜>Thanks! What about Boston and Paris?<｜Assistant｜></think>I'll check both.<｜tool▁calls▁begin｜>"
        '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"location": "Boston"}<｜tool▁call▁end｜>'
        '<｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"location": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
        '<｜end▁of▁sentence｜><｜tool▁output▁begin｜>{"temperature": 15}<｜tool▁output▁end｜>'
        '<｜tool▁output▁begin｜>{"temperature": 19}<｜tool▁output▁end｜>'
    ),
    "moonshotai/Kimi-K2-Instruct": (
        "<|im_user|>user<|im_middle|>Thanks! What about Boston and Paris?<|im_end|><|im_assistant|>assistant"
        "<|im_middle|>"
        "I'll check both.<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:1"
        '<|tool_call_argument_begin|>{"location": "Boston"}<|tool_call_end|><|tool_call_begin|>functions.get_weather:2'
        '<|tool_call_argument_begin|>{"location": "Paris"}<|tool_call_end|><|tool_calls_section_end|><|im_end|>'
        "<|im_system|>get_weather<|im_middle|>## Return of functions.get_weather:1\n"
        '{"temperature": 15}<|im_end|><|im_system|>get_weather<|im_middle|>## Return of functions.get_weather:2\n'
        '{"temperature": 19}<|im_end|><|im_assistant|>assistant<|im_middle|>'
    ),
    "zai-org/GLM-4.5": (
        "<|user|>\nThanks! What about Boston and Paris?<|assistant|>\n<think>Two.</think>\nI'll check both.\n"
        "<tool_call>get_weather\n<arg_key>location</arg_key>\n<arg_value>Boston</arg_value>\n</tool_call>\n"
        "<tool_call>get_weather\n<arg_key>location</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>"
        "<|observation|>\n"
        '<tool_response>\n{"temperature": 15}\n</tool_response>\n<tool_response>\n{"temperature": 19}\n</tool_response>'
        "<|assistant|>"
    ),
    "ByteDance-Seed/Seed-OSS-36B-Instruct": (
        "<seed:bos>user\nThanks! What about Boston and Paris?<seed:eos><seed:bos>assistant\n"
        "<seed:think>Two.</seed:think>\nI'll check both.\n\n<seed:tool_call>\n<function=get_weather>\n"
        "<parameter=location>Boston</parameter>\n</function>\n</seed:tool_call>\n<seed:tool_call>\n"
        "<function=get_weather>\n"
        "<parameter=location>Paris</parameter>\n</function>\n</seed:tool_call><seed:eos>"
        '<seed:bos>tool\n{"temperature": 15}<seed:eos><seed:bos>tool\n{"temperature": 19}<seed:eos>'
        "<seed:bos>assistant\n"
    ),
    "openai/gpt-oss-20b": (
        "<|start|>user<|message|>Thanks! What about Boston and Paris?<|end|><|start|>assistant"
        "<|channel|>analysis<|message|>"
        "Two.<|end|><|start|>assistant<|channel|>commentary<|message|>I'll check both.<|end|>"
        "<|start|>assistant<|channel|>"
        'commentary to=functions.get_weather <|constrain|>json<|message|>{"location": "Boston"}<|call|>'
        '<|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>{"temperature": 15}<|end|>'
        "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
        '{"location": "Paris"}<|call|><|start|>functions.get_weather to=assistant<|channel|>commentary<|message|>'
        '{"temperature": 19}<|end|><|start|>assistant'
    ),
}
KEEPS_THOUGHTS = {"ByteDance-Seed/Seed-OSS-36B-Instruct"}
"""Seed-OSS's template writes the thoughts of all turns; the others leave out the old ones."""


def prompt(model: str, messages: list[dict[str, Any]] = MESSAGES) -> hs.prompts.Prompt:
    day = {"date": datetime.date(2025, 8, 26)} if "gpt-oss" in model else {}
    return hs.render(messages, model=model, tools=[TOOL], **day)


@pytest.mark.parametrize("model", LAST_TURN)
def test_a_conversation_in_each_family(model: str) -> None:
    text = prompt(model).text
    assert text.endswith(LAST_TURN[model])
    before = text.removesuffix(LAST_TURN[model])
    assert before.count(SYSTEM) == 1
    assert ("One city." in before) == (model in KEEPS_THOUGHTS)
    assert before.index("New York?") < before.index("I'll check.") < before.index('{"temperature": 22}')
    assert "It is sunny." in before


@pytest.mark.parametrize("model", LAST_TURN)
def test_what_the_prompt_shows_of_a_call_is_read_as_that_call(model: str) -> None:
    """The model copies what it sees: the prompt's own last turn, as output, has both calls."""
    asked = prompt(model, MESSAGES[:6])
    text = prompt(model, MESSAGES[:7]).text.removeprefix(asked.text)
    parser = asked.parser()
    events = (*parser.feed_text(text), *parser.finish("stop"))
    names = [event.name for event in events if isinstance(event, hs.ToolCallStart)]
    arguments = "".join(event.arguments for event in events if isinstance(event, hs.ToolCallDelta))
    assert names == ["get_weather"] * 2
    assert json.loads(f"[{arguments.replace('}{', '},{')}]") == [{"location": "Boston"}, {"location": "Paris"}]


def test_how_each_family_describes_a_tool() -> None:
    described = {model: prompt(model).text for model in LAST_TURN}
    wrapped = json.dumps({"type": "function", "function": TOOL})
    for model in ("Qwen/Qwen3-8B", "zai-org/GLM-4.5"):
        assert f"<tools>\n{wrapped}\n</tools>" in described[model]
    assert (
        f"\n### get_weather\nDescription: {TOOL['description']}\n\nParameters: {json.dumps(PARAMETERS)}\n"
        in (described["deepseek-ai/DeepSeek-V3.1"])
    )
    assert f"<|im_system|>tool_declare<|im_middle|>[{wrapped}]<|im_end|>" in described["moonshotai/Kimi-K2-Instruct"]
    assert "def get_weather(location: str):\n" in described["ByteDance-Seed/Seed-OSS-36B-Instruct"]
    assert (
        "type get_weather = (_: {\n// The city and state, e.g. San Francisco, CA\nlocation: string,\n}) => any;"
        in (described["openai/gpt-oss-20b"])
    )


def test_the_loop_goes_on_while_there_are_calls() -> None:
    """A search agent: two searches and a page, one after another, and then the answer."""
    found: list[tuple[str, str]] = []
    tools = hs.Tools()

    @tools.add
    def search(query: str) -> str:
        found.append(("search", query))
        return "Christopher Nolan"

    @tools.add
    def browse(url: str) -> str:
        found.append(("browse", url))
        return "born 1970"

    engine = Scripted(
        [call("search", '{"query": "director of Inception"}')],
        [call("search", '{"query": "Christopher Nolan born"}'), call("browse", '{"url": "https://en.example/Nolan"}')],
        ["He was born in 1970."],
    )
    end = end_of(run(engine, tools))
    assert (end.reason, end.text, end.rounds) == ("answer", "He was born in 1970.", 3)
    assert sorted(found) == [
        ("browse", "https://en.example/Nolan"),
        ("search", "Christopher Nolan born"),
        ("search", "director of Inception"),
    ]
    assert [message["role"] for message in end.messages] == [
        *("assistant", "tool", "assistant", "tool", "tool", "assistant")
    ]
    made = [one["id"] for message in end.messages for one in message.get("tool_calls") or ()]
    assert made == [message["tool_call_id"] for message in end.messages if message["role"] == "tool"]
    assert len(set(made)) == 3
