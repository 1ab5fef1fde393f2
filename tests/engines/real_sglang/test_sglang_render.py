"""SGLang's own routes by which it writes prompts and generates ids, and the gateway in front of them.

What is a script here is the tokenizer manager, so nothing reads the pictures.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("sglang")

import httpx2
from fastapi import FastAPI
from gateways import serving
from scripted_sglang import http_server
from sglang.srt.entrypoints.openai.serving_completions import OpenAIServingCompletion
from sglang.srt.entrypoints.openai.serving_tokenize import OpenAIServingTokenize

import harmonystream as hs
from harmonystream.engines import Completions
from harmonystream.gateway import Model, app

TOOL = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 12}}\n</tool_call><|im_end|>'
ANSWER = "<think>\nLet me see.\n</think>\n\n成都: 11 °C 🐼.<|im_end|>"
TEXT = {"type": "text", "text": "What is the weather?"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
WITHOUT, WITH = [{"role": "user", "content": TEXT["text"]}], [{"role": "user", "content": [TEXT, PICTURE]}]


@pytest.fixture(params=["ours", "pieces"])
def host(server: Any, request: pytest.FixtureRequest) -> Any:
    """Each chunk repeats all ids, or has the new ones alone."""
    return server("qwen3", request.param)


@pytest.fixture
def http(host: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[httpx2.Client]:
    monkeypatch.setattr(host.manager.model_config, "is_multimodal", True)
    templates = host.app.state.openai_serving_chat.template_manager
    http_server.set_global_state(http_server._GlobalState(host.manager, templates, {}))
    host.app.state.openai_serving_tokenize = OpenAIServingTokenize(host.manager, templates)
    host.app.state.openai_serving_completion = OpenAIServingCompletion(host.manager, templates)
    routes = FastAPI()  # without SGLang's own lifespan, which starts an engine
    routes.router.routes, routes.state = host.app.router.routes, host.app.state
    with serving(routes) as url:
        engine = Completions(url, "tiny", server="sglang", render=url)
        model = Model("tiny", engine, format=host.format, tokenizer=host.manager.model_path, context=4096)
        with serving(app([model])) as at, httpx2.Client(base_url=at, timeout=60) as made:
            yield made


def ask(http: httpx2.Client, messages: Any = WITHOUT, **more: Any) -> Any:
    answer = http.post("/v1/chat/completions", json={"model": "tiny", "messages": messages, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["choices"][0]


@pytest.mark.parametrize("at_once", [1, 7])
@pytest.mark.parametrize("messages", [WITHOUT, WITH], ids=["text", "picture"])
def test_the_engines_template_and_our_parser(host: Any, http: httpx2.Client, messages: Any, at_once: int) -> None:
    host.play(host.vocab.encode(ANSWER, control=True), at_once=at_once)
    said = ask(http, messages, logprobs=True, top_logprobs=2)
    assert (said["message"]["reasoning"], said["message"]["content"]) == ("Let me see.", "成都: 11 °C 🐼.")
    assert all(len(one["top_logprobs"]) == 2 for one in said["logprobs"]["content"])
    asked = host.manager.asked
    if messages is WITHOUT:
        assert list(asked.input_ids) == list(
            hs.render(messages, format=host.format, template=host.manager.model_path).ids
        )
    else:
        assert asked.image_data == [PICTURE["image_url"]["url"]]
        assert asked.sampling_params["skip_special_tokens"] is False


@pytest.mark.parametrize("messages", [WITHOUT, WITH], ids=["text", "picture"])
def test_calls_forms_and_stop_strings(host: Any, http: httpx2.Client, messages: Any) -> None:
    host.play(host.vocab.encode(CALL, control=True))
    choice = ask(http, messages, tools=[TOOL])
    assert choice["finish_reason"] == "tool_calls"
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"a": 12}
    assert b'"name": "add"' in b"".join(map(host.vocab.token_bytes, host.manager.asked.input_ids))
    host.play(host.vocab.encode(ANSWER, control=True))
    assert ask(http, messages, stop=" 11")["message"]["content"] == "成都:"
    host.play(host.vocab.encode('{"a": 1}<|im_end|>', control=True))
    form = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    without = {"enable_thinking": False}
    assert ask(http, messages, response_format=form, chat_template_kwargs=without)["message"]["content"] == '{"a": 1}'
    assert json.loads(host.manager.asked.sampling_params["json_schema"]) == {"type": "object"}
