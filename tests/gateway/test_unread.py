"""Clients that read nothing are left, so that others get their turns."""

from __future__ import annotations

import asyncio
import json
import socket
import time

import pytest
from gateways import ASKED, GPT_OSS, chunk, gateway, ids_of

from harmonystream.gateway.limits import Limits

WORDS = ids_of("<|channel|>final<|message|>" + "word " * 2000)


def endless():
    return [chunk(WORDS) for _ in range(2000)]


def unread(url):
    """A connection that has asked for a stream and reads nothing."""
    host, port = url.removeprefix("http://").split(":")
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect((host, int(port)))
    body = json.dumps({"model": GPT_OSS, **ASKED["chat"], "stream": True}).encode()
    head = (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    )
    made.sendall(head % len(body) + body)
    return made


@pytest.mark.parametrize("limits", [{"send": 0.3}, {"total": 3.0}])
def test_four_that_read_nothing_do_not_hold_up_others(limits):
    options = {"limits": Limits(concurrent=4, queue_seconds=30, keep_alive=0.2, **limits)}
    with gateway(endless(), context=10**9, app_options=options) as made:
        stuck = [unread(made.url) for _ in range(4)]
        try:
            deadline = time.monotonic() + 20
            while made.own.admission.open < 4 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert made.own.admission.open == 4
            with made.http.stream(
                "POST", "/v1/chat/completions", json={"model": GPT_OSS, **ASKED["chat"], "stream": True}
            ) as answer:
                assert answer.status_code == 200
                assert next(answer.iter_bytes())
            assert made.settled()
            deadline = time.monotonic() + 20
            while made.engines[0].gone < 4 and time.monotonic() < deadline:
                time.sleep(0.01)
            assert made.engines[0].gone >= 4  # the engine is told, too
        finally:
            for one in stuck:
                one.close()


def test_a_comment_does_not_wait_for_a_client_that_reads_nothing():
    """The engine is silent after more than the client takes, so that the next thing to send is a comment."""
    from harmonystream.emit import ChatStream
    from harmonystream.integrations.starlette import EventStreamResponse

    taken = []

    async def send(message):
        if b"keep-alive" in message.get("body", b""):
            await asyncio.Event().wait()
        taken.append(message)

    async def receive():
        await asyncio.Event().wait()

    async def source():
        yield ids_of("<|channel|>final<|message|>Hi")
        await asyncio.Event().wait()

    async def run():
        stream = ChatStream(id="chatcmpl-1", model="m", created=0)
        response = EventStreamResponse(source(), stream, keep_alive=0.05, send_timeout=0.05)
        await asyncio.wait_for(response({"type": "http"}, receive, send), 10)

    asyncio.run(run())
    assert taken[-1]["more_body"]
