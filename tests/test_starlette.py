"""harmonystream.integrations.starlette: over HTTP under uvicorn, with the official clients; and by ASGI messages."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from wire_server import (
    PATHS,
    SHORT,
    anthropic_client,
    app_of,
    at_once,
    expected_chunks,
    of,
    openai_client,
    outcome_of_chat,
    serving,
    stream_of,
    streamed,
)

import harmonystream as hs

ROOT = Path(__file__).parent.parent
APIS = list(PATHS)
DONE = {"chat": b"data: [DONE]\n\n", "responses": b"event: response.completed\n", "messages": b'"message_stop"}\n\n'}
PING = b": keep-alive\n\n"

DEMO = (ROOT / "harmonystream" / "data" / "demo.jsonl").read_text(encoding="utf-8").splitlines()
CALL, ANSWER = (turn["ids"] for turn in map(json.loads, DEMO) if "ids" in turn)
TEXT = b"".join(hs.vocab.o200k_harmony().token_bytes(tid) for tid in CALL).decode()
FACTS = hs.parse(CALL, tools=["get_forecast"])


SOURCES = {
    "ids": of(*CALL),
    "lists": of(CALL[:1], [], CALL[1:90], *CALL[90:]),
    "text": of(*(TEXT[at : at + 3] for at in range(0, len(TEXT), 3))),
    "bytes": of(*(TEXT.encode()[at : at + 7] for at in range(0, len(TEXT.encode()), 7))),
    "short": of(*SHORT),
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(app_of(SOURCES)) as address:
        yield address


def post(url: str, api: str, model: str) -> socket.socket:
    """A connection that has asked for a stream and read nothing of it."""
    host, port = url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=10)
    body = json.dumps({"model": model, "stream": True}).encode()
    head = f"POST {PATHS[api]} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


def until(connection: socket.socket, expected: bytes) -> bytes:
    got = b""
    while expected not in got:
        piece = connection.recv(65536)
        assert piece, got
        got += piece
    return got


def raw(url: str, api: str, model: str) -> tuple[bytes, list[bytes]]:
    """Head and chunks of a whole response, as they are on the wire."""
    with post(url, api, model) as connection:
        got = until(connection, b"\r\n0\r\n\r\n")
    head, _, rest = got.partition(b"\r\n\r\n")
    chunks = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        chunks.append(rest[: int(size, 16)])
        assert rest[int(size, 16) :][:2] == b"\r\n"
        rest = rest[int(size, 16) + 2 :]
    assert chunks.pop() == b""
    return head, chunks


# --- official clients ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["ids", "lists", "text", "bytes"])
@pytest.mark.parametrize("api", APIS)
def test_official_clients_assemble_what_the_model_said(url, api, model):
    reason = {"chat": "tool_calls", "responses": "completed", "messages": "tool_use"}[api]
    [call] = FACTS.tool_calls
    arguments = json.loads(call.arguments) if api == "messages" else call.arguments
    expected = (FACTS.reasoning, FACTS.messages[1].content, [("get_forecast", arguments)], reason, 70)
    assert streamed(api, url, model) == expected
    assert at_once(api, url, model) == expected


@pytest.mark.parametrize("api", APIS)
def test_each_feed_is_one_chunk_and_what_says_nothing_is_none(url, api):
    head, chunks = raw(url, api, "ids")
    assert chunks == expected_chunks(api, CALL, "ids")
    headers = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers


def test_two_hundred_streams_at_a_time():
    """None ends before all have begun. The clients are sockets: what they read is compared byte by byte."""
    begun = 0
    all_begun: asyncio.Event | None = None

    async def source() -> AsyncIterator[Any]:
        nonlocal begun, all_begun
        all_begun = all_begun or asyncio.Event()
        begun += 1
        if begun == 200:
            all_begun.set()
        await all_begun.wait()
        for token in SHORT:
            yield token
            await asyncio.sleep(0.001)

    async def read(url: str, api: str) -> bytes:
        reader, writer = await asyncio.open_connection(*url.removeprefix("http://").split(":"))
        body = json.dumps({"model": "short", "stream": True})
        request = f"POST {PATHS[api]} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write((request + body).encode())
        got = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        await writer.wait_closed()
        return got.partition(b"\r\n\r\n")[2]

    async def all_of_them(url: str) -> list[bytes]:
        return await asyncio.gather(*(read(url, APIS[n % 3]) for n in range(200)))

    with serving(app_of({"short": source})) as url:
        bodies = asyncio.run(all_of_them(url))
    for n, body in enumerate(bodies):
        chunks = expected_chunks(APIS[n % 3], SHORT, "short")
        assert body == b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in [*chunks, b""])


def test_many_streams_to_one_official_client(url):
    async def ask(client: openai.AsyncOpenAI) -> Any:
        message: Any = {"role": "user", "content": "?"}
        async with client.chat.completions.stream(model="short", messages=[message]) as chunks:
            return outcome_of_chat(await chunks.get_final_completion())

    async def all_of_them() -> list[Any]:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*(ask(client) for _ in range(50)))

    assert asyncio.run(all_of_them()) == [("Hello", "Hi!", [], "stop", 70)] * 50


def test_a_frame_is_there_before_the_next_token():
    ready = threading.Semaphore(0)

    async def source() -> AsyncIterator[int]:
        for token in SHORT:
            yield token
            if token in (13225, 12194):
                assert await asyncio.to_thread(ready.acquire, timeout=10)

    with serving(app_of({"slow": source})) as url, openai_client(url) as client:
        message: Any = {"role": "user", "content": "?"}
        seen = []
        for chunk in client.chat.completions.create(model="slow", messages=[message], stream=True):
            for choice in chunk.choices:
                said = choice.delta.content or getattr(choice.delta, "reasoning", "")
                seen += [said] if said else []
                if said in ("Hello", "Hi"):
                    ready.release()
    assert seen == ["Hello", "Hi", "!"]


# --- the client goes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("busy", [False, True], ids=["silent", "busy"])
@pytest.mark.parametrize("api", APIS)
def test_when_the_client_goes_the_source_is_stopped_and_may_clean_up(api, busy, caplog):
    closed = threading.Event()

    async def source() -> AsyncIterator[Any]:
        try:
            yield SHORT[:4]
            while True:
                await asyncio.sleep(0 if busy else 60)
                yield 13225
        finally:
            await asyncio.sleep(0.01)  # as one tells an engine
            closed.set()

    with caplog.at_level(logging.INFO), serving(app_of({"endless": source})) as url:
        with post(url, api, "endless") as connection:
            until(connection, b"Hello")
            assert not closed.is_set()
        assert closed.wait(5)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


# --- silence ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
def test_comments_fill_the_silence_and_no_client_minds(api):
    async def source() -> AsyncIterator[Any]:
        yield SHORT[:4]
        await asyncio.sleep(0.12)
        yield SHORT[4:]

    with serving(app_of({"slow": source}, keep_alive=0.05)) as url:
        _, chunks = raw(url, api, "slow")
        expected = expected_chunks(api, [SHORT[:4], SHORT[4:]], "slow")
        assert chunks == [*expected[:2], *[PING] * chunks.count(PING), *expected[2:]]
        assert 1 <= chunks.count(PING) <= 9  # two, unless the machine is busy
        assert streamed(api, url, "slow")[:2] == ("Hello", "Hi!")


def test_no_comments_while_tokens_come_or_where_none_are_wanted():
    async def steady() -> AsyncIterator[Any]:
        for token in SHORT:  # 0.78 s, and nothing of it is silence
            yield [token]
            await asyncio.sleep(0.06)

    for keep_alive in (0.5, None):
        with serving(app_of({"steady": steady}, keep_alive=keep_alive)) as url:
            assert raw(url, "chat", "steady")[1] == expected_chunks("chat", SHORT, "steady")


# --- errors -------------------------------------------------------------------------------------------------------


class EngineError(Exception):
    pass


async def breaking() -> AsyncIterator[Any]:
    yield SHORT[:4]
    raise EngineError("the password is 1234")


async def cancelled() -> AsyncIterator[Any]:
    yield SHORT[:4]
    raise asyncio.CancelledError


BROKEN = {"source": breaking, "parser": of(SHORT[:4], "text after ids"), "cancelled": cancelled}
RAISED = {"source": EngineError, "parser": ValueError, "cancelled": RuntimeError}


@pytest.fixture(scope="module")
def broken_url() -> Iterator[str]:
    with serving(app_of(BROKEN)) as address:
        yield address


@pytest.mark.parametrize("model", BROKEN)
@pytest.mark.parametrize("api", APIS)
def test_an_error_in_mid_stream_ends_it_well_formed_and_is_logged(broken_url, api, model, caplog):
    _, chunks = raw(broken_url, api, model)
    deadline = time.monotonic() + 5
    while not caplog.records and time.monotonic() < deadline:
        time.sleep(0.01)  # the client has its last byte before the server logs
    stream = stream_of(api, model)
    expected = [stream.start(), stream.feed(SHORT[:4]), stream.error("The response ended with an internal error.")]
    assert chunks == expected
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.exc_info is not None
    assert record.exc_info[0] is RAISED[model]


def test_official_clients_raise_the_error(caplog):
    def say(error: BaseException) -> str:
        return f"a {type(error).__name__}"

    message: Any = {"role": "user", "content": "?"}
    with serving(app_of(BROKEN, error_message=say)) as url, openai_client(url) as client:
        with pytest.raises(openai.APIError, match="a EngineError"):
            list(client.chat.completions.create(model="source", messages=[message], stream=True))
        *_, last = client.responses.create(model="source", input="?", stream=True)
        assert (last.type, last.response.error.message) == ("response.failed", "a EngineError")
        with anthropic_client(url) as claude, pytest.raises(anthropic.APIError, match="a EngineError"):
            list(claude.messages.create(model="source", max_tokens=9, messages=[message], stream=True))
    assert len(caplog.records) >= 3
