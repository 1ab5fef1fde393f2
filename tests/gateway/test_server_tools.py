"""Tools that run in the gateway, as the official clients see them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import openai
import pytest
from gateway_answers import ask, whole_answer
from gateways import ASKED, TOOLS, ids_of, serving
from mcp_server import http_server
from scripted import STOP, Scripted, call
from server_turns import LOOKED, RESULT, answer, answered, called, look, serves, turn, whole_message
from wire_server import Clients

import harmonystream as hs
from harmonystream.gateway import Model, app
from harmonystream.gateway.limits import Limits

WAYS = [(api, streams) for api in ASKED for streams in (True, False)]
# --- what each API shows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [True, False])
def test_chat_shows_the_reasoning_and_the_answer_alone(streams):
    with serves(*LOOKED) as (clients, engine, _):
        said = ask(clients, "chat", streams=streams)
    assert (said.reasoning, said.content) == ("Look.\n\nNow I know.", "It is 11 °C.")
    assert (said.calls, said.reason) == ((), "stop")
    assert f"成都: {RESULT}" in engine.prompts[1].text


@pytest.mark.parametrize("streams", [True, False])
def test_responses_show_a_run_as_an_item_with_its_output(streams):
    with serves(*LOOKED) as (clients, _, _):
        whole = whole_answer(clients, "responses", streams=streams)
    assert [item.type for item in whole.output] == ["reasoning", "mcp_call", "reasoning", "message"]
    run = whole.output[1]
    assert (run.server_label, run.name, json.loads(run.arguments)) == ("gateway", "look", {"city": "成都"})
    assert (run.output, run.error, run.status) == (f"成都: {RESULT}", None, "completed")
    assert len({item.id for item in whole.output}) == 4
    assert whole.output_text == "It is 11 °C."
    assert (whole.usage.input_tokens, whole.usage.output_tokens) == (20, 10)
    assert whole.usage.output_tokens_details.reasoning_tokens == 6


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("beta", [True, False])
def test_messages_show_a_run_as_two_blocks(streams, beta):
    with serves(*LOOKED) as (clients, _, _):
        whole = whole_message(clients, streams=streams, beta=beta)
    kinds = [block.type for block in whole.content]
    assert kinds == ["thinking", "mcp_tool_use", "mcp_tool_result", "thinking", "text"]
    use, result = whole.content[1:3]
    assert (use.name, use.server_name, use.input) == ("look", "gateway", {"city": "成都"})
    assert result.tool_use_id == use.id
    said = result.content[0]
    assert (said.text if beta else said["text"], result.is_error) == (f"成都: {RESULT}", False)
    assert (whole.content[4].text, whole.stop_reason) == ("It is 11 °C.", "end_turn")


@pytest.mark.parametrize(("api", "streams"), WAYS)
def test_a_stream_ends_as_the_whole_answer_is(api, streams):
    with serves(*LOOKED, *LOOKED) as (clients, _, _):
        first, second = (ask_dict(clients, api, streams=one) for one in (True, False))
    assert first == second


def ask_dict(clients: Clients, api: str, *, streams: bool) -> Any:
    """The answer without what differs from one to the next."""
    made = answer(clients, api, streams=streams)
    kept = {"chat": ("choices", "usage"), "responses": ("output", "usage", "status"), "messages": ("content", "usage")}
    return without_ids({name: made.get(name) for name in kept[api] if name != "usage" or api != "chat"})


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        unlike = ("id", "tool_use_id", "signature", "parsed", "parsed_output", "parsed_arguments")
        return {name: without_ids(one) for name, one in value.items() if name not in unlike and one is not None}
    return [without_ids(one) for one in value] if isinstance(value, list) else value


# --- the request's own tools ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("api", "streams"), WAYS)
def test_calls_of_the_requests_own_tools_are_the_clients(api, streams):
    turns = called("look", '{"city": "A"}'), called("add", '{"a": 12}')
    with serves(*turns) as (clients, engine, _):
        whole = answer(clients, api, streams=streams, tools=TOOLS[api])
    assert "look" in engine.prompts[0].text and "add" in engine.prompts[0].text
    assert calls_in(whole, api) == [("add", {"a": 12})]
    assert len(engine.prompts) == 2


def calls_in(made: Any, api: str) -> list[tuple[str, Any]]:
    if api == "chat":
        (choice,) = made["choices"]
        assert choice["finish_reason"] == "tool_calls"
        given = [call["function"] for call in choice["message"]["tool_calls"]]
        return [(call["name"], json.loads(call["arguments"])) for call in given]
    if api == "responses":
        items = [one for one in made["output"] if one["type"] == "function_call"]
        return [(one["name"], json.loads(one["arguments"])) for one in items]
    assert made["stop_reason"] == "tool_use"
    return [(one["name"], one["input"]) for one in made["content"] if one["type"] == "tool_use"]


def test_a_requests_tool_takes_the_place_of_one_of_the_same_name():
    theirs = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    with serves(called("look", '{"city": "A"}')) as (clients, _, _):
        whole = whole_answer(clients, "chat", streams=False, tools=[theirs])
    assert calls_in(whole.to_dict(), "chat") == [("look", {"city": "A"})]


@pytest.mark.parametrize("choice", ["none", {"type": "function", "function": {"name": "add"}}])
def test_a_choice_that_says_what_may_be_called_leaves_no_tools_here(choice):
    with serves(answered("Hi")) as (clients, engine, _):
        whole_answer(clients, "chat", streams=False, tools=TOOLS["chat"], tool_choice=choice)
    assert "look" not in engine.prompts[0].text


BEGUN = ["<|channel|>analysis<|message|>", "<|channel|>commentary to=functions", ""]
"""What the gateway writes of the first call, where the model has two tools."""


def test_a_call_that_must_come_must_come_once():
    """The gateway writes the beginning of the call, which is a generation of its own."""
    call = '.look <|constrain|>json<|message|>{"city": "A"}<|call|>'
    with serves(turn("Look.<|end|>"), turn(call), answered("It is 11 °C.")) as (clients, engine, _):
        said = ask(clients, "chat", streams=False, tools=True, tool_choice="required")
    assert (said.reasoning, said.content) == ("Look.\n\nNow I know.", "It is 11 °C.")
    assert [one.text.rpartition("assistant")[2] for one in engine.prompts] == BEGUN


def other() -> str:
    """Another tool."""
    return "other"


REQUIRED: dict[str, Any] = {"chat": "required", "responses": "required", "messages": {"type": "any"}}
NAMED = [
    ("chat", {"type": "function", "function": {"name": "look"}}),
    ("chat", {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]}),
    ("responses", {"type": "function", "name": "look"}),
    ("responses", {"type": "mcp", "server_label": "gateway", "name": "look"}),
    ("messages", {"type": "tool", "name": "look"}),
]


@pytest.mark.parametrize("api", ASKED)
def test_a_call_may_be_required_where_all_tools_are_the_servers(api):
    call = '.look <|constrain|>json<|message|>{"city": "A"}<|call|>'
    turns = turn("Look.<|end|>"), turn(call), answered("It is 11 °C.")
    with serves(*turns, tools=hs.Tools(look, other)) as (clients, engine, _):
        whole = answer(clients, api, streams=True, tool_choice=REQUIRED[api])
    assert "It is 11 °C." in json.dumps(whole, ensure_ascii=False)
    assert [one.text.rpartition("assistant")[2] for one in engine.prompts] == BEGUN


@pytest.mark.parametrize(("api", "choice"), NAMED)
def test_a_tool_of_the_server_may_be_named(api, choice):
    """It is then the only one, whose whole header the gateway writes."""
    turns = turn("Look.<|end|>"), turn('{"city": "A"}<|call|>'), answered("It is 11 °C.")
    with serves(*turns, tools=hs.Tools(look, other)) as (clients, engine, _):
        whole = answer(clients, api, streams=False, tools=TOOLS[api], tool_choice=choice)
    assert "It is 11 °C." in json.dumps(whole, ensure_ascii=False)
    assert engine.prompts[1].text.endswith("commentary to=functions.look <|constrain|>json<|message|>")
    for one in engine.prompts:
        assert "type look" in one.text and "type other" not in one.text and "type add" not in one.text


def test_a_servers_choice_without_a_name_permits_all_of_its_tools():
    choice = {"type": "mcp", "server_label": "gateway"}
    with serves(turn("Look.<|end|>"), answered("No.")) as (clients, engine, _):
        whole_answer(clients, "responses", streams=False, tools=TOOLS["responses"], tool_choice=choice)
    assert "type look" in engine.prompts[0].text and "type add" not in engine.prompts[0].text


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "look"}}])
def test_a_call_of_no_tool_is_refused(choice):
    """All tools of the server belong to other requests."""
    hidden = hs.Tools()
    hidden.add(look, when=lambda _: False)
    with serves(*LOOKED, tools=hidden) as (clients, _, _), pytest.raises(openai.BadRequestError) as raised:
        whole_answer(clients, "chat", streams=False, tool_choice=choice)
    assert raised.value.param == "tool_choice"


def test_counted_tokens_are_those_of_the_prompt_with_the_servers_tools():
    with serves(*LOOKED) as (clients, engine, _):
        messages = ASKED["messages"]["messages"]
        counted = clients.anthropic.messages.count_tokens(model="tiny", messages=messages)
        whole_message(clients, streams=False)
    assert counted.input_tokens == len(engine.prompts[0].ids)


# --- limits and failures --------------------------------------------------------------------------------------------


def test_rounds_are_bounded_and_the_last_one_has_no_tools():
    turns = [called("look", json.dumps({"city": str(at)})) for at in range(2)]
    with serves(*turns, answered("Enough."), limits=Limits(tool_rounds=2)) as (clients, engine, _):
        said = ask(clients, "chat", streams=True)
    assert (said.content, len(engine.prompts)) == ("Enough.", 3)
    assert "functions" not in engine.prompts[2].text.partition("<|start|>user")[0]


def test_a_call_in_the_last_round_is_neither_run_nor_shown():
    """The model was to answer. It is not text either, and the client has nothing to run."""
    with serves(called("look", '{"city": "A"}'), limits=Limits(tool_rounds=1)) as (clients, _, _):
        for streams in (True, False):
            said = ask(clients, "chat", streams=streams)
            assert (said.content or "", said.calls, said.reason) == ("", (), "stop")


def test_the_tokens_of_all_rounds_are_bounded():
    with serves(called("look", '{"city": "A"}')) as (clients, engine, _):
        ask(clients, "chat", streams=False, limit=64)
    assert [one.max_tokens for one in engine.samplings][:2] == [64, 59]  # each generation says that it had five


def test_an_engine_that_ignores_the_limit_is_held_to_it():
    with serves(called("look", '{"city": "A"}')) as (clients, engine, _):
        said = ask(clients, "chat", streams=False, limit=8)
    assert (said.reason, len(engine.samplings)) == ("length", 1)


@pytest.mark.parametrize("streams", [True, False])
def test_a_result_never_has_a_control_token(streams):
    """It is text, whatever it looks like."""
    with serves(*LOOKED) as (clients, engine, _):
        whole_message(clients, streams=streams)
    ids = engine.prompts[1].ids
    calls = [at for at, one in enumerate(ids) if one == ids_of("<|call|>")[0]]
    assert len(calls) == 1  # that of the model


@pytest.mark.parametrize("api", ASKED)
def test_a_tool_that_fails_is_an_error_for_the_model_and_in_the_run(api):
    def broken() -> str:
        """Fails."""
        raise RuntimeError("the secret is 42")

    turns = called("broken", "{}"), answered("It failed.")
    with serves(*turns, tools=hs.Tools(broken)) as (clients, _, own):
        whole = answer(clients, api, streams=True)
        metrics = own.metrics.text().decode()
    assert "It failed." in json.dumps(whole)
    assert 'tool_runs_total{model="tiny",outcome="failed"} 1.0' in metrics
    if api == "responses":
        assert (whole["output"][1]["status"], whole["output"][1]["error"]["type"]) == (
            "failed",
            "mcp_tool_execution_error",
        )
    if api == "messages":
        assert whole["content"][2]["is_error"] is True


def test_arguments_that_do_not_fit_do_not_reach_the_tool():
    ran = []

    def strict(count: int) -> str:
        """Counts."""
        ran.append(count)
        return "ran"

    turns = called("strict", '{"count": "many"}'), called("unheard", "{}"), answered("Sorry.")
    with serves(*turns, tools=hs.Tools(strict)) as (clients, _, own):
        whole = whole_answer(clients, "responses", streams=True)
        metrics = own.metrics.text().decode()
    assert ran == []
    assert 'outcome="invalid_arguments"} 1.0' in metrics and 'outcome="unknown_tool"} 1.0' in metrics
    assert [item.status for item in whole.output if item.type == "mcp_call"] == ["failed", "failed"]


def test_a_result_that_is_too_long_is_cut():
    def long() -> str:
        """Says much."""
        return "x" * 10_000_000

    with serves(called("long", "{}"), answered("Long."), tools=hs.Tools(long, max_result=1000)) as (clients, engine, _):
        whole = whole_answer(clients, "responses", streams=True)
    assert len(whole.output[1].output) < 1200 and len(engine.prompts[1].text) < 5000


@pytest.mark.parametrize("api", ASKED)
def test_a_client_that_leaves_stops_its_tool(api):
    began, ended = threading.Event(), threading.Event()

    async def hang() -> None:
        """Never answers."""
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with serves(called("hang", "{}"), tools=hs.Tools(hang)) as (clients, _, own):
        stream = clients.create[api](model="tiny", stream=True, **ASKED[api])
        next(iter(stream))
        assert began.wait(20)
        stream.close()
        assert ended.wait(20)
        waited(lambda: own.admission.open == 0)


def waited(holds: Callable[[], bool]) -> None:
    for _ in range(2000):
        if holds():
            return
        threading.Event().wait(0.005)
    raise AssertionError


@pytest.mark.parametrize(("api", "streams"), WAYS)
def test_an_engine_that_fails_in_a_later_round_ends_the_answer_with_an_error(api, streams):
    failing = [hs.engines.EngineError("gone", "engine", status=400)]
    with serves(called("look", '{"city": "A"}'), failing) as (clients, _, own):
        with pytest.raises(Exception) as raised:  # each client has its own
            whole = whole_answer(clients, api, streams=streams)
            raise RuntimeError(whole.status)  # a failed response is no exception of the client's
        assert "gone" not in str(raised.value)
        assert "failed" in str(raised.value) or "engine" in str(raised.value)
        waited(lambda: own.admission.open == 0)


def test_several_choices_run_their_own_tools():
    with serves(LOOKED[0], LOOKED[0], answered("One."), answered("Two.")) as (clients, _, _):
        whole = whole_answer(clients, "chat", streams=True, n=2)
    assert sorted(choice.message.content for choice in whole.choices) == ["One.", "Two."]
    assert [choice.finish_reason for choice in whole.choices] == ["stop", "stop"]


@pytest.mark.parametrize("streams", [True, False])
def test_a_stop_string_ends_a_later_round(streams):
    with serves(LOOKED[0], answered("One, two. STOP here", "STOP?")) as (clients, _, _):
        whole = whole_answer(clients, "messages", streams=streams, stop_sequences=["STOP"])
    assert (whole.content[-1].text, whole.stop_reason, whole.stop_sequence) == ("One, two. ", "stop_sequence", "STOP")


def test_log_probabilities_are_refused():
    with serves(*LOOKED) as (clients, _, _), pytest.raises(openai.BadRequestError, match="tools run here"):
        whole_answer(clients, "chat", streams=False, logprobs=True)


def test_what_was_used_is_counted_over_all_rounds():
    with serves(*LOOKED) as (clients, engine, own):
        ask(clients, "chat", streams=True)
        waited(lambda: own.admission.open == 0)
        metrics = own.metrics.text().decode()
    prompts = sum(len(one.ids) for one in engine.prompts)
    assert f'tokens_total{{api="chat",kind="prompt",model="tiny"}} {float(prompts)}' in metrics
    assert 'tool_runs_total{model="tiny",outcome="ok"} 1.0' in metrics
    assert 'tool_calls_total{model="tiny",outcome="complete"} 1.0' in metrics


def test_an_answer_that_the_client_begins_goes_on_after_a_tool():
    begun = [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": "It "}]
    turns = called("look", '{"city": "成都"}'), answered("is 11 °C.")
    with serves(*turns) as (clients, engine, _):
        whole = clients.anthropic.messages.create(model="tiny", max_tokens=100, messages=begun)
    assert whole.content[-1].text == "is 11 °C."
    assert engine.prompts[0].text.endswith("<|channel|>final<|message|>It ")
    assert f"成都: {RESULT}" in engine.prompts[1].text and engine.prompts[1].text.endswith("<|start|>assistant")


def test_a_model_whose_engine_sends_text():
    """Nothing here depends on ids, or on the format."""
    turns = [*(c for c in call("look", '{"city": "A"}')), STOP], [*"It is 11 °C.", STOP]
    engine, tools = Scripted(*turns), hs.Tools(look)
    template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{{ tools }}"
    model = Model("tiny", engine, format="hermes", template=hs.prompts.Template(template), server_tools=tools)
    with serving(app([model])) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            whole = whole_answer(clients, "responses", streams=True)
    assert [item.type for item in whole.output] == ["mcp_call", "message"]
    assert (whole.output[0].output, whole.output_text) == (f"A: {RESULT}", "It is 11 °C.")


UNREAD = '<tool_call>\n{"name": "%s", "arguments": {"city": "A"}, "arguments": {}}\n</tool_call>\n'


@pytest.mark.parametrize(("api", "streams"), WAYS)
@pytest.mark.parametrize("here", [True, False])
def test_a_call_that_could_not_be_read_gets_an_answer_and_does_not_run(api, streams, here):
    """One that runs here is answered here, and one of the client's tools by the client."""
    name = "look" if here else "add"
    ran: list[str] = []

    def look(city: str) -> None:
        """The weather. city: where."""
        ran.append(city)

    engine = Scripted([*(UNREAD % name), STOP], [*"It is 11 °C.", STOP])
    template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{{ tools }}"
    written = hs.prompts.Template(template)
    model = Model("tiny", engine, format="hermes", template=written, server_tools=hs.Tools(look))
    with serving(app([model])) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            made = answer(clients, api, streams=streams, tools=TOOLS[api])
    assert ran == []
    assert len(engine.prompts) == (2 if here else 1)
    if here:
        assert "the call could not be read" in engine.prompts[1].text
        return
    if api == "chat":
        (choice,) = made["choices"]
        arguments = choice["message"]["tool_calls"][0]["function"]["arguments"]
        assert (choice["finish_reason"], arguments) == ("tool_calls", '{"city": "A"}{INVALID_JSON}')
    elif api == "responses":
        (item,) = made["output"]
        assert (made["status"], item["status"], item["arguments"]) == (
            *("completed", "completed"),
            '{"city": "A"}{INVALID_JSON}',
        )
    else:
        assert made["stop_reason"] == "tool_use"
        assert made["content"][0]["input"] == {"city": "A", "INVALID_JSON": '{"city": "A"}{INVALID_JSON}'}


def test_tools_of_an_mcp_server():
    """A real one, over HTTP."""
    turns = called("forecast", '{"city": "成都", "days": 2}'), called("fail", '{"reason": "no"}'), answered("晴.")
    with http_server() as (mcp, *_), serves(*turns, tools=hs.Tools(mcp=[mcp])) as (clients, engine, _):
        whole = whole_answer(clients, "responses", streams=True)
    runs = [item for item in whole.output if item.type == "mcp_call"]
    assert json.loads(runs[0].output) == {"city": "成都", "days": 2, "note": "晴"}
    assert [run.status for run in runs] == ["completed", "failed"]
    assert "forecast" in engine.prompts[0].text and whole.output_text == "晴."
