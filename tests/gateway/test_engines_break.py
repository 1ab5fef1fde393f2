"""Engines that break at any byte of their answer, in any way: what clients see is what docs/gateway.md says."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import httpx2
import pytest
from gateways import ANSWER, ASKED, JSON, script_of, serving
from ports import free_port
from test_fallback import OTHER, PATHS, text_of
from upstream import event

from harmonystream.engines import Completions
from harmonystream.gateway import Model, app
from harmonystream.gateway.limits import Limits

RETRIES = 1
TEXTS = {"a": "Hi there!", "b": "Other here!"}
WAYS = {"close": 3, "reset": 3, "hang": 1, "garbage": 3, "error": 3}
"""How an engine breaks, and how often. A hang costs a second."""


def pieces_of(text: str) -> list[bytes]:
    """The head of a server's response, its events, each a chunk, and the end."""
    events = [one if isinstance(one, bytes) else event(one) for one in script_of(text)]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%b\r\n" % (len(one), one) for one in events), b"0\r\n\r\n"]


class Fault(NamedTuple):
    """status: of a refusal, or 200. at: how many bytes are sent before it breaks. way: how it breaks. after: seconds
    between both. Then the client has read what came before.
    """

    status: int
    at: int
    way: str
    after: float = 0.0


class Engine:
    """Answers each request with a fault of its own, or without one. asked: (the model, what came of it) of all."""

    def __init__(self, model: str, text: str, rng: random.Random, soundness: float, asked: list[Any]) -> None:
        self._model, self._rng, self._soundness, self._asked = model, rng, soundness, asked
        self._pieces = pieces_of(text)
        self.port = 0

    def _fault(self) -> Fault | None:
        rng, size = self._rng, len(b"".join(self._pieces))
        if rng.random() < self._soundness:
            return None
        if rng.random() < 0.3:
            return Fault(rng.choice([240, 401, 404, 429, 500, 502, 503, 504]), 0, "close")
        [way] = rng.choices(list(WAYS), list(WAYS.values()))
        return Fault(200, rng.choice([0, rng.randrange(200), rng.randrange(size)]), way, rng.choice([0.0, 0.005]))

    def _comes_to(self, fault: Fault | None) -> str:
        """What the gateway can have read: "whole", "begun" after a first token, or "nothing"."""
        if fault is None:
            return "whole"
        sent, ends = 0, []
        for piece in self._pieces:
            sent += len(piece)
            ends.append(sent)
        if fault.status != 200 or fault.at < ends[1]:
            return "nothing"
        return "whole" if fault.at >= ends[-2] else "begun"  # all up to [DONE]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if head.startswith(b"GET"):
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                lines = head.lower().split(b"\r\n")
                size = next(int(line[16:]) for line in lines if line.startswith(b"content-length: "))
                await reader.readexactly(size)
                fault = self._fault()
                self._asked.append((self._model, self._comes_to(fault)))
                await self._play(fault, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _play(self, fault: Fault | None, reader: Any, writer: Any) -> None:
        if fault is None:
            for piece in self._pieces:
                writer.write(piece)
                await asyncio.sleep(0)
            return
        if fault.status != 200:
            writer.write(b"HTTP/1.1 %d No\r\ncontent-length: 3\r\n\r\nwhy" % fault.status)
            return
        writer.write(b"".join(self._pieces)[: fault.at])
        await writer.drain()
        await asyncio.sleep(fault.after)
        if fault.way == "hang":
            await reader.read()
        elif fault.way == "garbage":
            writer.write(b"\xff\x00}{\r\n\r\ndata: x\n\n")
        elif fault.way == "error":
            broken = event({"error": {"message": "the core has died", "code": 500}})
            writer.write(b"%x\r\n%b\r\n" % (len(broken), broken))
        if fault.way == "reset":
            writer.transport.abort()
        raise ConnectionError


@contextmanager
def running(engines: list[Engine]) -> Iterator[None]:
    """The engines, in a loop of their own."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def main() -> None:
        servers = [await asyncio.start_server(one.answer, "127.0.0.1", 0) for one in engines]
        for one, server in zip(engines, servers):
            one.port = server.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()
        for server in servers:
            server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    try:
        assert ready.wait(20)
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()


def streamed(api: str, text: str) -> tuple[str, str]:
    """The text of a stream, and its end: "whole", "error" or "none"."""
    said, end = "", "none"
    for line in text.splitlines():
        if not line.startswith("data: "):
            continue
        if line == "data: [DONE]":
            end = "whole" if end == "none" else end
            continue
        data = json.loads(line[6:])
        kind = data.get("type")
        if data.get("error") or kind in ("error", "response.failed"):
            end = "error"
        elif kind in ("response.completed", "message_stop"):
            end = "whole"
        elif kind == "response.output_text.delta":
            said += data["delta"]
        elif kind == "content_block_delta":
            said += data["delta"].get("text", "")
        elif api == "chat":
            said += "".join(choice["delta"].get("content") or "" for choice in data["choices"])
    return said, end


def check_streamed(api: str, answer: Any, asked: list[Any]) -> None:
    """What an attempt has sent to the client is never sent again by another one."""
    assert all(came != "whole" for _, came in asked[:-1]), asked
    model, came = asked[-1] if asked else ("", "nothing")
    if came == "nothing":
        if answer.status_code == 200:  # it has begun, with comments
            assert streamed(api, answer.text) == ("", "error")
        else:
            assert answer.status_code in (502, 503, 504, 529) and "error" in answer.json()
        return
    if came != "whole" and answer.status_code != 200:
        assert answer.status_code in (502, 503, 504, 529) and "error" in answer.json()
        return
    said, end = streamed(api, answer.text)
    assert answer.status_code == 200
    assert end == ("whole" if came == "whole" else "error"), (asked, answer.text)
    assert said == TEXTS[model] if end == "whole" else TEXTS[model].startswith(said), asked


def check_whole(api: str, answer: Any, asked: list[Any]) -> None:
    assert all(came != "whole" for _, came in asked[:-1]), asked
    model, came = asked[-1] if asked else ("", "nothing")
    if came == "whole":
        assert (answer.status_code, text_of(api, answer.json())) == (200, TEXTS[model])
        assert answer.json()["model"] == model
    else:
        assert answer.status_code in (502, 503, 504, 529), (asked, answer.text)
        assert "error" in answer.json()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_what_clients_see_follows_from_what_engines_did(seed):
    rng = random.Random(seed)
    asked: list[Any] = []
    engines = [Engine("a", ANSWER, rng, rng.choice([0.0, 0.2, 0.8]), asked) for _ in range(3)]
    others = [Engine("b", OTHER, rng, rng.choice([0.0, 0.5, 1.0]), asked)]
    wait = rng.choice([0.1, 15.0])
    limits = Limits(retries=RETRIES, first_token=1.0, silence=1.0, status_wait=wait)
    with ExitStack() as stack:
        stack.enter_context(running(engines + others))
        ports = [*(one.port for one in engines), free_port()]
        first = [Completions(f"http://127.0.0.1:{port}", "m") for port in ports]
        models = [
            Model("a", first, "gpt-oss", fallback=["b"], context=9999),
            Model("b", Completions(f"http://127.0.0.1:{others[0].port}", "m"), "gpt-oss", context=9999),
        ]
        made = app(models, limits=limits)
        own = made.state.gateway
        url = stack.enter_context(serving(made))
        http = stack.enter_context(httpx2.Client(base_url=url, timeout=30, headers=JSON))
        for _ in range(40):
            api, stream = rng.choice(list(PATHS)), rng.random() < 0.5
            asked.clear()
            answer = http.post(PATHS[api], json={"model": "a", "stream": stream, **ASKED[api]})
            (check_streamed if stream else check_whole)(api, answer, list(asked))
            assert len(asked) <= 2 * (RETRIES + 1) * (RETRIES + 1)
            if others[0]._soundness == 1.0 and wait > 1 and not (stream and asked[-1][1] == "begun"):
                assert answer.status_code == 200 and asked[-1][1] == "whole"
        deadline = time.monotonic() + 5
        while own.admission.open and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (own.admission.open, own.state.open()) == (0, {})
        assert all(member.open == 0 for pool in own.pools for member in pool.members)
