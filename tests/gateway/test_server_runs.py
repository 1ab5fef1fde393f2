"""Runs of tools that come back in a request."""

from __future__ import annotations

import json

import pytest
from gateways import ASKED
from server_turns import LOOKED, RESULT, answer, answered, serves

from harmonystream.gateway.requests.server_runs import with_runs_apart


@pytest.mark.parametrize("api", ["responses", "messages"])
def test_a_run_that_comes_back_is_read_as_a_call_and_its_result(api):
    with serves(*LOOKED, answered("Again.")) as (clients, engine, _):
        whole = answer(clients, api, streams=False)
        again = {"role": "user", "content": "Again?"}
        if api == "responses":
            more = {"input": [{"role": "user", "content": "?"}, *whole["output"], again]}
        else:
            more = {"messages": [*ASKED[api]["messages"], {"role": "assistant", "content": whole["content"]}, again]}
        second = answer(clients, api, streams=False, **more)
    assert "Again." in json.dumps(second)
    # As in the prompt of the second round, whose thoughts are now those of an earlier turn.
    call = (
        engine.prompts[1].text.partition("<|channel|>commentary to=functions.look")[2].partition("<|start|>assistant<|")
    )
    assert call[0] and call[0].rstrip() in engine.prompts[2].text
    assert f"成都: {RESULT}" in engine.prompts[2].text


USE = {"type": "mcp_tool_use", "id": "1", "name": "f", "server_name": "s", "input": {}}
RESULT_BLOCK = {"type": "mcp_tool_result", "tool_use_id": "1", "content": []}
TEXT = {"type": "text", "text": "Hi"}


def test_a_message_is_cut_at_its_results():
    said = {"role": "assistant", "content": [TEXT, USE, USE, RESULT_BLOCK, RESULT_BLOCK, USE, RESULT_BLOCK, TEXT]}
    made = with_runs_apart([said])
    kinds = [(one["role"], [block["type"] for block in one["content"]]) for one in made]
    assert kinds == [
        ("assistant", ["text", "tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]


@pytest.mark.parametrize("message", [None, 1, {}, {"content": "Hi"}, {"content": [1, None, {"type": []}, TEXT]}])
def test_what_has_no_runs_is_left_as_it_is(message):
    assert with_runs_apart([message]) == [message]
    assert with_runs_apart([message])[0] is message
