"""Function calls of gpt-oss: complete prompts, raw outputs, calls with damaged ends, and channels of the user."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import harmonystream as hs

PROMPT = """\
You are ChatGPT, a large language model trained by OpenAI.
Knowledge cutoff: 2024-06
Current date: 2025-06-28

Reasoning: low

# Valid channels: analysis, commentary, final. Channel must be included for every message.
Calls to these tools must go to the commentary channel: 'functions'.

# Instructions

你是一个有帮助的AI助手。请用中文回复用户。
当需要获取实时信息时，使用提供的工具。

# Tools

## functions

namespace functions {

// 获取指定城市的天气信息
type get_weather = (_: {
// 城市名称，如：北京、上海
city: string,
// 温度单位
unit?: "celsius" | "fahrenheit", // default: celsius
}) => any;

// 搜索网页获取信息
type web_search = (_: {
// 搜索关键词
query: string,
// 返回结果数量
limit?: number, // default: 5
}) => any;

// 查询本地知识库
type local_rag = (_: {
// 查询内容
query: string,
// 返回文档数量
top_k?: number, // default: 3
}) => any;

// 获取当前时间
type get_current_time = () => any;

} // namespace functions"""

MANY_TOOLS = """\
# Tools

## functions

namespace functions {

// 获取天气信息
type get_weather = (_: {
// 城市名称
city: string,
}) => any;

// 网络搜索
type web_search = (_: {
// 搜索查询
query: string,
}) => any;

// 知识库检索
type local_rag = (_: {
// 检索问题
query: string,
// 返回数量
top_k?: number, // default: 3
}) => any;

// 执行代码
type run_code = (_: {
// 代码语言
language: "python" | "javascript",
// 代码内容
code: string,
}) => any;

// 发送消息（无参数示例）
type send_notification = () => any;

} // namespace functions"""


def tool(name: str, description: str, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": description, **({"parameters": schema} if properties else {})}


def text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def number(description: str, default: int) -> dict[str, Any]:
    return {"type": "integer", "description": description, "default": default}


UNIT = text("温度单位", enum=["celsius", "fahrenheit"], default="celsius")
TOOLS = [
    tool("get_weather", "获取指定城市的天气信息", ("city",), city=text("城市名称，如：北京、上海"), unit=UNIT),
    tool("web_search", "搜索网页获取信息", ("query",), query=text("搜索关键词"), limit=number("返回结果数量", 5)),
    tool("local_rag", "查询本地知识库", ("query",), query=text("查询内容"), top_k=number("返回文档数量", 3)),
    tool("get_current_time", "获取当前时间"),
]
MORE_TOOLS = [
    tool("get_weather", "获取天气信息", ("city",), city=text("城市名称")),
    tool("web_search", "网络搜索", ("query",), query=text("搜索查询")),
    tool("local_rag", "知识库检索", ("query",), query=text("检索问题"), top_k=number("返回数量", 3)),
    tool(
        "run_code",
        "执行代码",
        ("language", "code"),
        language=text("代码语言", enum=["python", "javascript"]),
        code=text("代码内容"),
    ),
    tool("send_notification", "发送消息（无参数示例）"),
]
ADVICE = "你是一个有帮助的AI助手。请用中文回复用户。\n当需要获取实时信息时，使用提供的工具。"


def render(tools: list[dict[str, Any]]) -> str:
    chat = [{"role": "system", "content": ADVICE}, {"role": "user", "content": "北京天气怎么样？"}]
    day = datetime.date(2025, 6, 28)
    return hs.render(chat, model="gpt-oss-20b", tools=tools, reasoning="low", date=day).text


def test_a_complete_prompt_with_one_tool():
    """The first half of the system prompt is the system's, and the rest is the developer's."""
    head, rest = PROMPT.split("\n\n# Instructions", 1)
    assert render(TOOLS) == (
        f"<|start|>system<|message|>{head}<|end|><|start|>developer<|message|># Instructions{rest}<|end|>"
        "<|start|>user<|message|>北京天气怎么样？<|end|><|start|>assistant"
    )


def test_the_definitions_of_many_tools():
    assert MANY_TOOLS in render(MORE_TOOLS)


CALLS = "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
CALL_OUTPUT = (
    f'<|channel|>analysis<|message|>用户询问北京天气，需要调用 get_weather。<|end|>\n{CALLS}{{"city":"北京"}}<|call|>'
)
ANSWER_OUTPUT = (
    "<|channel|>analysis<|message|>简单问题，直接回答。<|end|>\n"
    "<|start|>assistant<|channel|>final<|message|>你好！有什么可以帮助你的？<|return|>"
)


def read(output: str) -> dict[str, Any]:
    """Thinking, calls and answer of a raw output."""
    done = hs.parse(output, finish_reason="stop")
    return {
        "thinking": done.reasoning or None,
        "function_calls": [{"name": call.name, "arguments": call.parsed_arguments} for call in done.tool_calls],
        "final_answer": done.content or None,
    }


def test_thinking_calls_and_answer_are_read_from_raw_output():
    assert read(CALL_OUTPUT) == {
        "thinking": "用户询问北京天气，需要调用 get_weather。",
        "function_calls": [{"name": "get_weather", "arguments": {"city": "北京"}}],
        "final_answer": None,
    }
    assert read(ANSWER_OUTPUT) == {
        "thinking": "简单问题，直接回答。",
        "function_calls": [],
        "final_answer": "你好！有什么可以帮助你的？",
    }


@pytest.mark.parametrize(
    ("bodies", "arguments"),
    [
        (['{"a": {"b": 1}}'], [{"a": {"b": 1}}]),
        (['{"a": 1}', '{"b": [{"c": {}}]}'], [{"a": 1}, {"b": [{"c": {}}]}]),
        (['{"code": "if (x) { y[\\"}\\"] }\\\\"}'], [{"code": 'if (x) { y["}"] }\\'}]),
        (['{"text": "{{{"}', '{"text": "}"}'], [{"text": "{{{"}, {"text": "}"}]),
    ],
    ids=["nested", "several", "braces and escapes in a string", "braces that do not match"],
)
@pytest.mark.parametrize("end", ["<|call|>", ""], ids=["closed", "end missing"])
def test_several_calls_nested_braces_and_a_missing_end(bodies, arguments, end):
    output = "".join(f"{CALLS}{body}<|call|>" for body in bodies).removesuffix("<|call|>") + end
    assert read(output)["function_calls"] == [{"name": "get_weather", "arguments": one} for one in arguments]


def test_only_the_final_channel_is_for_the_user():
    """By its type an event says whether the user may see it. A preamble before a call is for the user, too."""
    output = CALL_OUTPUT + "<|start|>assistant<|channel|>commentary<|message|>One moment.<|end|>" + ANSWER_OUTPUT
    parser = hs.Parser()
    shown, hidden = "", ""
    for event in (*parser.feed_text(output), *parser.finish("stop")):
        if isinstance(event, hs.ContentDelta):
            shown += event.text
        elif isinstance(event, (hs.ReasoningDelta, hs.ToolCallDelta)):
            hidden += getattr(event, "text", None) or event.arguments
    assert shown == "One moment.你好！有什么可以帮助你的？"
    assert hidden == '用户询问北京天气，需要调用 get_weather。{"city":"北京"}简单问题，直接回答。'
    stream = hs.ResponsesStream(id="r", model="m", created=1)
    stream.start()
    stream.feed_text(output)
    stream.finish("stop")
    assert [item["type"] for item in stream.response()["output"]] == [
        "reasoning",
        "function_call",
        "message",
        "reasoning",
        "message",
    ]
