"""ResponsesStream: calls of built-in and custom tools and of MCP servers."""

from __future__ import annotations

from typing import Any

import pytest
from wire_frames import as_dicts
from wire_responses import assembled, item_events, output, plain, read, stream_of, to
from wire_server import clients_of, of, routed, stream_over

import harmonystream as hs
from harmonystream.emit.responses.items import CALLS


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


# --- what the request's tools say ---

PATCH = "*** Begin Patch\n+ 雨\n*** End Patch"
CALLED = ("python", "browser.search", "files.read", "apply_patch", "f")
TYPES = ["code_interpreter_call", "web_search_call", "mcp_call", "custom_tool_call", "function_call"]
TOOLS: list[Any] = [
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {"type": "web_search_preview"},
    {"type": "mcp", "server_label": "files", "server_url": "https://example.org"},
    {"type": "custom", "name": "apply_patch"},
    {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False},
]
PATCHED = {"type": "custom_tool_call", "id": "ctc_1_0", "call_id": "call_1_0", "name": "apply_patch", "input": PATCH}
PATCHED["status"] = "completed"


def types_of(tools: Any) -> list[str]:
    text = "".join(to(recipient, "{}") for recipient in CALLED)
    return [item["type"] for item in output(text, parser=hs.Parser(tools=["f"]), request={"tools": tools})]


def test_calls_have_the_items_of_the_requests_tools_and_no_others():
    assert types_of(TOOLS) == TYPES
    for at, type in enumerate(TYPES):
        assert types_of(TOOLS[:at] + TOOLS[at + 1 :]) == [*TYPES[:at], "function_call", *TYPES[at + 1 :]]
        assert types_of([TOOLS[at]]) == ["function_call"] * at + [type] + ["function_call"] * (4 - at)
    assert types_of([]) == ["function_call"] * 5
    assert types_of([{"type": "mcp", "server_label": "others"}, {"type": "custom", "name": "f"}]) == [
        *["function_call"] * 4,
        "custom_tool_call",
    ]


@pytest.mark.parametrize("tools", [[None, 5, {}, {"type": []}, {"type": "mcp"}, {"type": "custom", "name": {}}], []])
def test_what_is_no_tool_declares_nothing(tools):
    emitter = stream_of(hs.Parser(), request={"tools": tools})
    as_dicts(emitter, [to("python", "1").removeprefix("<|start|>assistant")])
    assert [item["type"] for item in emitter.response()["output"]] == ["function_call"]


@pytest.mark.parametrize("request_", [{}, {"tools": None}, {"instructions": "x"}, {"tools": {"type": "function"}}])
def test_a_request_that_says_no_tools_forbids_none(request_):
    emitter = stream_of(hs.Parser(), request=request_)
    as_dicts(emitter, [to("python", "1").removeprefix("<|start|>assistant")])
    assert [item["type"] for item in emitter.response()["output"]] == ["code_interpreter_call"]


# --- custom tools ---


@pytest.mark.parametrize("options", [{"request": {"tools": TOOLS}}, {"item_type": lambda call: "custom_tool_call"}])
def test_a_custom_tool_is_called_with_text(options):
    payloads = read(to("functions.apply_patch", PATCH), **options)
    assert item_events(payloads) == [
        *("output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done", "output_item.done"),
    ]
    assert payloads[2]["item"] == {**PATCHED, "input": "", "status": "in_progress"}
    assert (payloads[3]["delta"], payloads[4]["input"]) == (PATCH, PATCH)
    assert payloads[-1]["response"]["output"] == [PATCHED]


def test_a_custom_call_that_is_cut_says_what_there_is():
    (item,) = output(to("functions.apply_patch", PATCH[:9], end=""), "length", request={"tools": TOOLS})
    assert item == {**PATCHED, "input": PATCH[:9], "status": "incomplete"}


def test_custom_calls_have_ids_as_functions_have():
    body = {"tools": [{"type": "custom", "name": "f"}]}
    items = output(to("f", "1") + to("g", "2") + to("f", "3"), request=body, call_id=lambda index: f"c{index}")
    assert [(item["type"], item["id"], item["call_id"]) for item in items] == [
        ("custom_tool_call", "ctc_1_0", "c0"),
        ("function_call", "fc_1_1", "c1"),
        ("custom_tool_call", "ctc_1_2", "c2"),
    ]


def test_the_official_client_reads_a_custom_call():
    text = "<|channel|>analysis<|message|>Hm<|end|>" + to("functions.apply_patch", PATCH)
    pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
    app = routed(lambda api, body: (of(*pieces)(), stream_over(hs.Parser(tools=body["tools"]), api, request=body)))
    asked: Any = {"model": "m", "input": "?", "tools": TOOLS[3:]}
    with clients_of(app) as clients:
        events = [one.to_dict(mode="python") for one in clients.openai.responses.create(stream=True, **asked)]
        with clients.openai.responses.stream(**asked) as helped:
            parts = list(helped)
            response = plain(helped.get_final_response())
        at_once = clients.openai.responses.create(**asked).to_dict(mode="python")
    assert assembled(events) == response == at_once
    assert response["output"][1:] == [{**PATCHED, "id": "ctc_1_1"}]
    assert "".join(part.delta for part in parts if part.type == "response.custom_tool_call_input.delta") == PATCH
    assert [part.input for part in parts if part.type == "response.custom_tool_call_input.done"] == [PATCH]


# --- the caller's choice ---


@pytest.mark.parametrize("type", CALLS)
def test_every_type_can_be_chosen_for_every_call(type):
    (item,) = output(to("functions.f", '{"a": 1}'), item_type=lambda call: type)
    assert (item["type"], item["id"].split("_")[1:]) == (type, ["1", "0"])


@pytest.mark.parametrize("type", ["message", "tool_call", None, [], 5])
def test_other_types_are_refused_with_the_ones_that_there_are(type):
    emitter, told = (stream_of(hs.Parser(), item_type=lambda call: type) for _ in range(2))
    text = "<|channel|>final<|message|>a<|end|>" + to("functions.f", "{}")
    known = "function_call, custom_tool_call, code_interpreter_call, web_search_call, mcp_call"
    emitter.start()
    told.events()
    for feed in (emitter.feed_text, told.events):
        with pytest.raises(ValueError, match=rf"item_type gave .*: it is one of {known}$"):
            feed(text)
    emitter.error("x")
    assert [item["status"] for item in emitter.response()["output"]] == ["completed"]


@pytest.mark.parametrize("recipient", ["python", "browser.search", "files.read"])
def test_a_cut_call_of_a_tool_is_not_completed(recipient):
    payloads = read(to(recipient, '{"query', end=""), "length", parser=hs.Parser(tools=["f"]))
    assert payloads[-1]["response"]["output"][0]["status"] == "incomplete"
    assert [type for type in item_events(payloads) if type.endswith("completed")] == []
