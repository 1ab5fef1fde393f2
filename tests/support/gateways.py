"""A gateway over real HTTP: uvicorn in a thread, scripted upstreams in another, and the official clients."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import upstream as upstreams
import uvicorn
from upstream import DONE, Upstream
from wire_server import Clients

import harmonystream as hs
from harmonystream.engines import Completions
from harmonystream.gateway import Model, app

GPT_OSS = "openai/gpt-oss-20b"
ASKED: dict[str, dict[str, Any]] = {
    "chat": {"messages": [{"role": "user", "content": "?"}]},
    "responses": {"input": "?"},
    "messages": {"messages": [{"role": "user", "content": "?"}], "max_tokens": 99},
}
"""The least that a request of each API has."""


JSON = {"content-type": "application/json"}
ADD = {"type": "object", "properties": {"a": {"type": "integer"}}}
TOOLS = {
    "chat": [{"type": "function", "function": {"name": "add", "parameters": ADD}}],
    "responses": [{"type": "function", "name": "add", "parameters": ADD}],
    "messages": [{"name": "add", "input_schema": ADD}],
}


def ids_of(text: str) -> list[int]:
    """Of Harmony text, markers included."""
    return hs.vocab.o200k_harmony().encode(text, control=True)


ANSWER = "<|channel|>analysis<|message|>Hello<|end|><|start|>assistant<|channel|>final<|message|>Hi there!<|return|>"
CALL = (
    "<|channel|>analysis<|message|>A tool.<|end|><|start|>assistant<|channel|>commentary to=functions.add "
    '<|constrain|>json<|message|>{"a": 1}<|call|>'
)


def chunk(ids: list[int], reason: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of vLLM's."""
    choice = {"index": 0, "text": "", "token_ids": ids, "finish_reason": reason, "stop_reason": None}
    return {"id": "cmpl-1", "object": "text_completion", "choices": [choice], **more}


def script_of(text: str, reason: str = "stop", prompt_tokens: int = 9) -> list[Any]:
    """What an engine sends: one token in each chunk, then the usage."""
    ids = ids_of(text)
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(ids), "total_tokens": prompt_tokens + len(ids)}
    made = [chunk([tid], reason if at == len(ids) - 1 else None) for at, tid in enumerate(ids)]
    return [*made, {"choices": [], "usage": usage}, DONE]


@contextmanager
def running(upstream: Any) -> Iterator[str]:
    """The URL of an upstream, whose loop runs in a thread of its own."""
    loop = asyncio.new_event_loop()
    ready, stop = threading.Event(), asyncio.Event()

    async def main() -> None:
        async with upstreams.serving(upstream):
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    try:
        assert ready.wait(20)
        yield upstream.url
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@contextmanager
def serving(made: Any) -> Iterator[str]:
    """The address of a server that runs an app, with its lifespan."""
    config = uvicorn.Config(made, ws="none", log_config=None, lifespan="on", access_log=False)
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


@contextmanager
def gateway(*scripts: list[Any] | Upstream, **options: Any) -> Iterator[Gatewayed]:
    """A gateway before engines that play these scripts; several are engines of one model.

    options: of the model, and `app_options` of the app.
    """
    ups = [one if isinstance(one, Upstream) else Upstream(one) for one in scripts]
    app_options = options.pop("app_options", {})
    with ExitStack() as stack:
        urls = [stack.enter_context(running(one)) for one in ups]
        engines = [Completions(url, "m") for url in urls]
        made = app([Model(**{"name": GPT_OSS, "engines": engines, **options})], **app_options)
        with serving(made) as url, httpx2.Client(base_url=url, timeout=30, headers=JSON) as http:
            yield Gatewayed(url, http, ups, made.state.gateway)


class Gatewayed:
    """A gateway that runs. http: a plain client. engines: the upstreams."""

    def __init__(self, url: str, http: httpx2.Client, engines: list[Upstream], own: Any) -> None:
        self.url, self.http, self.engines, self.own = url, http, engines, own

    @contextmanager
    def clients(self) -> Iterator[Clients]:
        """The official ones."""
        clients = Clients(self.url)
        with clients.openai, clients.anthropic:
            yield clients

    def post(self, api: str, **body: Any) -> httpx2.Response:
        """A request's answer; what is not given is the least that there must be."""
        paths = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
        return self.http.post(paths[api], json={"model": GPT_OSS, **ASKED[api], **body})

    def settled(self) -> bool:
        """Have all requests ended? The gateway ends them after it has sent their last frame."""
        deadline = time.monotonic() + 10
        while self.own.admission.open and time.monotonic() < deadline:
            time.sleep(0.002)
        return not self.own.admission.open

    def left(self, count: int, engine: int = 0) -> bool:
        """Have so many of an engine's answers lost their client? The engine is told later than the gateway."""
        deadline = time.monotonic() + 10
        while self.engines[engine].gone < count and time.monotonic() < deadline:
            time.sleep(0.002)
        return self.engines[engine].gone == count

    def sent(self, number: int = -1, engine: int = 0) -> dict[str, Any]:
        """The body of a request that an engine has had."""
        return self.engines[engine].requests[number][1]
