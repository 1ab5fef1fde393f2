"""Random requests: of the official clients' types, spoilt, and no requests at all. No 500, and errors in form.

HYPOTHESIS_PROFILE=deep tries many more, which `make fuzz` does.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

import anthropic
import openai
import pytest
import wire_chat
import wire_messages
import wire_responses
from gateways import ADD, ANSWER, ASKED, CALL, GPT_OSS, ids_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import STOP, Scripted, call
from typed_values import JUNK, TEXTS, requests
from wire_server import PATHS

import harmonystream as hs
from harmonystream.engines import LlamaServer
from harmonystream.gateway import Model, app
from harmonystream.gateway.limits import Limits
from harmonystream.gateway.requests.options import TABLES

FEW = settings.default.max_examples // 5
KINDS = {
    "chat": openai.types.chat.completion_create_params.CompletionCreateParamsBase,
    "responses": openai.types.responses.response_create_params.ResponseCreateParamsBase,
    "messages": anthropic.types.message_create_params.MessageCreateParamsBase,
}
WIRES: dict[str, Any] = {"chat": wire_chat, "responses": wire_responses, "messages": wire_messages}
USUAL = {api: {name for name, one in table.items() if one.does != "refused"} for api, table in TABLES.items()}


SAID = ["Hi there!", STOP], [call("add", '{"a": 1}'), STOP], ["<tool_call>{<think>", STOP]
"""What the engine of this model says."""
WITH_TOOLS = "with tools"
"""The model whose tools run in the gateway."""
TEMPLATED = "templated"
"""A model with a chat template, and no vocabulary."""
CONSTRAINED = "constrained"
"""A model whose engine takes grammars, and does not keep them: it thinks again and again."""
TEMPLATE = (Path(__file__).parents[1] / "templates_chat" / "hermes.jinja").read_text("utf-8")
MODELS = st.sampled_from([GPT_OSS, WITH_TOOLS])


def add(a: int) -> int:
    """The tool that the engine calls."""
    return a + 1


def fail(what: str) -> None:
    """Never works."""
    raise RuntimeError(what)


class Constrained(Scripted):
    """An engine that takes grammars and forms."""

    grammar_fields, form_fields = LlamaServer.grammar_fields, LlamaServer.form_fields


class Answer(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Gateway:
    """The application without a socket, before an engine that answers, calls, and says nonsense."""

    def __init__(self) -> None:
        nonsense = list(range(0, 199_998, 9_999))
        self._scripts = [[ids_of(ANSWER), STOP], [ids_of(CALL), STOP], [nonsense, STOP]]
        self.engine = Scripted()
        models = [
            Model(GPT_OSS, self.engine, context=4096),
            Model(TEMPLATED, Scripted(*SAID), format="hermes", template=TEMPLATE, context=4096),
            Model(
                CONSTRAINED,
                Constrained(["<think>Wait, wait, wait, and wait. ", STOP]),
                format="hermes",
                template=TEMPLATE,
            ),
            Model(WITH_TOOLS, self.engine, family="gpt-oss", context=4096, server_tools=hs.Tools(add, fail)),
        ]
        self.app = app(models, limits=Limits(stored=50, tool_rounds=2))
        self.gateway = self.app.state.gateway
        self._loop = asyncio.new_event_loop()
        asked = json.dumps({"model": GPT_OSS, **ASKED["responses"]}).encode()
        self.plain = json.loads(self.call("POST", PATHS["responses"], asked).body)

    def call(self, method: str, path: str, body: bytes = b"", headers: Any = ()) -> Answer:
        first = len(body) % 3
        self.engine.scripts = [*self._scripts[first:], *self._scripts[:first]]
        self.engine.prompts.clear()
        self.engine.samplings.clear()
        return self._loop.run_until_complete(asyncio.wait_for(self._call(method, path, body, headers), 30))

    async def _call(self, method: str, path: str, body: bytes, headers: Any) -> Answer:
        sent = [{"type": "http.request", "body": body, "more_body": False}]
        made: list[Any] = []

        async def receive() -> Any:
            if sent:
                return sent.pop()
            await asyncio.Event().wait()

        async def send(message: Any) -> None:
            made.append(message)

        raw = path.encode("utf-8", "replace")
        scope = {"type": "http", "method": method, "path": path, "raw_path": raw, "query_string": b""}
        kind = [] if any(name == b"content-type" for name, _ in headers) else [(b"content-type", b"application/json")]
        scope |= {"headers": [*headers, *kind], "client": ("127.0.0.1", 1), "server": ("x", 80), "scheme": "http"}
        scope |= {"http_version": "1.1", "root_path": "", "asgi": {"version": "3.0"}}
        await self.app(scope, receive, send)
        assert made[-1]["type"] == "http.response.body"
        assert not made[-1].get("more_body")
        return Answer(made[0]["status"], dict(made[0]["headers"]), b"".join(one["body"] for one in made[1:]))

    def settle(self) -> None:
        """Wait for the answers in the background, which have their place among the open requests, too."""
        self._loop.run_until_complete(self.gateway.background.finish(10))

    def close(self) -> None:
        self._loop.close()


@pytest.fixture(scope="module")
def made():
    gateway = Gateway()
    yield gateway
    gateway.close()


def check_error(api, answer):
    """In the form of the API, and so as the official client reads it."""
    body = json.loads(answer.body)
    assert body == json.loads(json.dumps(body, allow_nan=False))
    error = body["error"]
    assert isinstance(error["message"], str)
    assert error["message"]
    if api == "messages":
        anthropic.types.ErrorResponse.model_validate(body, strict=True)
        assert set(error) <= {"type", "message", "details"}
    else:
        assert set(error) == {"message", "type", "param", "code"}
        assert all(isinstance(error[name], (str, type(None))) for name in error)


def check(made, api, asked):
    data = json.dumps(asked).encode()
    answer = made.call("POST", PATHS[api], data)
    assert answer.status in (200, 400, 404)
    if answer.status != 200:
        check_error(api, answer)
    elif answer.headers[b"content-type"].startswith(b"text/event-stream"):
        text = answer.body.decode()
        assert "internal_error" not in text
        last = text.strip().split("\n\n")[-1]
        ends = {"chat": "data: [DONE]", "responses": "event: response.", "messages": "event: message_stop"}
        assert last.startswith(ends[api]), last
    else:
        whole = json.loads(answer.body)
        if api == "responses":  # which says again what was asked
            said = {name: value for name, value in whole.items() if name not in asked}
            whole = {**made.plain, **said}
        kind = WIRES[api].WHOLE
        if api == "messages" and any(block["type"].startswith("mcp_tool") for block in whole["content"]):
            kind = anthropic.types.beta.BetaMessage  # what ran in the server is in the beta's types alone
        kind.model_validate(whole, strict=True)
    made.settle()
    assert made.gateway.admission.open == 0
    return answer


@pytest.mark.parametrize("api", PATHS)
def test_requests_of_the_official_types(made, api):
    statuses = []

    @settings(max_examples=FEW)
    @given(requests(KINDS[api], USUAL[api]), MODELS, st.booleans(), st.sampled_from([{}, ASKED[api], ASKED[api]]))
    def run(body, model, stream, simple):
        asked = {**body, "model": model, "stream": stream, **simple}
        statuses.append(check(made, api, asked).status)

    run()
    assert {200, 400} <= set(statuses)


TOOL = {"type": "function", "name": "add", "function": {"name": "add", "parameters": ADD}, "parameters": ADD}


@pytest.mark.parametrize("api", PATHS)
def test_requests_with_junk_in_them(made, api):
    names = sorted(TABLES[api])

    @settings(max_examples=FEW)
    @given(st.dictionaries(st.sampled_from(names) | TEXTS, JUNK, max_size=3), MODELS, st.sampled_from([[], [TOOL]]))
    def run(junk, model, tools):
        body = {"model": model, **ASKED[api], **({"tools": tools} if tools else {}), **junk}
        check(made, api, body)

    run()
    check(made, api, {"model": WITH_TOOLS, **ASKED[api], "stream": True})
    runs = [line for line in made.gateway.metrics.text().decode().splitlines() if "tool_runs_total{" in line]
    assert any('outcome="ok"' in line for line in runs)


ITEM = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["system", "user", "assistant", "tool", "developer", "function"]) | JUNK,
        "type": st.sampled_from(["message", "reasoning", "function_call", "function_call_output", "mcp_call"]) | JUNK,
        "content": JUNK | st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "tool_use"])}), max_size=2),
        **dict.fromkeys(
            ("summary", "tool_calls", "id", "call_id", "name", "arguments", "output", "tool_call_id"), JUNK
        ),
        **dict.fromkeys(("encrypted_content", "reasoning", "function_call", "refusal", "status"), JUNK),
    },
)


@pytest.mark.parametrize("api", PATHS)
def test_conversations_with_junk_in_them(made, api):
    @settings(max_examples=FEW)
    @given(st.lists(ITEM, max_size=4), MODELS)
    def run(items, model):
        body = {"model": model, **ASKED[api], "input" if api == "responses" else "messages": items}
        check(made, api, body)

    run()


PLACES = (
    "/v1/models",
    "/v1/models/",
    "/v1/responses/",
    "/v1/messages/count_tokens",
    "/health",
    "/metrics",
    "/",
    "/v1/",
)
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "NO")
HEADERS = (
    "authorization",
    "x-api-key",
    "x-request-id",
    "traceparent",
    "content-type",
    "content-length",
    "accept",
    "host",
)


@settings(max_examples=FEW)
@given(
    st.sampled_from((*PLACES, *PATHS.values())),
    TEXTS,
    st.sampled_from(METHODS),
    st.binary(max_size=20) | JUNK.map(lambda value: json.dumps(value).encode()),
    st.lists(st.tuples(st.sampled_from(HEADERS), st.binary(max_size=30)), max_size=3),
)
def test_paths_methods_and_headers(made, start, more, method, body, headers):
    answer = made.call(method, start + more, body, [(name.encode(), value) for name, value in headers])
    assert answer.status in (200, 307, 400, 403, 404, 405, 413, 415)
    if answer.status in (400, 403, 404, 405, 413, 415) and method != "HEAD":
        check_error("messages" if start.startswith("/v1/messages") else "chat", answer)
    assert answer.status != 405 or answer.headers[b"allow"]
