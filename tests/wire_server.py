"""A server over real HTTP: an app of scripted models under the three APIs, and uvicorn in a thread."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import harmonystream as hs
from harmonystream.emit.chat import ChatStream
from harmonystream.emit.messages import MessagesStream
from harmonystream.emit.responses import ResponsesStream
from harmonystream.integrations.starlette import EventStreamResponse, whole_response

Source = Callable[[], AsyncIterator[Any]]

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
USAGE: dict[str, dict[str, Any]] = {
    "chat": {"prompt_tokens": 7, "completion_tokens": 70, "total_tokens": 77},
    "responses": {"input_tokens": 7, "output_tokens": 70},
    "messages": {"input_tokens": 7, "output_tokens": 70},
}

# analysis: Hello; final: Hi!
SHORT = [200005, 35644, 200008, 13225, 200007, 200006, 173781, 200005, 17196, 200008, 12194, 0, 200002]


def stream_of(api: str, model: str = "scripted") -> Any:
    """A fresh stream of an API, with ids that are always the same."""
    parser = hs.Parser(tools=["get_forecast"])
    if api == "chat":
        return ChatStream(parser, id="chatcmpl-1", model=model, created=1, include_usage=True)
    if api == "responses":
        return ResponsesStream(parser, id="resp_1", model=model, created_at=1)
    return MessagesStream(parser, id="msg_1", model=model)


def expected_chunks(api: str, items: list[Any], model: str) -> list[bytes]:
    stream = stream_of(api, model)
    made = [stream.start(), *map(stream.feed, items)]
    return [piece for piece in made if piece] + [stream.finish("stop", USAGE[api])]


def of(*items: Any) -> Callable[[], AsyncIterator[Any]]:
    """A source that yields these, and lets others run between them."""

    async def source() -> AsyncIterator[Any]:
        for item in items:
            yield item
            await asyncio.sleep(0)

    return source


def app_of(sources: Mapping[str, Source], **options: Any) -> Starlette:
    """An app whose models are these sources, by name. options: of EventStreamResponse."""

    def route(api: str) -> Route:
        async def answer(request: Request) -> Response:
            body = await request.json()
            ending = {"reason": "stop", "usage": USAGE[api]}
            tokens, stream = sources[body["model"]](), stream_of(api, body["model"])
            if body.get("stream"):
                return EventStreamResponse(tokens, stream, **{**ending, **options})
            return JSONResponse(await whole_response(tokens, stream, **ending))

        return Route(PATHS[api], answer, methods=["POST"])

    return Starlette(routes=[route(api) for api in PATHS])


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of a server that runs the app, as http://host:port."""
    config = uvicorn.Config(app, ws="none", log_config=None, lifespan="off", access_log=False)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.005)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def openai_client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=30)


def anthropic_client(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=30)


# --- what the clients make of a response: (reasoning, content, calls, reason, tokens) ---

Outcome = tuple[str, str, list[tuple[str, Any]], str, int]


def outcome_of_chat(completion: Any) -> Outcome:
    [choice] = completion.choices
    calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]
    reasoning, content = getattr(choice.message, "reasoning", ""), choice.message.content
    return reasoning, content, calls, choice.finish_reason, completion.usage.completion_tokens


def outcome_of_response(response: Any) -> Outcome:
    reasoning = "".join(part.text for item in response.output if item.type == "reasoning" for part in item.content)
    calls = [(item.name, item.arguments) for item in response.output if item.type == "function_call"]
    return reasoning, response.output_text, calls, response.status, response.usage.output_tokens


def outcome_of_message(message: Any) -> Outcome:
    reasoning = "".join(block.thinking for block in message.content if block.type == "thinking")
    content = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    return reasoning, content, calls, message.stop_reason, message.usage.output_tokens


def streamed(api: str, url: str, model: str) -> Outcome:
    """By the official client's own assembly of the stream."""
    messages: Any = [{"role": "user", "content": "?"}]
    if api == "messages":
        with (
            anthropic_client(url) as claude,
            claude.messages.stream(model=model, max_tokens=9, messages=messages) as events,
        ):
            return outcome_of_message(events.get_final_message())
    with openai_client(url) as client:
        if api == "responses":
            with client.responses.stream(model=model, input="?") as events:
                return outcome_of_response(events.get_final_response())
        with client.chat.completions.stream(model=model, messages=messages) as chunks:
            return outcome_of_chat(chunks.get_final_completion())


def at_once(api: str, url: str, model: str) -> Outcome:
    """The same of a request without streaming."""
    messages: Any = [{"role": "user", "content": "?"}]
    if api == "messages":
        with anthropic_client(url) as claude:
            return outcome_of_message(claude.messages.create(model=model, max_tokens=9, messages=messages))
    with openai_client(url) as client:
        if api == "responses":
            return outcome_of_response(client.responses.create(model=model, input="?"))
        return outcome_of_chat(client.chat.completions.create(model=model, messages=messages))
