"""A real llama-server over a tiny model with gpt-oss's vocabulary. `make engines` builds both; elsewhere it is skipped.

The weights are random, so a grammar says what is generated. The server, its tokens and its stream are the real ones.
"""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from llama_servers import SERVER, forced, running_server

import harmonystream as hs
from harmonystream.engines import LlamaServer, Sampling

pytest.importorskip("gguf")
pytestmark = pytest.mark.skipif(SERVER is None, reason="no llama-server: make engines builds one")

FINAL = '<[200005]> "final" <[200008]> '
CALL = '<[200005]> "commentary to=functions.look " <[200003]> "json" <[200008]> '
TEXTS = ["Hi!", "🐼é🫖 成都", "a\u0301🏳️‍🌈 \U0001f9d1\u200d\U0001f680", "日本語のテキスト 🍣🍣🍣"]
CONVERSATION = [{"role": "user", "content": "Look!"}]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("model")) as running:
        yield running


class ByRound:
    """The server, with another grammar for each generation."""

    def __init__(self, url: str, *samplings: Sampling) -> None:
        self.engine = LlamaServer(url)
        self.samplings = list(samplings)

    async def generate(self, prompt: Any, sampling: Sampling) -> AsyncIterator[Any]:
        async for item in self.engine.generate(prompt, replace(self.samplings.pop(0), max_tokens=sampling.max_tokens)):
            yield item


def loop(engine: Any, **options: Any) -> list[Any]:
    return list(hs.agent_loop_sync(engine, CONVERSATION, format="harmony", timeout=120, **options))


@pytest.mark.parametrize("text", TEXTS)
def test_ids_give_the_whole_text_though_the_server_leaves_some_out(url, text):
    end = loop(ByRound(url, forced(FINAL, text)))[-1]
    assert (end.reason, end.text) == ("answer", text)
    assert end.usage["prompt_tokens"] > 20


@pytest.mark.parametrize("text", TEXTS)
def test_text_gives_the_same(url, text, monkeypatch):
    monkeypatch.setattr("harmonystream.prompt.rendering._default_vocab", lambda: None)
    events = loop(ByRound(url, forced(FINAL, text)))
    assert events[-1].text == text


def test_a_call_runs_and_the_model_answers(url):
    def look(city: str) -> str:
        """Look."""
        return f"{city}: 11 °C 🐼"

    engine = ByRound(url, forced(CALL, '{"city": "成都🐼"}'), forced(FINAL, "Done 🫖."))
    end = loop(engine, tools=hs.Tools(look))[-1]
    assert (end.reason, end.text, end.rounds, end.called) == ("answer", "Done 🫖.", 2, ("look",))
    assert end.messages[1]["content"] == "成都🐼: 11 °C 🐼"


def test_the_limit_cuts(url):
    end = loop(ByRound(url, forced(FINAL, "word " * 100)), sampling=Sampling(max_tokens=12))[-1]
    assert (end.reason, end.usage["completion_tokens"]) == ("length", 12)


def test_closing_a_generation_frees_its_slot(url):
    async def main() -> bool:
        prompt = hs.render(CONVERSATION, format="harmony")
        items = LlamaServer(url).generate(prompt, replace(forced(FINAL, "word " * 150), max_tokens=180))
        await anext(items)
        await items.aclose()
        for _ in range(100):
            with urllib.request.urlopen(f"{url}/slots") as response:
                if b'"is_processing":true' not in response.read():
                    return True
            await asyncio.sleep(0.1)
        return False

    assert asyncio.run(main())


def test_a_refused_request_says_why(url):
    broken = Sampling(extra={"grammar": "root ::= ("})
    end = loop(ByRound(url, broken))[-1]
    assert end.reason == "error"
    assert "HTTP 400" in str(end.error) or "gramm" in str(end.error)
