"""ResponsesStream: calls of built-in tools and MCP servers."""

from __future__ import annotations

import pytest
from wire_responses import item_events, output, read, to

import harmonystream as hs


def test_python_is_a_code_interpreter_call():
    payloads = read(to("python", "print(1)"), container_id="cntr_1")
    assert item_events(payloads) == [
        *("output_item.added", "code_interpreter_call.in_progress", "code_interpreter_call_code.delta"),
        *("code_interpreter_call_code.done", "code_interpreter_call.interpreting", "code_interpreter_call.completed"),
        "output_item.done",
    ]
    assert payloads[-1]["response"]["output"] == [
        {
            "type": "code_interpreter_call",
            "id": "ci_1_0",
            "container_id": "cntr_1",
            "outputs": None,
            "code": "print(1)",
            "status": "completed",
        }
    ]


def test_a_declared_tool_named_python_is_a_function():
    assert output(to("python", "{}"), parser=hs.Parser(tools=["python"]))[0]["type"] == "function_call"


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("search", '{"query": "tea \\u96e8", "topn": 5}', {"type": "search", "query": "tea 雨"}),
        ("search", '{"query": "\\ud800"}', {"type": "search", "query": "\ufffd"}),
        ("search", "tea", {"type": "search", "query": "tea"}),
        ("search", '{"q": "tea"}', {"type": "search", "query": '{"q": "tea"}'}),
        ("search", "[" * 100_000, {"type": "search", "query": "[" * 100_000}),
        ("open", '{"id": "https://example.org"}', {"type": "open_page", "url": "https://example.org"}),
        ("open", '{"id": 3, "cursor": 1}', {"type": "open_page", "url": "cursor:1:id:3"}),
        ("open", "{}", {"type": "open_page", "url": "{}"}),
        ("find", '{"pattern": "x", "cursor": 2}', {"type": "find_in_page", "pattern": "x", "url": "cursor:2"}),
        ("find", "5", {"type": "find_in_page", "pattern": "5", "url": ""}),
    ],
)
def test_the_browser_makes_web_search_calls(name, arguments, action):
    payloads = read(to(f"browser.{name}", arguments))
    assert item_events(payloads) == [
        *("output_item.added", "web_search_call.in_progress", "web_search_call.searching"),
        *("web_search_call.completed", "output_item.done"),
    ]
    assert payloads[2]["item"]["action"]["type"] == action["type"]
    (item,) = payloads[-1]["response"]["output"]
    assert item == {"type": "web_search_call", "id": "ws_1_0", "action": action, "status": "completed"}


def test_undeclared_names_with_a_dot_are_calls_of_an_mcp_server():
    payloads = read(to("files.dir.read", '{"p":1}'), parser=hs.Parser(tools=["f"]))
    assert item_events(payloads) == [
        *("output_item.added", "mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done"),
        *("mcp_call.completed", "output_item.done"),
    ]
    assert payloads[-1]["response"]["output"] == [
        {
            "type": "mcp_call",
            "id": "mcp_1_0",
            "server_label": "files",
            "name": "dir.read",
            "arguments": '{"p":1}',
            "status": "completed",
        }
    ]


@pytest.mark.parametrize("recipient", ["g", "container.exec", "browser.other", "python.x", "functions.a.b", "g."])
def test_every_other_call_is_a_function_call(recipient):
    (item,) = output(to(recipient, "{}"), parser=hs.Parser(tools=["f"]))
    assert (item["type"], item["name"]) == ("function_call", recipient.removeprefix("functions."))


def test_item_types_can_be_chosen():
    text = "".join(to(recipient, "{}") for recipient in ("python", "browser.search", "files.read"))
    items = output(text, parser=hs.Parser(tools=["f"]), item_type=lambda call: "function_call")
    assert [(item["type"], item["name"]) for item in items] == [
        ("function_call", "python"),
        ("function_call", "browser.search"),
        ("function_call", "files.read"),
    ]
    (item,) = output(to("lookup", "{}"), item_type=lambda call: "mcp_call")
    assert (item["server_label"], item["name"]) == ("lookup", "lookup")


@pytest.mark.parametrize("recipient", ["python", "browser.search", "files.read"])
def test_a_cut_call_of_a_tool_is_not_completed(recipient):
    payloads = read(to(recipient, '{"query', end=""), "length", parser=hs.Parser(tools=["f"]))
    assert payloads[-1]["response"]["output"][0]["status"] == "incomplete"
    assert [type for type in item_events(payloads) if type.endswith("completed")] == []
