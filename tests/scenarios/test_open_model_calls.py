"""Calls of open models: the output of each family, text and thoughts around it, and variants of markers and ids."""

from __future__ import annotations

from typing import Any

import pytest

import harmonystream as hs

LOCATION = {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}
CITY = {"type": "object", "properties": {"city": {"type": "string"}, "date": {"type": "string"}}, "required": ["city"]}
PLACES = [{"location": "Boston"}, {"location": "Paris"}]
DAYS = [{"city": "Beijing", "date": "2024-06-27"}, {"city": "Shanghai", "date": "2024-06-27"}]
TWO = "I'll check the weather in both Boston and Paris for you.\n"

QWEN3 = (
    "<think>\nThe user is now asking about two different cities.\n</think>\n\n" + TWO + "<tool_call>\n"
    '{"name": "get_weather", "arguments": {"location": "Boston"}}\n</tool_call>\n<tool_call>\n'
    '{"name": "get_weather", "arguments": {"location": "Paris"}}\n</tool_call><|im_end|>'
)
DEEPSEEK = (
    TWO + "<｜tool▁calls▁begin｜>\n<｜tool▁call▁begin｜>\n"
    'get_weather<｜tool▁sep｜>{"location": "Boston"}\n<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>\n'
    'get_weather<｜tool▁sep｜>{"location": "Paris"}\n<｜tool▁call▁end｜>\n<｜tool▁calls▁end｜>\n<｜end▁of▁sentence｜>'
)
KIMI = (
    TWO + "<|tool_calls_section_begin|>\n"
    '<|tool_call_begin|>{}<|tool_call_argument_begin|>{{"location": "Boston"}}<|tool_call_end|>\n'
    '<|tool_call_begin|>{}<|tool_call_argument_begin|>{{"location": "Paris"}}<|tool_call_end|>\n'
    "<|tool_calls_section_end|><|im_end|>"
)
GPT_OSS = ' to=functions.get_weather<|channel|>commentary json<|message|>\n{"location": "New York"}<|call|>'
GLM = "<think>\nI need to call get_weather twice.\n</think>\n\nI will call the function.\n" + "\n".join(
    f"<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>{day['city']}</arg_value>\n"
    f"<arg_key>date</arg_key>\n<arg_value>{day['date']}</arg_value>\n</tool_call>"
    for day in DAYS
)
SEED = """\
<seed:tool_call>
<function=example_function_name>
<parameter=example_parameter_1>value_1</parameter>
<parameter=example_parameter_2>This is the value for the second parameter
that can span
multiple lines</parameter>
</function>
</seed:tool_call>"""
CODE = 'print("<b>" + x)\nif a < b: {"y"}'
SEARCH = (
    "我将先搜索符合条件的品牌。<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>"
    '{"questions":"全球旗舰店||Nike全球旗舰店博物馆"}<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>'
)

EXAMPLES: dict[str, tuple[str, str, str, list[dict[str, Any]]]] = {
    "Qwen3": (QWEN3, "hermes", "get_weather", PLACES),
    "DeepSeek-V3.1": (DEEPSEEK, "deepseek", "get_weather", PLACES),
    "Kimi-K2": (KIMI.format("functions.get_weather:1", "functions.get_weather:2"), "kimi_k2", "get_weather", PLACES),
    "gpt-oss": (GPT_OSS, "harmony", "get_weather", [{"location": "New York"}]),
    "GLM-4.5": (GLM, "glm", "get_weather", DAYS),
    "Seed-OSS": (
        SEED,
        "seed_oss",
        "example_function_name",
        [
            {
                "example_parameter_1": "value_1",
                "example_parameter_2": "This is the value for the second parameter\nthat can span\nmultiple lines",
            }
        ],
    ),
    "code in a value": (
        f"<tool_call>run\n<arg_key>code</arg_key>\n<arg_value>{CODE}</arg_value>\n</tool_call>",
        "glm",
        "run",
        [{"code": CODE}],
    ),
    "search agent": (SEARCH, "deepseek_search", "search", [{"questions": "全球旗舰店||Nike全球旗舰店博物馆"}]),
}


def calls(output: str, format: str, prompt: str | None) -> list[tuple[str, dict[str, Any]]]:
    done = hs.parse(output, format, prompt=prompt, finish_reason="stop")
    return [(call.name, call.parsed_arguments) for call in done.tool_calls]


@pytest.mark.parametrize("model", EXAMPLES)
def test_calls_as_each_model_writes_them(model):
    output, format, name, arguments = EXAMPLES[model]
    prompt = "<|start|>assistant" if format == "harmony" else None
    assert calls(output, format, prompt) == [(name, one) for one in arguments]
    parser = hs.Parser(format, prompt=prompt)
    pieces = [*(event for char in output for event in parser.feed_text(char)), *parser.finish("stop")]
    assert [event.name for event in pieces if isinstance(event, hs.ToolCallStart)] == [name] * len(arguments)


def test_text_around_the_calls_is_content_and_thoughts_are_reasoning():
    for output, format in ((QWEN3, "hermes"), (GLM, "glm")):
        done = hs.parse(output, format)
        assert done.content.strip() in (TWO.strip(), "I will call the function.")
        assert done.reasoning.strip() in (
            "The user is now asking about two different cities.",
            "I need to call get_weather twice.",
        )


def test_ids_of_kimi_s_calls_that_name_no_function():
    """The id is `call_2`. A name that is not in the id is unknown, unless there is only one tool."""
    (first, second) = hs.parse(KIMI.format("call_2", "call_3"), "kimi_k2", tools=["get_weather"]).tool_calls
    assert (first.id, second.id) == ("call_2", "call_3")
    assert [first.parsed_arguments, second.parsed_arguments] == PLACES


def test_markers_with_ascii_bars():
    printed = DEEPSEEK.replace("｜", "|")
    assert calls(printed, "deepseek", None) == [("get_weather", place) for place in PLACES]
    assert calls(SEARCH.replace("｜", "|"), "deepseek_search", None)[0][0] == "search"


def test_a_prompt_of_the_search_agent_begins_in_its_search():
    template = (
        "{% for one in messages %}<｜User｜>{{ one.content }}{% endfor %}<｜Assistant｜></think><｜search▁begin｜>"
    )
    prompt = hs.render("艺术指导是谁?", template=template, format="deepseek_search")
    assert prompt.text == "<｜User｜>艺术指导是谁?<｜Assistant｜></think><｜search▁begin｜>"
    parser = prompt.parser()
    assert parser.region == hs.Region.REASONING
    parts = parser.feed_text("杜可风。\n\n<｜search▁end｜>\n\n是杜可风[citation:21]。")
    assert "".join(one.text for one in parts if isinstance(one, hs.ReasoningDelta)).strip() == "杜可风。"
    assert "".join(one.text for one in parts if isinstance(one, hs.ContentDelta)).strip() == "是杜可风[citation:21]。"
