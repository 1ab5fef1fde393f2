"""Many streams at once, and clients and engines that misbehave: nobody sees another's bytes, and nothing is left."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time

import aiohttp
from aiohttp import web
from gateways import ASKED, GPT_OSS, chunk, gateway, ids_of
from nginx import needs_nginx, nginx_before
from upstream import HANG, Upstream, event

import harmonystream as hs
from harmonystream.gateway.limits import Limits

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
STREAMS = 120
WORDS = 40


class Echo(Upstream):
    """Answers with the number that the prompt asks for, again and again, in pieces that break lines and characters."""

    async def answer(self, request):
        body = json.loads(await request.read())
        vocab = hs.vocab.o200k_harmony()
        text = b"".join(map(vocab.token_bytes, body["prompt"])).decode()
        number = int(re.findall(r"number (\d+)", text)[-1])
        ids = ids_of(f"<|channel|>final<|message|>{f' n{number} é' * WORDS}<|return|>")
        size = number % 5 + 1
        pieces = [ids[at : at + size] for at in range(0, len(ids), size)]
        events = [event(chunk(piece, "stop" if at == len(pieces) - 1 else None)) for at, piece in enumerate(pieces)]
        sent = b": a comment\r\n\r\n" + b"".join(events) + b"data: [DONE]\n\n"
        step = 37 + number
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for at in range(0, len(sent), step):
            await response.write(sent[at : at + step])
            await asyncio.sleep(0)
        return response


def asked(api, number):
    text = f"number {number}"
    body = {"model": GPT_OSS, **ASKED[api], "stream": True}
    return body | ({"input": text} if api == "responses" else {"messages": [{"role": "user", "content": text}]})


def numbers_in(api, text):
    """The numbers in the text that an API's stream has as deltas, and how often."""
    deltas = []
    for line in text.splitlines():
        if line.startswith("data: {"):
            data = json.loads(line[6:])
            if api == "chat":
                deltas += [choice["delta"].get("content") or "" for choice in data["choices"]]
            elif data["type"] in ("response.output_text.delta", "content_block_delta"):
                delta = data["delta"]
                deltas.append(delta if isinstance(delta, str) else delta.get("text", ""))
    found = re.findall(r" n(\d+) é", "".join(deltas))
    return set(map(int, found)), len(found)


async def one(session, url, number):
    """One stream; a tenth of the clients leave early. (numbers, count), or None for those."""
    api = ("chat", "responses", "messages")[number % 3]
    async with session.post(url + PATHS[api], json=asked(api, number)) as response:
        assert response.status == 200
        if number % 10 == 9:
            await response.content.readany()
            return None
        text = await response.text()
    return numbers_in(api, text)


async def many(url, streams=STREAMS):
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(60)) as session:
        return await asyncio.gather(*(one(session, url, number) for number in range(streams)))


def test_no_stream_has_anothers_bytes_and_nothing_is_left():
    with gateway(Echo([]), Echo([])) as made:
        found = asyncio.run(many(made.url))
        for number, result in enumerate(found):
            if number % 10 != 9:
                assert result == ({number}, WORDS), number
        assert made.settled()
        (pool,) = made.own.pools
        assert [member.open for member in pool.members] == [0, 0]
        assert (pool.open, made.own.admission.open, made.own.admission.waiting) == (set(), 0, 0)


def test_streams_that_wait_for_their_turn_are_answered_too():
    with gateway(Echo([]), app_options={"limits": Limits(concurrent=7)}) as made:
        found = asyncio.run(many(made.url))
        assert all(result == ({at}, WORDS) for at, result in enumerate(found) if at % 10 != 9)
        assert made.settled()


# --- hostile clients ----------------------------------------------------------------------------------------------


def raw(url, data, wait=0.0):
    """What the server says to these bytes, at most a line."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        try:
            connection.sendall(data)
            time.sleep(wait)
            return connection.recv(200)
        except ConnectionError:
            return b""


HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"


def test_hostile_bytes_harm_nobody():
    limits = Limits(body=1 << 16, body_seconds=0.2)
    with gateway(
        [chunk(ids_of("<|channel|>final<|message|>Hi<|return|>"), "stop")], app_options={"limits": limits}
    ) as made:
        lines = b"".join(b"x-%d: y\r\n" % at for at in range(10_000))
        for hostile in (
            b"\x00\xff\xfe" * 100 + b"\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            HEAD + lines + b"content-length: 2\r\n\r\n{}",
            HEAD + b"cookie: " + b"c" * (1 << 20) + b"\r\ncontent-length: 2\r\n\r\n{}",
            HEAD + b"content-length: -1\r\n\r\n",
            HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        ):
            assert b" 500 " not in raw(made.url, hostile)
        large = HEAD + b"transfer-encoding: chunked\r\n\r\n" + (b"8000\r\n" + b" " * 0x8000 + b"\r\n") * 4
        assert b" 413 " in raw(made.url, large)
        assert b" 413 " in raw(made.url, HEAD + b"content-length: 100000000\r\n\r\n")
        assert b" 408 " in raw(made.url, HEAD + b"content-length: 50\r\n\r\n{", wait=0.3)
        assert made.post("chat").json()["choices"][0]["message"]["content"] == "Hi"
        assert made.settled()


def test_a_client_that_leaves_before_the_first_token_frees_the_engine():
    with gateway([HANG]) as made:
        body = json.dumps({"model": GPT_OSS, **ASKED["chat"]}).encode()
        host, port = made.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
            waiting = time.monotonic() + 10
            while not made.engines[0].requests and time.monotonic() < waiting:
                time.sleep(0.005)
        assert made.settled()
        waiting = time.monotonic() + 10
        while not made.engines[0].gone and time.monotonic() < waiting:
            time.sleep(0.005)
        assert made.engines[0].gone == 1


def test_a_client_that_leaves_the_queue_gives_up_its_place():
    limits = Limits(concurrent=1, queue=1, queue_seconds=600)
    body = json.dumps({"model": GPT_OSS, **ASKED["chat"]}).encode()
    data = HEAD + b"content-length: %d\r\n\r\n" % len(body) + body
    with gateway([HANG], app_options={"limits": limits}) as made:
        host, port = made.url.removeprefix("http://").split(":")
        doors = made.own.admission
        with socket.create_connection((host, int(port)), timeout=10) as first:
            first.sendall(data)
            until(lambda: doors.open == 1)
            for _ in range(2):
                with socket.create_connection((host, int(port)), timeout=10) as second:
                    second.sendall(data)
                    until(lambda: doors.waiting == 1)
                    assert made.post("chat").status_code == 503
                until(lambda: doors.waiting == 0)
            assert doors.open == 1
        assert made.settled()
        assert len(made.engines[0].requests) == 1


def until(holds):
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@needs_nginx
def test_behind_nginx_frames_come_at_once_and_a_client_that_goes_is_noticed(tmp_path):
    script = [chunk(ids_of("<|channel|>final<|message|>Hi")), HANG]
    with gateway(script) as made, nginx_before(made.url.removeprefix("http://"), tmp_path) as address:
        host, port = address.split(":")
        body = json.dumps(asked("chat", 1)).encode()
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body)
            said = b""
            while b'"Hi"' not in said:  # though the answer never ends
                piece = connection.recv(10_000)
                assert piece
                said += piece
        assert made.settled()
    assert made.engines[0].gone == 1


@needs_nginx
def test_behind_nginx_many_streams_are_whole(tmp_path):
    with gateway(Echo([])) as made, nginx_before(made.url.removeprefix("http://"), tmp_path) as address:
        found = asyncio.run(many(f"http://{address}", 60))
        assert all(result == ({at}, WORDS) for at, result in enumerate(found) if at % 10 != 9)
        assert made.settled()
