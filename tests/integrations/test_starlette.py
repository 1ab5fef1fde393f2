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
from wire_scenarios import Call, Item, Text
from wire_server import APIS as WIRES
from wire_server import (
    PATHS,
    SHORT,
    app_of,
    clients_of,
    expected_chunks,
    of,
    openai_client,
    serving,
    stream_of,
)

import harmonystream as hs

ROOT = Path(__file__).resolve().parents[2]
APIS = list(PATHS)
PING = b": keep-alive\n\n"

DEMO = (ROOT / "harmonystream" / "data" / "demo.jsonl").read_text(encoding="utf-8").splitlines()
CALL, ANSWER = (turn["ids"] for turn in map(json.loads, DEMO) if "ids" in turn)
TEXT = b"".join(hs.vocab.o200k_harmony().token_bytes(tid) for tid in CALL).decode()
REASONING = (
    "The question comes in Chinese and in English: will it rain in 成都 tomorrow? The weather must not be guessed, and "
    "there is a tool for it, get_forecast. First one line for the user, so that they see that something happens; then "
    "the call, with the city and the day."
)
PREAMBLE = "我先查一下成都明天的天气 ☔ One moment, I am looking up the forecast."
ARGUMENTS = '{"city": "成都", "day": "tomorrow", "hourly": false}'
SAID: list[Item] = [
    Text("reasoning", REASONING),
    Text("preamble", PREAMBLE),
    Call("get_forecast", ARGUMENTS, json.loads(ARGUMENTS), arguments=ARGUMENTS),
]
HELLO: list[Item] = [Text("reasoning", "Hello"), Text("content", "Hi!")]


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


def expected(api: str, model: str, said: list[Item]) -> dict[str, Any]:
    made: dict[str, Any] = WIRES[api].expected("harmony", said, "stop")
    return {**made, "model": model}


# --- official clients ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("api", APIS)
def test_official_clients_assemble_the_output(api):
    with clients_of(app_of(SOURCES)) as clients:
        for model in ("ids", "lists", "text", "bytes"):
            wanted = expected(api, model, SAID)
            assert clients.assembled(api, model) == wanted
            assert clients.at_once(api, model) == wanted


@pytest.mark.parametrize("api", APIS)
def test_each_feed_is_one_chunk_and_what_says_nothing_is_none(url, api):
    head, chunks = raw(url, api, "ids")
    assert chunks == expected_chunks(api, CALL, "ids")
    headers = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers


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

    with clients_of(app_of({"slow": source}, keep_alive=0.05)) as clients:
        _, chunks = raw(clients.url, api, "slow")
        assert clients.assembled(api, "slow") == expected(api, "slow", HELLO)
        wanted = expected_chunks(api, [SHORT[:4], SHORT[4:]], "slow")
        assert chunks == [*wanted[:2], *[PING] * chunks.count(PING), *wanted[2:]]
        assert 1 <= chunks.count(PING) <= 9  # two, unless the machine is busy


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


def errors_in(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("model", BROKEN)
@pytest.mark.parametrize("api", APIS)
def test_an_error_in_mid_stream_ends_it_well_formed_and_is_logged(broken_url, api, model, caplog):
    _, chunks = raw(broken_url, api, model)
    deadline = time.monotonic() + 5
    while not errors_in(caplog) and time.monotonic() < deadline:
        time.sleep(0.01)  # the client has its last byte before the server logs
    stream = stream_of(api, model)
    expected = [stream.start(), stream.feed(SHORT[:4]), stream.error("The response ended with an internal error.")]
    assert chunks == expected
    [record] = errors_in(caplog)
    assert record.exc_info is not None
    assert record.exc_info[0] is RAISED[model]


def test_official_clients_raise_the_error(caplog):
    def say(error: BaseException) -> str:
        return f"a {type(error).__name__}"

    with clients_of(app_of(BROKEN, error_message=say)) as clients:
        with pytest.raises(openai.APIError, match="a EngineError"):
            clients.events("chat", "source")
        with pytest.raises(openai.APIError, match="a EngineError"):
            clients.events("responses", "source")
        with pytest.raises(anthropic.APIError, match="a EngineError"):
            clients.events("messages", "source")
    assert len(caplog.records) >= 3
