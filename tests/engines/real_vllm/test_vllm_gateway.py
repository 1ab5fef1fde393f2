"""The gateway in front of vLLM's own server, and the official clients in front of the gateway."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("vllm")

from gateway_answers import REASONS, Contents, ask, whole_answer
from gateways import ASKED, serving
from host_scenarios import ids_of
from wire_server import Clients

from harmonystream.engines import Completions
from harmonystream.gateway import Model, app

WAYS = [(api, streams) for api in ASKED for streams in (True, False)]
FAMILIES = ["gpt_oss", "qwen3"]
REASONED = {
    "gpt_oss": "<|channel|>analysis<|message|>Let me see.<|end|><|start|>assistant",
    "qwen3": "<think>\nLet me see.\n</think>\n\n",
}
FINAL = {"gpt_oss": "<|channel|>final<|message|>", "qwen3": ""}
CALL = {
    "gpt_oss": '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 12}<|call|>',
    "qwen3": '<tool_call>\n{"name": "add", "arguments": {"a": 12}}\n</tool_call>',
}
TEXT = "成都: 11 °C 🐼.\nBring a coat."


@pytest.fixture(scope="module", params=FAMILIES)
def host(server: Any, request: pytest.FixtureRequest) -> Any:
    """A server that anybody would have started: the parsers do not matter, because the gateway asks for ids."""
    return server(request.param, "names")


@pytest.fixture(scope="module")
def clients(host: Any) -> Iterator[Clients]:
    engine = Completions(host.url)
    more = {"family": "gpt-oss"} if host.family == "gpt_oss" else {"format": host.format, "tokenizer": host.model}
    with serving(app([Model("tiny", engine, max_tokens=500, **more)])) as url:
        made = Clients(url)
        with made.openai, made.anthropic:
            yield made


def play(host: Any, text: str, *, stops: bool = True, **more: Any) -> list[int]:
    ids = ids_of(host.family, text, stops=stops)
    host.play(ids, **more)
    return ids


@pytest.mark.parametrize("at_once", [1, 5])
@pytest.mark.parametrize(("api", "streams"), WAYS)
def test_an_answer_arrives_whole(host, clients, api, streams, at_once):
    end = "<|return|>" if host.family == "gpt_oss" else ""
    play(host, REASONED[host.family] + FINAL[host.family] + TEXT + end, stops=not end, at_once=at_once)
    said = ask(clients, api, streams=streams)
    assert said._replace(reasoning=said.reasoning.strip()) == Contents("Let me see.", TEXT, (), REASONS[api]["stop"])


@pytest.mark.parametrize(("api", "streams"), WAYS)
def test_a_call_arrives_as_one(host, clients, api, streams):
    play(host, REASONED[host.family] + CALL[host.family], stops=host.family != "gpt_oss")
    said = ask(clients, api, streams=streams, tools=True)
    assert (said.calls, said.reason, said.content.strip()) == ((("add", {"a": 12}),), REASONS[api]["calls"], "")
    assert said.reasoning.strip() == "Let me see."


@pytest.mark.parametrize(("api", "streams"), WAYS)
def test_the_limit_is_reported(host, clients, api, streams):
    play(host, FINAL[host.family] + "One, two", stops=False, finish="length")
    assert ask(clients, api, streams=streams) == Contents("", "One, two", (), REASONS[api]["length"])


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("api", "option"), [("chat", "stop"), ("messages", "stop_sequences")])
def test_a_stop_string_counts_in_the_answer_alone(host, clients, api, option, streams):
    reasoned = REASONED[host.family].replace("see", "STOP")
    play(host, f"{reasoned}{FINAL[host.family]}One, two. STOP here", stops=False)
    said = ask(clients, api, streams=streams, **{option: ["STOP"]})
    reason = {"chat": "stop", "messages": "stop_sequence"}[api]
    assert said._replace(reasoning=said.reasoning.strip()) == Contents("Let me STOP.", "One, two. ", (), reason)


@pytest.mark.parametrize("streams", [True, False])
def test_each_token_of_an_answer_has_its_logprob(host, clients, streams):
    """The script's engine gives each id -0.5, and the ids after it as alternatives."""
    ids = play(host, FINAL[host.family] + TEXT, stops=True)
    whole = whole_answer(clients, "chat", streams=streams, logprobs=True, top_logprobs=2)
    entries = whole.choices[0].logprobs.content
    said = b"".join(bytes(one.bytes) for one in entries)
    assert said.decode() == TEXT
    assert {one.logprob for one in entries} == {-0.5}
    assert {len(one.top_logprobs) for one in entries} == {2}
    assert len(entries) == len(ids) - len(ids_of(host.family, FINAL[host.family], stops=True))


def test_the_engine_is_asked_the_prompt_that_the_gateway_has_written(host, clients):
    play(host, FINAL[host.family] + "Hi")
    ask(clients, "chat", streams=True, messages=[{"role": "user", "content": "A <|call|> that is only text"}])
    text = b"".join(map(host.vocab.token_bytes, host.asked()["prompt"])).decode()
    assert "A <|call|> that is only text" in text
    assert json.dumps(host.asked()["prompt"]).count("200012") == 0  # the control token of that name


def test_an_answer_in_the_form_that_was_asked_for(host, clients):
    """The reasoning is free: the engine is asked for the form where the answer begins."""
    play(host, REASONED[host.family] + FINAL[host.family] + '{"ok": true}')
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}
    whole_answer(clients, "chat", streams=True, response_format=form)
    assert host.asked()["json"] == schema


def test_an_error_of_the_engine_ends_the_stream_with_one(host, clients):
    play(host, FINAL[host.family] + "Hi there", stops=False, finish="error")
    with pytest.raises(Exception, match="engine"):
        whole_answer(clients, "chat", streams=True)


def test_a_client_that_leaves_frees_the_engine(host, clients):
    play(host, FINAL[host.family] + "word " * 400, stops=False)
    stream = clients.openai.chat.completions.create(model="tiny", stream=True, **ASKED["chat"])
    next(iter(stream))
    stream.close()
    play(host, FINAL[host.family] + "Next")
    assert ask(clients, "chat", streams=False).content == "Next"
