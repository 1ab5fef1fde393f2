"""vLLM's plain server: its `/tokenize` writes the prompts, and its chat endpoint sends the ids of an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("vllm")

import httpx2
from gateways import serving

import harmonystream as hs
from harmonystream.engines import Completions, Finished, Sampling
from harmonystream.engines.base import Sampled
from harmonystream.gateway import Model, app
from harmonystream.gateway.generating.engine_prompts import EnginePrompt

ASKED = [{"role": "user", "content": "What is the weather?"}]
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 12}}\n</tool_call><|im_end|>'
ANSWER = "<think>\nLet me see.\n</think>\n\n成都: 11 °C 🐼.<|im_end|>"


@pytest.fixture(scope="module")
def host(server: Any) -> Any:
    return server("qwen3", "names")


@pytest.fixture(scope="module")
def http(host: Any) -> Iterator[Any]:
    engine = Completions(host.url, render=host.url)
    model = Model("tiny", engine, format=host.format, tokenizer=host.model / "tokenizer.json")
    with serving(app([model])) as url, httpx2.Client(base_url=url, timeout=60) as made:
        yield made


def ask(http: Any, **more: Any) -> Any:
    return http.post("/v1/chat/completions", json={"model": "tiny", "messages": ASKED, **more})


def play(host: Any, text: str, **more: Any) -> list[int]:
    ids: list[int] = host.vocab.encode(text, control=True)
    host.play(ids, **more)
    return ids


def test_the_prompt_is_that_of_the_models_template(host: Any, http: Any) -> None:
    play(host, ANSWER, at_once=3)
    answer = ask(http)
    assert answer.status_code == 200, answer.text
    message = answer.json()["choices"][0]["message"]
    assert (message["reasoning"], message["content"]) == ("Let me see.", "成都: 11 °C 🐼.")
    assert host.asked()["prompt"] == hs.render(ASKED, format=host.format, template=host.model).ids
    play(host, CALL)
    choice = ask(http, tools=[TOOL], chat_template_kwargs={"enable_thinking": False}).json()["choices"][0]
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {"a": 12}
    prompt_text = b"".join(map(host.vocab.token_bytes, host.asked()["prompt"])).decode()
    assert '"name": "add"' in prompt_text and prompt_text.endswith("</think>\n\n")


@pytest.mark.parametrize("logprobs", [None, 2])
@pytest.mark.parametrize("at_once", [1, 5])
def test_the_chat_endpoint_gives_every_id(host: Any, at_once: int, logprobs: int | None) -> None:
    """This is the way of a conversation with pictures. The model of these tests cannot see, so there are none."""
    ids = play(host, ANSWER, at_once=at_once)

    async def answer_of() -> tuple[list[int] | None, list[Any]]:
        engine = Completions(host.url, render=host.url)
        rendered = await engine.rendered({"messages": ASKED, "tools": [TOOL]})
        features = {"chat": {"messages": ASKED, "tools": [TOOL]}}
        prompt = EnginePrompt("", rendered.ids, host.format, (), (), host.vocab, features=features)
        sampling = Sampling(max_tokens=500, logprobs=logprobs)
        return rendered.ids, [item async for item in engine.generate(prompt, sampling)]

    written, (*items, end) = asyncio.run(answer_of())
    read = [tid for item in items for tid in (item.ids if isinstance(item, Sampled) else item)]
    assert isinstance(end, Finished) and end.reason == "stop" and end.usage is not None
    assert read == ids
    assert end.usage["completion_tokens"] == len(ids)
    assert host.asked()["prompt"] == written  # so the counts and the checks before a generation are right
    if logprobs is not None:
        entries = [one for item in items for one in item.logprobs]
        assert len(entries) == len(ids) and all(len(one["top_logprobs"]) == 2 for one in entries)
