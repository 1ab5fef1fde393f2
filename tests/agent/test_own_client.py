"""The agent loop with a client of one's own: the functions of docs/agent.md, over a local server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from wire_server import openai_client, routed, serving

import harmonystream as hs
from harmonystream.engines import Recorded
from harmonystream.integrations.starlette import Finished

PAGE = Path(__file__).resolve().parents[2] / "docs" / "agent.md"
TURNS = [turn["ids"] for turn in Recorded().turns]
QUESTION = [{"role": "user", "content": "Should I take an umbrella?"}]


def function(name: str) -> Any:
    """A function that the page prints."""
    code = re.search(rf"^(def {name}\(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {"hs": hs, "asyncio": asyncio}
    exec(code[1], names)
    return names[name]


def forecast() -> hs.Tools:
    def get_forecast(city: str, day: str, hourly: bool) -> dict[str, Any]:
        """The forecast."""
        return {"city": city, "rain": 0.8}

    return hs.Tools(get_forecast)


def results_in(messages: list[dict[str, Any]]) -> int:
    return sum(one["role"] == "tool" or "[Tool Results]" in str(one["content"]) for one in messages)


def chat_app(asked: list[Any], always_calls: bool = False) -> Any:
    """A server that parses calls: the recorded model behind Chat Completions."""

    async def tokens(turn: list[int]) -> AsyncIterator[Any]:
        for token in turn:
            yield token
        yield Finished("stop")

    def answer(api: str, body: Any) -> tuple[AsyncIterator[Any], Any]:
        asked.append(body)
        calls = body.get("tools") and (always_calls or not results_in(body["messages"]))
        stream = hs.ChatStream(hs.Parser(tools=body.get("tools") or []), id="c", model="m", created=1)
        return tokens(TURNS[0 if calls else 1]), stream

    return routed(answer)


def test_the_openai_client_calls_tools_until_the_model_answers():
    asked: list[Any] = []
    messages = list(QUESTION)
    with serving(chat_app(asked)) as url, openai_client(url) as client:
        text = function("answer")(client, "m", messages, forecast())
    assert text.startswith("要带伞")
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[2]["content"] == '{"city": "成都", "rain": 0.8}'
    assert messages[2]["tool_call_id"] == messages[1]["tool_calls"][0]["id"]
    assert [one["role"] for one in asked[1]["messages"]] == ["user", "assistant", "tool"]


def test_the_openai_client_s_rounds_are_limited():
    asked: list[Any] = []
    with serving(chat_app(asked, always_calls=True)) as url, openai_client(url) as client:
        text = function("answer")(client, "m", list(QUESTION), forecast(), max_rounds=2)
    assert text.startswith("要带伞")
    assert ["tools" in body for body in asked] == [True, True, False]


def completions_app(asked: list[Any]) -> Starlette:
    """A server that only completes text, markers included."""
    vocab = hs.vocab.o200k_harmony()
    texts = [b"".join(vocab.token_bytes(token) for token in turn).decode() for turn in TURNS]

    async def respond(request: Request) -> Response:
        body = await request.json()
        asked.append(body)
        text = texts["[Tool Results]" in body["prompt"]]
        choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}
        return JSONResponse({"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]})

    return Starlette(routes=[Route("/v1/completions", respond, methods=["POST"])])


def test_a_server_that_only_completes_text_is_asked_with_a_prompt_of_ours():
    asked: list[Any] = []
    messages = list(QUESTION)
    with serving(completions_app(asked)) as url, openai_client(url) as client:
        text = function("complete")(client, "m", messages, forecast())
    assert text.startswith("要带伞")
    assert asked[0]["prompt"].endswith("<|start|>assistant")
    assert "type get_forecast" in asked[0]["prompt"]
    assert asked[0]["skip_special_tokens"] is False
    assert messages[1]["content"].startswith("[Tool Results]\n**get_forecast**:\n{\n")


@pytest.mark.parametrize("name", ["answer", "complete"])
def test_the_functions_are_about_ten_lines(name):
    code = PAGE.read_text("utf-8").split(f"def {name}(")[1].split("```")[0]
    assert len(code.strip().splitlines()) <= 11
