"""The gateway in front of a real llama-server, and the official clients in front of the gateway."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
from gateway_answers import REASONS, Contents, ask
from gateways import ASKED, serving
from llama_servers import SERVER, forced, running_server
from wire_server import Clients

from harmonystream.engines import LlamaServer, Output, Sampling
from harmonystream.gateway import Model, app
from harmonystream.prompt import Prompt

pytest.importorskip("gguf")
pytestmark = pytest.mark.skipif(SERVER is None, reason="no llama-server: make engines builds one")

REASONING = '<[200005]> "analysis" <[200008]> "Let me see." <[200007]> <[200006]> "assistant" '
FINAL = REASONING + '<[200005]> "final" <[200008]> '
CALL = REASONING + '<[200005]> "commentary to=functions.add " <[200003]> "json" <[200008]> '
TEXT = "成都: 11 °C 🐼, a\u0301🏳️‍🌈.\nBring a coat."
WAYS = [(api, streams) for api in ASKED for streams in (True, False)]


class Forced:
    """llama-server under a grammar, because the weights are random. It is what a request's sampling cannot say."""

    def __init__(self, url: str) -> None:
        self.engine = LlamaServer(url)
        self.grammar = ""
        self.form_fields = self.engine.form_fields

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        extra = sampling.extra or {"grammar": self.grammar}  # the gateway itself may ask for a form
        async for item in self.engine.generate(prompt, replace(sampling, extra=extra)):
            yield item


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forced]:
    with running_server(tmp_path_factory.mktemp("model")) as url:
        yield Forced(url)


@pytest.fixture(scope="module")
def clients(engine: Forced) -> Iterator[Clients]:
    model = Model("tiny", engine, family="gpt-oss", context=1024, max_tokens=200, sampling={"temperature": 0.0})
    with serving(app([model])) as url:
        made = Clients(url)
        with made.openai, made.anthropic:
            yield made


def force(engine: Forced, start: str, text: str) -> None:
    engine.grammar = forced(start, text).extra["grammar"]


@pytest.mark.parametrize(("api", "streams"), WAYS)
def test_an_answer_arrives_whole(engine, clients, api, streams):
    force(engine, FINAL, TEXT)
    assert ask(clients, api, streams=streams) == Contents("Let me see.", TEXT, (), REASONS[api]["stop"])


@pytest.mark.parametrize(("api", "streams"), WAYS)
def test_a_call_arrives_as_one(engine, clients, api, streams):
    force(engine, CALL, '{"a": 12}')
    said = ask(clients, api, streams=streams, tools=True)
    assert said == Contents("Let me see.", "", (("add", {"a": 12}),), REASONS[api]["calls"])


@pytest.mark.parametrize(("api", "streams"), WAYS)
def test_the_limit_cuts(engine, clients, api, streams):
    force(engine, '<[200005]> "final" <[200008]> ', "word " * 100)
    said = ask(clients, api, streams=streams, limit=12)
    assert said._replace(content="") == Contents("", "", (), REASONS[api]["length"])
    assert said.content and ("word " * 100).startswith(said.content)  # the weights choose how it is cut into tokens


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("api", "option"), [("chat", "stop"), ("messages", "stop_sequences")])
def test_a_stop_string_counts_in_the_answer_alone(engine, clients, api, option, streams):
    force(engine, FINAL.replace("Let me see.", "STOP here?"), "One, two. STOP here")
    said = ask(clients, api, streams=streams, **{option: ["STOP"]})
    reason = {"chat": "stop", "messages": "stop_sequence"}[api]
    assert said == Contents("STOP here?", "One, two. ", (), reason)


@pytest.mark.parametrize("streams", [True, False])
def test_an_answer_in_the_form_that_was_asked_for(engine, clients, streams):
    """The reasoning is free, and the server makes a grammar of the schema for the answer alone."""
    force(engine, FINAL, "what the schema replaces")
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {**schema, "additionalProperties": False}}}
    said = ask(clients, "chat", streams=streams, response_format=form)
    assert said.reasoning == "Let me see."
    assert json.loads(said.content) in ({"ok": True}, {"ok": False})
