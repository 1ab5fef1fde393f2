"""Chats as Harmony prompts: what gpt-oss is told, in which message, and that it reads back."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.prompt.messages import normalize

DAY = datetime.date(2025, 6, 28)
WEATHER = {
    "name": "get_weather",
    "description": "获取指定城市的天气信息",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "城市名称"}},
        "required": ["city"],
    },
}
SYSTEM = """\
You are ChatGPT, a large language model trained by OpenAI.
Knowledge cutoff: 2024-06
Current date: 2025-06-28

Reasoning: low

# Valid channels: analysis, commentary, final. Channel must be included for every message."""
CALLS_GO = "\nCalls to these tools must go to the commentary channel: 'functions'."
TOOLS = """\
# Tools

## functions

namespace functions {

// 获取指定城市的天气信息
type get_weather = (_: {
// 城市名称
city: string,
}) => any;

} // namespace functions"""


def render(messages: Any, **options: Any) -> hs.prompts.Prompt:
    return hs.render(messages, **{"model": "gpt-oss-20b", "date": DAY, "reasoning": "low", **options})


def system_message(text: str) -> str:
    return f"<|start|>system<|message|>{text}<|end|>"


USER = "<|start|>user<|message|>Hi<|end|><|start|>assistant"


def test_system_prompt():
    assert render("Hi").text == system_message(SYSTEM) + USER
    assert render("Hi", tools=[WEATHER]).text.startswith(system_message(SYSTEM + CALLS_GO))
    assert f"Current date: {datetime.date.today()}" in hs.render("Hi", model="gpt-oss").text
    assert "Current date" not in render("Hi", date=None).text
    for effort in ("low", "medium", "high"):
        assert f"Reasoning: {effort}\n" in render("Hi", reasoning=effort).text
    own = render("Hi", identity="You are Ada.", cutoff=None).text
    assert own.startswith("<|start|>system<|message|>You are Ada.\nCurrent date: 2025-06-28\n\nReasoning")


def test_developer_part():
    chat = [{"role": "system", "content": "你是一个有帮助的助手"}, {"role": "user", "content": "Hi"}]
    developer = f"<|start|>developer<|message|># Instructions\n\n你是一个有帮助的助手\n\n{TOOLS}<|end|>"
    assert render(chat, tools=[WEATHER]).text == system_message(SYSTEM + CALLS_GO) + developer + USER
    chat[0]["role"] = "developer"
    assert render(chat, tools=[WEATHER]).text == system_message(SYSTEM + CALLS_GO) + developer + USER


def test_the_raw_prompt_goes_through_a_completion_endpoint():
    """One text with all parts, whose ids are those of the text with its markers, so that either can be sent."""
    prompt = render([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}], tools=[WEATHER])
    assert prompt.ids == hs.vocab.o200k_harmony().encode(prompt.text, control=True)
    assert prompt.stops == ("<|call|>", "<|endoftext|>", "<|return|>")
    assert prompt.stop_ids == (199999, 200002, 200012)
    output = prompt.vocab.encode("<|channel|>final<|message|>Yes.<|return|>", control=True)
    assert "Yes." in [event.text for event in prompt.parser().feed(output) if isinstance(event, hs.ContentDelta)]


CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "北京"}'}}
FIRST = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "", "reasoning": "Old.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "12°"},
    {"role": "assistant", "content": "Cold.", "reasoning": "Older."},
]


def test_later_turns_drop_earlier_analysis_and_keep_answers():
    again = [
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": "", "reasoning": "New.", "tool_calls": [CALL]},
    ]
    text = render([*FIRST, *again, {"role": "tool", "tool_call_id": "c1", "content": "13°"}]).text
    assert [thought for thought in ("Old.", "Older.", "New.") if thought in text] == ["New."]
    assert "<|channel|>final<|message|>Cold.<|end|>" in text
    assert text.count("to=functions.get_weather") == 2
    # Within a turn, what was thought before a call is still there after its result.
    assert "<|channel|>analysis<|message|>Old.<|end|>" in render(FIRST[:3]).text


def test_history_rules_of_gpt_oss():
    """The system comes before the developer, and both before the user. Each call is a message; its result follows."""
    calls = [CALL, {**CALL, "id": "c2", "function": {"name": "now", "arguments": "{}"}}]
    chat = [
        {"role": "system", "content": "S"},
        {"role": "developer", "content": "D"},
        {"role": "user", "content": "U"},
        {"role": "assistant", "content": "Looking.", "reasoning": "R", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c2", "content": "noon"},
        {"role": "tool", "tool_call_id": "c1", "content": "12°"},
    ]
    text = render(chat, dialect="vllm").text
    head = "<|start|>developer<|message|># Instructions\n\nS\n\nD<|end|><|start|>user<|message|>U<|end|>"
    assert text == system_message(SYSTEM) + head + (
        "<|start|>assistant<|channel|>analysis<|message|>R<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>Looking.<|end|>"
        '<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"city": "北京"}<|call|>'
        "<|start|>functions.get_weather<|channel|>commentary to=assistant<|message|>12°<|end|>"
        "<|start|>assistant to=functions.now<|channel|>commentary json<|message|>{}<|call|>"
        "<|start|>functions.now<|channel|>commentary to=assistant<|message|>noon<|end|>"
        "<|start|>assistant"
    )


def test_calls_are_spelled_as_each_dialect_does():
    heads = {
        "model": "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
        "openai": "<|start|>assistant to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>",
        "oss": "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
        "vllm": "<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>",
        "template": "<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>",
    }
    for dialect, head in heads.items():
        assert head in render(FIRST[:3], dialect=dialect).text


def test_built_in_tools_belong_to_the_reasoning():
    call = {"id": "p", "function": {"name": "python", "arguments": "print(1)"}}
    chat = [
        FIRST[0],
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "p", "content": "1"},
    ]
    text = render(chat, builtin=["python", "browser"]).text
    assert "# Tools\n\n## browser\n\n// Tool for browsing." in text
    assert "\n\n## python\n\nUse this tool to execute Python code" in text
    assert "assistant to=python<|channel|>analysis code<|message|>print(1)<|call|><|start|>python to=assistant" in text
    assert "<|channel|>commentary to=functions.python" in render(chat).text


def test_training_ends_with_return_and_label_masks_what_others_wrote():
    prompt = render([*FIRST[:1], FIRST[3]], training=True)
    thoughts = "<|start|>assistant<|channel|>analysis<|message|>Older.<|end|>"
    answer = "<|start|>assistant<|channel|>final<|message|>Cold.<|return|>"
    end = thoughts + answer
    assert prompt.text.endswith(USER.removesuffix("<|start|>assistant") + end)
    learnt = [tid for tid, region in zip(prompt.ids, hs.label(prompt.ids, start="")) if region != hs.Region.SUPPRESSED]
    assert b"".join(map(prompt.vocab.token_bytes, learnt)).decode() == end


@pytest.mark.parametrize(
    ("last", "end"),
    [
        ({"content": "It is"}, "<|channel|>final<|message|>It is"),
        ({"content": "", "reasoning": "Let me"}, "<|channel|>analysis<|message|>Let me"),
    ],
)
def test_a_prompt_may_end_inside_the_last_message(last, end):
    prompt = render([FIRST[0], {"role": "assistant", **last}], continue_final=True)
    assert prompt.text.endswith("<|start|>assistant" + end)
    assert prompt.parser().region == (hs.Region.CONTENT if last["content"] else hs.Region.REASONING)


@pytest.mark.parametrize(
    ("messages", "options", "error"),
    [
        ("Hi", {"reasoning": "huge"}, "reasoning is 'huge'; gpt-oss knows low, medium, high"),
        ("Hi", {"dialect": "klingon"}, "dialect is 'klingon'; expected one of model, openai, oss, vllm, template"),
        ("Hi", {"builtin": ["oven"]}, "builtin has oven; gpt-oss knows browser, python"),
        ("Hi", {"thinking": False}, "always reasons"),
        (
            "Hi",
            {"poem": 1},
            "no option poem: beside the named options, a Harmony prompt takes identity, cutoff, builtin",
        ),
        ("Hi", {"continue_final": True}, "the last message must be the assistant's"),
        ([{"role": "tool", "content": "x"}], {}, "message 0: tool_call_id belongs to no call before it"),
        (
            [{"role": "user", "content": [{"type": "image_url"}]}],
            {},
            "message 0: content has a part of the type 'image_url'",
        ),
        ("Hi", {"tools": [{"name": "f", "parameters": 5}]}, r"tools\[0\]: parameters of the tool f is int"),
        ("Hi", {"tools": [{}]}, r"tools\[0\]: name is None"),
        ("Hi", {"tools": "f"}, "tools is str"),
        ("Hi", {"model": None}, "pass model=, format= or template="),
        (
            "Hi",
            {"model": "NousResearch/Hermes-3-Llama-3.1-8B"},
            "the prompt of NousResearch/Hermes-3-Llama-3.1-8B is written by its own chat template",
        ),
    ],
)
def test_mistakes_are_reported(messages, options, error):
    with pytest.raises(hs.errors.PromptError, match=error):
        render(messages, **options)


# --- any conversation ---------------------------------------------------------------------------------------------

PIECES = [
    "<|start|>",
    "<|end|>",
    "<|channel|>final<|message|>",
    "<|call|>",
    "<think>",
    "天气",
    " to=functions.f",
    "{}",
    "\n",
    "a",
]
TEXT = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"]), max_size=6).map("".join)
ARGUMENTS = st.dictionaries(TEXT, TEXT | st.integers() | st.booleans(), max_size=3)
NAME = st.sampled_from(["f", "get_weather", "math.sum"])


@st.composite
def chats(draw: Any) -> list[dict[str, Any]]:
    """A chat whose last message is the model's: reasoning, content, and at most one call, as a model writes it."""
    chat: list[dict[str, Any]] = [{"role": "system", "content": draw(TEXT)}] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 2))):
        chat += [
            {"role": "user", "content": draw(TEXT)},
            {"role": "assistant", "content": draw(TEXT), "reasoning": draw(TEXT)},
        ]
    chat.append({"role": "user", "content": draw(TEXT)})
    if draw(st.booleans()):
        call = {"id": "c", "function": {"name": draw(NAME), "arguments": draw(ARGUMENTS)}}
        chat += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": draw(TEXT)},
        ]
    last: dict[str, Any] = {"role": "assistant", "content": draw(TEXT), "reasoning": draw(TEXT)}
    if draw(st.booleans()):
        last["tool_calls"] = [{"id": "d", "function": {"name": draw(NAME), "arguments": draw(ARGUMENTS)}}]
    return [*chat, last]


@settings(max_examples=150)
@given(chats(), st.sampled_from(["openai", "oss", "vllm", "template"]))
def test_any_conversation_renders_and_reads_back(chat, dialect):
    prompt, whole = render(chat[:-1], dialect=dialect), render(chat, dialect=dialect, training=True)
    output = whole.ids
    assert output[: len(prompt.ids)] == prompt.ids
    (message,) = normalize([chat[-1]])
    got = hs.parse(output[len(prompt.ids) :], prompt=prompt.ids, finish_reason="stop")
    assert got.reasoning == message.get("reasoning", "")
    assert got.content == message["content"]
    assert [(call.name, json.loads(call.arguments)) for call in got.tool_calls] == [
        (call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message.get("tool_calls", ())
    ]


@settings(max_examples=150)
@given(chats())
def test_text_never_becomes_a_control_token(chat):
    """The control ids of a prompt are those of the same chat with harmless texts."""

    def harmless(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: item if key in ("role", "id", "tool_call_id") else harmless(item) for key, item in value.items()
            }
        if isinstance(value, list):
            return [harmless(item) for item in value]
        return "x" if isinstance(value, str) and value else value

    vocab = hs.vocab.o200k_harmony()
    found = [
        [tid for tid in render(version, tools=[WEATHER]).ids if vocab.is_control(tid)]
        for version in (chat, harmless(chat))
    ]
    assert found[0] == found[1]


def test_the_dialect_of_the_template_declares_and_quotes_as_it_does():
    unit = {"type": "string", "enum": ["c", "f"], "default": "c"}
    place = {"type": "object", "properties": {"x": {"type": "number"}}}
    variants = [{"type": "integer", "description": "n"}, {"type": "array", "items": {"type": "string", "enum": ["a"]}}]
    properties = {"unit": unit, "place": place, "either": {"oneOf": variants}, "tags": {"type": "array", "default": []}}
    tools = [{"name": "f", "description": "d", "parameters": {"type": "object", "properties": properties}}]
    text = render(FIRST[:3], tools=[*tools, {"name": "g"}], dialect="template").text
    assert text.startswith(system_message(SYSTEM + CALLS_GO))
    assert text[text.index("// d\n") : text.index("} // namespace")] == (
        '// d\ntype f = (_: {\nunit?: "c" | "f", // default: c,\nplace?: {\nx?: \n                number},\n'
        "either?: number// n | \nstring[],\ntags?: any[], // default: [],\n}) => any;\n\n// \ntype g = () => any;\n\n"
    )
    assert '<|message|>"12°"<|end|><|start|>assistant' in text
    advice = [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}]
    head = "<|start|>developer<|message|># Instructions\n\nS\n\n<|end|>"
    assert render(advice, dialect="template").text == system_message(SYSTEM) + head + USER


def test_a_builtin_tool_that_something_runs_is_declared_once():
    """The loop needs it among the tools, and the system message declares it already."""
    tools = [{"name": "python"}, {"name": "browser.search"}, {"name": "python_other"}, {"name": "browser"}]
    text = hs.render("Hi", format="harmony", tools=tools, builtin=["python", "browser"], date=None).text
    assert text.count("## python") == text.count("## browser") == 1
    functions = text[text.index("## functions") :]
    assert [name for name in ("python", "search", "python_other", "browser") if f"type {name} =" in functions] == [
        "python_other",
        "browser",
    ]
    assert "type python =" in hs.render("Hi", format="harmony", tools=tools, date=None).text


THOUGHT = "<|channel|>analysis<|message|>Hm, {}.<|end|><|start|>assistant"
WRITTEN = '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Ber{}gen"}<|call|>'
SAID = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant"


@pytest.mark.parametrize("before", ["", THOUGHT, THOUGHT + SAID, SAID])
def test_the_next_prompt_extends_this_one_and_what_the_model_wrote(before):
    """So an engine finds it in its cache of prefixes, round after round."""
    tools = [{"name": "get_weather", "parameters": {"type": "object"}}]
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "?"}]
    prompt = hs.render(messages, tools=tools, format="harmony")
    for n in range(4):
        output = prompt.vocab.encode((before + WRITTEN).replace("{}", str(n)), control=True)
        done = hs.parse(output, tools=tools)
        assert len(done.tool_calls) == 1
        messages += [done, *hs.prompts.tool_results(done.tool_calls, ["rain"])]
        following = hs.render(messages, tools=tools, format="harmony")
        assert following.ids[: len(prompt.ids) + len(output)] == [*prompt.ids, *output]
        prompt = following
