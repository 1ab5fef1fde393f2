"""One call, and several: every failure is a result."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest
from tool_calls import call, error_text, run

import harmonystream as hs
from harmonystream.tools import ToolError

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def double(n: int) -> int:
    return 2 * n


async def triple(n: int) -> int:
    return 3 * n


def test_a_registry_runs_calls_by_name():
    """A registry has functions by name, one way to execute them, and an error for an unknown tool."""
    tools = hs.Tools(double, triple)
    results = run(tools, call("double", '{"n": 4}', "a"), call("triple", '{"n": 4}', "b"), call("fly", "{}", "c"))
    assert [(result.call_id, result.name, result.text) for result in results[:2]] == [
        ("a", "double", "8"),
        ("b", "triple", "12"),
    ]
    assert (results[0].value, results[0].arguments, results[0].error) == (8, {"n": 4}, None)
    assert results[2].error == "unknown_tool"
    assert error_text(results[2]) == "there is no tool 'fly'; the tools are: double, triple"
    assert error_text(run(hs.Tools(), call("fly"))[0]) == "there is no tool 'fly'; the tools are: none"


def test_results_are_in_the_order_of_the_calls():
    async def wait_for(n: int) -> int:
        while len(ended) != 3 - n:  # the last call ends first
            await asyncio.sleep(0)
        ended.append(n)
        return n

    ended: list[int] = []
    results = run(hs.Tools(wait_for), *(call("wait_for", {"n": n}) for n in range(4)))
    assert [result.text for result in results] == ["0", "1", "2", "3"]
    assert ended == [3, 2, 1, 0]


def test_calls_of_every_form_are_run():
    tools = hs.Tools(double)
    calls = [
        hs.ToolCall(0, "double", '{"n": 1}', "c", "function", True, True),
        call("double", '{"n": 1}', "c"),
        {"type": "function_call", "call_id": "c", "id": "fc_1", "name": "double", "arguments": '{"n": 1}'},
        {"type": "tool_use", "id": "c", "name": "double", "input": {"n": 1}},
        SimpleNamespace(id="c", function=SimpleNamespace(name="double", arguments='{"n": 1}')),
    ]
    assert [(result.call_id, result.text) for result in run(tools, *calls)] == [("c", "2")] * 5


def test_what_is_no_call_is_the_callers_mistake():
    with pytest.raises(TypeError, match="a call has a name"):
        run(hs.Tools(double), 3)


def test_a_call_that_was_cut_never_runs():
    ran = []
    tools = hs.Tools(hs.Tool("f", parameters=SCHEMA, function=lambda **given: ran.append(given)))
    cut = hs.ToolCall(0, "f", '{"n": 1}', "c", "function", False, True)
    status = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"n": 1}', "status": "incomplete"}
    assert [result.error for result in run(tools, cut, status)] == ["incomplete_call"] * 2
    assert ran == []


@pytest.mark.parametrize("arguments", ['{"n": nope}', "[1]", "3", "null", '{"n": NaN}', "{" * 100_000, '"word"'])
def test_arguments_that_are_no_object_are_reported(arguments):
    (result,) = run(hs.Tools(double), call("double", arguments))
    assert result.error == "invalid_json"
    assert "the arguments" in error_text(result)


def test_arguments_that_do_not_fit_are_reported():
    (result,) = run(hs.Tools(double), call("double", '{"m": "x"}'))
    assert result.error == "invalid_arguments"
    assert error_text(result) == "n: Missing required argument; m: Unexpected keyword argument"


def test_a_call_runs_after_approval_only():
    ran = []

    def asked(pending):
        assert pending.tool is tools[pending.name]
        decision = pending.arguments["n"]
        return {1: True, 2: False, 3: "not today", 4: {"n": 40}, 5: None, 6: {"n": "x"}, 7: 1}[decision]

    tools = hs.Tools(hs.Tool("f", parameters=SCHEMA, function=lambda n: ran.append(n)), approve=asked)
    results = run(tools, *(call("f", {"n": n}) for n in range(1, 9)))
    assert sorted(ran) == [1, 40]
    assert [result.error for result in results] == [
        *(None, "refused", "refused", None, "refused", "invalid_arguments", "refused", "refused"),
    ]
    assert error_text(results[2]) == "the call was not approved: not today"
    assert results[3].arguments == {"n": 40}
    assert isinstance(results[7].exception, KeyError)


def test_a_tool_that_takes_too_long_is_cancelled():
    cancelled = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append("hang")

    tools = hs.Tools(hs.Tool("hang", function=hang, timeout=0.01))
    (result,) = run(tools, call("hang"))
    assert (result.error, result.value, cancelled) == ("timeout", None, ["hang"])
    assert error_text(result) == "the tool did not answer within 0.01 seconds"


def test_an_error_becomes_the_results_text():
    def fail(kind: str) -> None:
        raise {"tool": ToolError("no such city: Bergn"), "other": KeyError("x"), "exit": SystemExit(3)}[kind]

    results = run(hs.Tools(fail), *(call("fail", {"kind": kind}) for kind in ("tool", "other", "exit")))
    assert [result.error for result in results] == ["failed"] * 3
    assert error_text(results[0]) == "no such city: Bergn"
    assert error_text(results[1]) == "KeyError: 'x'"
    assert error_text(results[2]) == "RuntimeError: SystemExit: 3"


def test_listeners_hear_of_each_call():
    tools = hs.Tools(double)
    heard, first = [], []
    stop = tools.on("called", lambda event: heard.append((event.tool.name, event.call_id, dict(event.arguments))))
    tools.on("answered", lambda event: heard.append(event.result.text))
    tools.once("answered", lambda event: first.append(event.result.text))
    run(tools, call("double", {"n": 2}, "a"))
    stop()
    run(tools, call("double", {"n": 3}, "b"))
    assert heard == [("double", "a", {"n": 2}), "4", "6"]
    assert first == ["4"]


def test_a_plain_function_runs_in_a_thread_of_its_own():
    def where() -> str:
        return threading.current_thread().name

    async def here() -> str:
        return threading.current_thread().name

    results = run(hs.Tools(where, here), call("where"), call("here"))
    assert [result.text for result in results] == ["harmonystream-tool", "MainThread"]


def test_a_tool_may_be_called_with_plain_text():
    """gpt-oss calls its python tool with the code itself."""
    (written,) = hs.parse("<|channel|>analysis to=python code<|message|>print(1)<|call|>").tool_calls
    tools = hs.Tools(hs.Tool("python", function=lambda code: f"ran {code}", text_parameter="code"))
    results = run(tools, written, {"type": "tool_use", "id": "c", "name": "python", "input": {"code": "x"}})
    assert [result.text for result in results] == ["ran print(1)", "ran x"]
