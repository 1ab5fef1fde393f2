"""A server over real HTTP: an app of scripted models under the three APIs, and uvicorn in a thread."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import uvicorn
import wire_chat
import wire_messages
import wire_responses
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from wire_frames import Payload
from wire_scenarios import parser_of, pieces_of, streams

import harmonystream as hs
from harmonystream.integrations.starlette import EventStreamResponse, Finished, whole_response

Source = Callable[[], AsyncIterator[Any]]

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
APIS: dict[str, Any] = {"chat": wire_chat, "responses": wire_responses, "messages": wire_messages}
USAGE = {api: module.USAGE for api, module in APIS.items()}

# analysis: Hello; final: Hi!
SHORT = [200005, 35644, 200008, 13225, 200007, 200006, 173781, 200005, 17196, 200008, 12194, 0, 200002]


def stream_of(api: str, model: str = "scripted") -> Any:
    """A fresh stream of an API, with ids that are always the same."""
    return stream_over(hs.Parser(tools=["get_forecast"]), api, model=model)


def stream_over(parser: hs.Parser, api: str, **options: Any) -> Any:
    return APIS[api].stream_of(parser, **({"include_usage": True} if api == "chat" else {}), **options)


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

    def answer(api: str, body: Any) -> tuple[AsyncIterator[Any], Any]:
        return sources[body["model"]](), stream_of(api, body["model"])

    return routed(answer, **options)


def routed(answer: Callable[[str, Any], tuple[AsyncIterator[Any], Any]], **options: Any) -> Starlette:
    """An app that answers a request for an API, with this body, with a source through a stream."""

    def route(api: str) -> Route:
        async def respond(request: Request) -> Response:
            body = await request.json()
            tokens, stream = answer(api, body)
            ending = {"reason": "stop", "usage": USAGE[api]}
            if body.get("stream"):
                return EventStreamResponse(tokens, stream, **{**ending, **options})
            return JSONResponse(await whole_response(tokens, stream, **ending))

        return Route(PATHS[api], respond, methods=["POST"])

    return Starlette(routes=[route(api) for api in PATHS])


async def scenario(name: str) -> AsyncIterator[Any]:
    """The source of a scenario, as one that never waits: an engine that is faster than its client."""
    for piece in pieces_of(name):
        yield piece
    yield Finished(streams()[name][2].reason)


def scenarios_app() -> Starlette:
    """An app whose models are the scenarios."""
    return routed(lambda api, body: (scenario(body["model"]), stream_over(parser_of(body["model"]), api)))


def bytes_app(pieces: Iterable[bytes]) -> Starlette:
    """An app that answers everything with these bytes."""

    async def respond(request: Request) -> Response:
        await request.body()
        return StreamingResponse(iter(pieces), media_type="text/event-stream")

    return Starlette(routes=[Route(path, respond, methods=["POST"]) for path in PATHS.values()])


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


PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Without certificates: a client reads them for a tenth of a second, and no test needs them."""


def openai_client(url: str) -> openai.OpenAI:
    http = openai.DefaultHttpxClient(verify=PLAIN)
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=30, http_client=http)


def anthropic_client(url: str) -> anthropic.Anthropic:
    http = anthropic.DefaultHttpxClient(verify=PLAIN)
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=30, http_client=http)


# --- what the clients make of a response, as the server would send it without streaming ---

ASKED: dict[str, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": "?"}]},
    "responses": {"input": "?"},
    "messages": {"messages": [{"role": "user", "content": "?"}], "max_tokens": 9},
}


class Clients:
    """The official clients of one server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.openai, self.anthropic = openai_client(url), anthropic_client(url)
        self.create: dict[str, Callable[..., Any]] = {
            "chat": self.openai.chat.completions.create,
            "responses": self.openai.responses.create,
            "messages": self.anthropic.messages.create,
        }

    def assembled(self, api: str, model: str) -> Payload:
        """By the helper for streams."""
        asked = {"model": model, **ASKED[api]}
        if api == "messages":
            with self.anthropic.messages.stream(**asked) as events:
                return wire_messages.plain(events.get_final_message())
        if api == "responses":
            with self.openai.responses.stream(**asked) as parts:
                last: Any = list(parts)[-1]  # get_final_response() wants response.completed
                return wire_responses.plain(last.response)
        with self.openai.chat.completions.stream(**asked) as chunks:
            chunks.until_done()
            return wire_chat.plain(chunks.current_completion_snapshot)

    def events(self, api: str, model: str) -> list[Payload]:
        """One by one."""
        return [one.to_dict(mode="python") for one in self.create[api](model=model, stream=True, **ASKED[api])]

    def at_once(self, api: str, model: str) -> Payload:
        """Without streaming."""
        found: Payload = self.create[api](model=model, **ASKED[api]).to_dict(mode="python")
        return found


@contextmanager
def clients_of(app: Any) -> Iterator[Clients]:
    with serving(app) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            yield clients
