"""Tools as the set of an application, and of one request."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from command import ENV

import harmonystream as hs

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
CHAT = {"type": "function", "function": {"name": "chat", "description": "Chat.", "parameters": PARAMETERS}}
RESPONSES = {"type": "function", "name": "responses", "parameters": PARAMETERS, "strict": True}
MESSAGES = {"name": "messages", "description": "Messages.", "input_schema": PARAMETERS}


def weather(city: str, days: int = 1) -> str:
    """The weather of a city."""
    return f"{city}: {days}"


def names(tools: hs.Tools) -> list[str]:
    return [tool.name for tool in tools]


def test_items_of_every_form_are_tools_in_their_order():
    tools = hs.Tools(weather, CHAT, RESPONSES, MESSAGES, "name", hs.Tool("tool"), hs.Tools("inner", "other"))
    assert names(tools) == ["weather", "chat", "responses", "messages", "name", "tool", "inner", "other"]
    assert len(tools) == 8
    assert tools["chat"].parameters == tools["messages"].parameters == PARAMETERS
    assert tools.get("nobody") is None
    assert "chat" in tools and "nobody" not in tools
    assert repr(hs.Tools("a", "b")) == "Tools('a', 'b')"


def test_two_tools_of_one_name_are_refused():
    tools = hs.Tools("weather")
    with pytest.raises(ValueError, match="two tools of the name 'weather'"):
        tools.add(weather)
    tools.remove("weather")
    assert tools.add(weather) is weather
    with pytest.raises(KeyError):
        tools.remove("nobody")


def test_add_is_a_decorator_with_and_without_options():
    tools = hs.Tools()

    @tools.add
    def plain(a: int) -> int:
        return a

    @tools.add(name="renamed", timeout=3, early=True)
    def other() -> None: ...

    assert names(tools) == ["plain", "renamed"]
    assert plain(3) == 3
    assert (tools["renamed"].timeout, tools["renamed"].early, tools["plain"].early) == (3, True, False)


@pytest.mark.parametrize(
    ("option", "value"), [("timeout", 0), ("max_concurrency", 0), ("max_threads", -1), ("max_result", 0)]
)
def test_limits_are_positive(option, value):
    with pytest.raises(ValueError, match=option):
        hs.Tools(**{option: value})


def test_registration_per_request():
    """`when` sees the request, and a listener hears what is offered to it. Nothing persists."""
    tools = hs.Tools("always")
    tools.add(weather, when=lambda request: request["type"] == "quiet")
    heard = []
    tools.on("registered", lambda event: heard.append((event.tool.name, event.request["type"])))
    assert names(tools.offered({"type": "normal"})) == ["always"]
    assert names(tools.offered({"type": "quiet"})) == ["always", "weather"]
    assert names(tools.offered({"type": "normal"})) == ["always"]
    assert heard == [("always", "normal"), ("always", "quiet"), ("weather", "quiet"), ("always", "normal")]
    assert names(tools) == ["always", "weather"]


def test_an_error_of_when_is_the_callers():
    tools = hs.Tools(hs.Tool("a", when=lambda request: request["nothing"]))
    with pytest.raises(KeyError):
        tools.offered({})


@pytest.mark.parametrize(
    ("api", "none", "one", "two"),
    [
        ("chat", "auto", {"type": "function", "function": {"name": "a"}}, "required"),
        ("responses", "auto", {"type": "function", "name": "a"}, "required"),
        ("messages", {"type": "auto"}, {"type": "tool", "name": "a"}, {"type": "any"}),
    ],
)
def test_required_forces_a_tool_as_far_as_the_api_can(api, none, one, two):
    tools = hs.Tools("x")
    assert tools.choice(api) == none
    tools.add("a", required=True)
    assert tools.choice(api) == one
    tools.add("b", required=True)
    assert tools.choice(api) == two


def test_the_parser_knows_the_tools_and_their_types():
    tools = hs.Tools(weather)
    text = "<tool_call>\n<function=weather>\n<parameter=city>\n7\n</parameter>\n<parameter=days>\n7\n</parameter>\n"
    text += "</function>\n</tool_call>"
    (call,) = hs.parse(text, "qwen3_coder", tools=tools).tool_calls
    assert call.parsed_arguments == {"city": "7", "days": 7}
    harmony = "<|channel|>commentary to={}<|message|>{{}}<|call|>"
    assert [call.kind for call in hs.parse(harmony.format("weather"), tools=tools).tool_calls] == ["function"]
    assert [call.kind for call in hs.parse(harmony.format("other"), tools=tools).tool_calls] == ["other"]
    assert hs.parse(harmony.format("functions.weather"), tools=hs.Tools()).tool_calls == ()


def test_tools_are_taken_wherever_their_definitions_are():
    tools = hs.Tools(weather, CHAT)
    text = '<tool_call>\n{"name": "weather", "arguments": {"city": "Bergen"}}\n</tool_call>'
    stream = hs.ChatStream(hs.Parser("hermes", tools=tools), id="chatcmpl-1", model="m", created=1)
    given = hs.ChatStream("hermes", tools=tools, id="chatcmpl-1", model="m", created=1)
    expected = hs.ChatStream("hermes", tools=tools.schemas(), id="chatcmpl-1", model="m", created=1)
    frames = [one.start() + one.feed_text(text) + one.finish("stop") for one in (stream, given, expected)]
    assert frames[0] == frames[1] == frames[2]
    parser = hs.Parser("hermes", tools=tools)
    parser.feed_text(text[:30])
    again = hs.Parser.from_bytes(parser.to_bytes(), tools=tools.schemas())
    assert hs.Parser.from_bytes(parser.to_bytes(), tools=tools).feed_text(text[30:]) == again.feed_text(text[30:])
    batch = hs.batch.Batch("harmony")
    batch.open(tools=tools)
    assert hs.label([], tools=tools) == b""


def test_schemas_are_json():
    tools = hs.Tools(weather, CHAT, RESPONSES, MESSAGES, "name")
    for api in ("chat", "responses", "messages"):
        assert len(json.loads(json.dumps(tools.schemas(api)))) == 5
    with pytest.raises(ValueError, match="an API is"):
        tools.schemas("completions")


def test_declared_tools_need_no_other_package():
    missing = ("pydantic", "docstring_parser", "jsonschema_rs", "mcp")
    script = f"""
import sys
sys.modules |= dict.fromkeys({missing!r})
import harmonystream as hs
tools = hs.Tools("a", {MESSAGES!r})
(call,) = hs.parse("<|channel|>commentary to=a<|message|>{{}}<|call|>", tools=tools).tool_calls
print(len(tools.schemas()), call.kind)
for item in (print, hs.Tool("b")):
    try:
        hs.Tools().add(item, function=print, parameters={{}} if item is not print else None)
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, env=ENV)
    assert (done.stderr, done.stdout.splitlines()[0]) == ("", "2 function")
    first, second = done.stdout.splitlines()[1:]
    assert "needs pydantic and docstring-parser: pip install 'harmonystream[tools]'" in first
    assert "needs jsonschema-rs: pip install 'harmonystream[tools]'" in second


def test_tools_without_servers_are_entered_without_the_extra_for_servers():
    program = """
import asyncio, sys
sys.modules["mcp"] = None
import harmonystream as hs
tools = hs.Tools(hs.Tool("f", "", {"type": "object"}, lambda: 1))
async def enter():
    async with tools:
        return [tool.name for tool in tools]
print(asyncio.run(enter()))
"""
    ran = subprocess.run([sys.executable, "-c", program], env=ENV, capture_output=True, text=True)
    assert ran.stdout == "['f']\n", ran.stderr


def test_tools_are_compiled_once_for_all_parsers():
    tools = hs.Tools(hs.Tool("f", parameters={"properties": {"a": {"type": "integer"}}}))
    made = tools.compile()
    assert tools.compile() is made
    parser = hs.Parser("glm", tools=tools)
    text = "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>"
    for one in (parser, parser.fork(), hs.Parser.from_bytes(parser.to_bytes(), tools=tools)):
        events = one.feed_text(text)
        assert "".join(event.arguments for event in events if isinstance(event, hs.ToolCallDelta)) == '{"a": 1}'


def test_a_change_compiles_anew():
    tools = hs.Tools("f")
    seen = [tools.compile()]
    tools.add("g")
    seen.append(tools.compile())
    tools.remove("f")
    seen.append(tools.compile())
    view = tools.offered({})
    assert [[made.index(name) for name in "fg"] for made in seen] == [[0, -1], [0, 1], [-1, 0]]
    assert [view.compile().index(name) for name in "fg"] == [-1, 0]
    tools.add(hs.Tool("h", when=lambda request: request))
    assert (tools.offered(True).compile().index("h"), tools.offered(False).compile().index("h")) == (1, -1)


def test_a_change_during_the_compilation_is_not_lost(monkeypatch):
    tools = hs.Tools("f")
    schemas = tools.schemas

    def late(api: str) -> list[dict[str, object]]:
        made = schemas("chat")
        if "g" not in tools:
            tools.add("g")  # as another thread may
        return made

    monkeypatch.setattr(tools, "schemas", late)
    assert tools.compile().index("g") == -1
    assert tools.compile().index("g") == 1


def test_the_room_is_an_attribute_before_anything_is_imported():
    """`def ask(pending: hs.tools.PendingCall)` above `tools = hs.Tools()`, as the pages have it."""
    code = "import harmonystream as hs; print(hs.tools.PendingCall.__name__, hs.tools.Context.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["PendingCall", "Context"]
