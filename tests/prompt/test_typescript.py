"""The TypeScript of schemas: examples and limits. The form itself is compared in test_harmony_text.py."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.prompt.typescript import FunctionType, Namespace, json_text, namespace_text, type_text

GUIDE = """\
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
tags?: string[],
exact?: boolean,
}) => any;

// 获取当前时间
type get_current_time = () => any;

} // namespace functions"""


def test_tool_definitions():
    unit = {"type": "string", "enum": ["celsius", "fahrenheit"], "description": "温度单位", "default": "celsius"}
    weather = {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "城市名称，如：北京、上海"}, "unit": unit},
        "required": ["city"],
    }
    search = {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "搜索关键词"},
            "limit": {"type": "integer", "description": "返回结果数量", "default": 5},
            "tags": {"type": "array", "items": {"type": "string"}},
            "exact": {"type": "boolean"},
        },
        "required": ["query"],
    }
    functions = (
        FunctionType("get_weather", "获取指定城市的天气信息", weather),
        FunctionType("web_search", "搜索网页获取信息", search),
        FunctionType("get_current_time", "获取当前时间"),
    )
    assert namespace_text(Namespace("functions", functions), "e") == GUIDE


def nested(kind: str, depth: int) -> object:
    schema: object = {"type": "string"}
    for _ in range(depth):
        inner = {"object": {"properties": {"a": schema}}, "array": {"items": schema}, "oneOf": {"oneOf": [schema]}}
        schema = {"type": kind, **inner[kind]}
    return schema


@pytest.mark.parametrize("kind", ["object", "array", "oneOf"])
def test_schemas_nest_so_deep_and_no_deeper(kind):
    assert "string" in type_text(nested(kind, 60))
    with pytest.raises(hs.errors.PromptError, match="nests more than 64 deep"):
        type_text(nested(kind, 3000))


def test_numbers_that_are_no_float_are_refused():
    with pytest.raises(hs.errors.PromptError, match="more than 308 digits"):
        json_text(10**400)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back(value):
    assert json.loads(json_text(value)) == value
    assert json.loads(json_text(value, "e+")) == value
