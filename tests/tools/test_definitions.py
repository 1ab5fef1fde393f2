"""Tools from the definitions of APIs, and definitions from tools."""

from __future__ import annotations

import anthropic.types
import openai.types.chat
import openai.types.responses
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import pydantic_function_tool
from pydantic import BaseModel, TypeAdapter

import harmonystream as hs

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
WANTED = {
    "chat": openai.types.chat.ChatCompletionFunctionToolParam,
    "responses": openai.types.responses.FunctionToolParam,
    "messages": anthropic.types.ToolParam,
}

names = st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=9)
tools = st.builds(
    hs.Tool,
    names,
    st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    st.none() | st.just(SCHEMA),
    strict=st.none() | st.booleans(),
)


@settings(max_examples=60)
@given(tools, st.sampled_from(sorted(WANTED)))
def test_a_definition_is_what_the_apis_own_client_sends_and_reads_back(tool, api):
    (written,) = hs.Tools(tool).schemas(api)
    TypeAdapter(WANTED[api]).validate_python(written)
    (read,) = hs.Tools(written)
    assert (read.name, read.description) == (tool.name, tool.description)
    if api == "messages" and tool.parameters is None:
        assert read.parameters == {"type": "object"}  # which the API must have
    else:
        assert read.parameters == tool.parameters
    assert read.strict is (bool(tool.strict) if api == "responses" else tool.strict)


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "function": {"name": "f", "description": "F.", "parameters": SCHEMA}},
        {"type": "function", "name": "f", "description": "F.", "parameters": SCHEMA},
        {"type": "custom", "name": "f", "description": "F.", "input_schema": SCHEMA},
        {"name": "f", "description": "F.", "parameters": SCHEMA},
        {"name": "f", "title": "F", "description": "F.", "inputSchema": SCHEMA},
        openai.types.responses.FunctionTool(type="function", name="f", description="F.", parameters=SCHEMA),
    ],
)
def test_definitions_of_every_api_are_read(definition):
    (tool,) = hs.Tools(definition)
    assert (tool.name, tool.description, tool.parameters, tool.function) == ("f", "F.", SCHEMA, None)


def test_a_definition_can_be_given_a_function():
    declared = hs.Tools()
    declared.add({"name": "f", "parameters": SCHEMA}, function=lambda q: q, early=True)
    assert declared["f"].early
    assert declared["f"].function is not None


def test_openais_own_definition_of_a_model_is_read():
    class Search(BaseModel):
        """Searches."""

        q: str

    (tool,) = hs.Tools(pydantic_function_tool(Search))
    assert (tool.name, tool.description, tool.strict) == ("Search", "Searches.", True)


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [
        (3, TypeError, "a tool is a function, a Tool, a name or a dict"),
        ({"type": "web_search", "name": "w"}, ValueError, "a tool of type 'web_search' is not a function"),
        ({"type": "function", "function": {}}, ValueError, "must have a name"),
        ({"type": "function", "function": "f"}, ValueError, "must have a name"),
        ({"name": 3}, TypeError, "a tool's name is a str, not 3"),
        ({"name": "f", "parameters": "{}"}, TypeError, "parameters of tool 'f' is a JSON Schema, an object, not '{}'"),
        ({"name": "f", "description": 3}, TypeError, "description of tool 'f' is a str, not 3"),
    ],
)
def test_what_cannot_be_a_tool_is_refused(item, error, message):
    with pytest.raises(error, match=message):
        hs.Tools(item)
