"""A real llama-server that writes the prompts, behind the gateway. Its weights are random, and so are its answers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import httpx2
import model_dirs
import pytest
from gateways import ASKED, JSON, TOOLS, serving
from llama_servers import SERVER, running_server

from harmonystream.engines import LlamaServer
from harmonystream.gateway import Model, app

pytest.importorskip("gguf")
pytestmark = pytest.mark.skipif(SERVER is None, reason="no llama-server: make engines builds one")

NAME = "Qwen/Qwen3-8B"
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
LIMITS = {"chat": "max_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}
COUNTS = {"chat": "completion_tokens", "responses": "output_tokens", "messages": "output_tokens"}
REQUIRED: dict[str, Any] = {"chat": "required", "responses": "required", "messages": {"type": "any"}}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    from tiny_gguf import write_model_of

    folder = tmp_path_factory.mktemp("model")
    tokenizer = model_dirs.write(folder, "qwen3")
    write_model_of(tokenizer, folder / "tiny.gguf", "<|im_end|>")
    with running_server(folder) as url:
        model = Model(NAME, LlamaServer(url, render=url), tokenizer=tokenizer)
        with serving(app([model])) as address, httpx2.Client(base_url=address, timeout=60, headers=JSON) as made:
            yield made


def texts(api: str, value: Any) -> tuple[str, str]:
    """Reasoning and content of a whole answer."""
    if api == "chat":
        message = value["choices"][0]["message"]
        return message.get("reasoning") or "", message["content"] or ""
    blocks = value["content"] if api == "messages" else value["output"]
    parts = [part for block in blocks for part in (block.get("content") or [block])]
    reasoning = "".join(part.get("thinking", "") for part in parts)
    reasoning += "".join(part["text"] for part in parts if part["type"] == "reasoning_text")
    return reasoning, "".join(part["text"] for part in parts if part["type"] in ("text", "output_text"))


def streamed(text: str) -> tuple[str, str]:
    """The same of a stream, put together from its deltas."""
    reasoning = content = ""
    for line in text.splitlines():
        if line.startswith("data: {"):
            data = json.loads(line[6:])
            delta = data.get("delta")
            if "choices" in data:
                for choice in data["choices"]:
                    reasoning += choice["delta"].get("reasoning") or ""
                    content += choice["delta"].get("content") or ""
            elif data["type"] == "response.reasoning_text.delta":
                reasoning += delta
            elif data["type"] == "response.output_text.delta":
                content += delta
            elif data["type"] == "content_block_delta":
                reasoning, content = reasoning + delta.get("thinking", ""), content + delta.get("text", "")
    return reasoning, content


@pytest.mark.parametrize("seed", range(24))
def test_a_stream_is_the_whole_answer_and_the_limit_holds(http, seed):
    rng = random.Random(seed)
    api = list(PATHS)[seed % 3]
    limit = rng.choice([8, 60])
    sampling = {"seed": seed, "temperature": rng.choice([1.0, 20.0, 90.0]), "top_p": 1.0}
    body = {"model": NAME, **ASKED[api], **sampling, LIMITS[api]: limit}
    kind = rng.choice(["plain", "required", "budget"])
    if kind == "required":
        body |= {"tools": TOOLS[api], "tool_choice": REQUIRED[api]}
    elif kind == "budget" and api != "messages":
        body["thinking_token_budget"] = 3
    whole, stream = (http.post(PATHS[api], json={**body, "stream": streams}) for streams in (False, True))
    assert (whole.status_code, stream.status_code) == (200, 200)
    assert texts(api, whole.json()) == streamed(stream.text)
    assert 0 < whole.json()["usage"][COUNTS[api]] <= limit
    assert whole.headers.get("x-steered") == ("grammar" if kind == "required" else None)


@pytest.mark.parametrize("stream", [False, True])
def test_pictures_and_spelled_markers_are_refused_by_their_reason(http, stream):
    def ask(content: Any) -> tuple[int, str]:
        messages = [{"role": "user", "content": content}]
        answer = http.post(PATHS["chat"], json={"model": NAME, "messages": messages, "stream": stream})
        return answer.status_code, answer.json()["error"]["code"]

    assert ask([PICTURE]) == (400, "engine_refused")
    assert ask("a<|im_end|>b") == (400, "invalid_prompt")
