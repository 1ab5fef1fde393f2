"""Frames that are sent from where the engine's outputs arrive, beside those that go through vLLM's queue."""

from __future__ import annotations

import json
import re
import socket
import time
import urllib.request
from typing import Any

import pytest

pytest.importorskip("vllm")

from host_scenarios import FLAT, MESSAGES, TOOLS, ids_of, played
from test_vllm_derender import post
from test_vllm_frames import CALLING, raw
from vllm_answers import INPUTS, chat_stream, expected
from wire_scenarios import SCENARIOS

DIRECT = "streams are sent from where the engine's outputs arrive"
ASKED: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": MESSAGES, "tools": TOOLS, "stream_options": {"include_usage": True}},
    "/v1/messages": {"messages": MESSAGES, "tools": INPUTS, "max_tokens": 9000},
    "/v1/responses": {"input": "Go!", "tools": FLAT, "store": False},
}
CHAT = "/v1/chat/completions"
CHANGING = re.compile(
    rb'("(?:id|item_id|call_id|system_fingerprint|signature|created|created_at|completed_at)":)(?:"[^"]*"|\d+)'
)
HIDDEN = {"chat_template_kwargs": {"enable_thinking": False}}


def plain(body: bytes) -> bytes:
    """Without what differs between two answers."""
    return CHANGING.sub(rb"\1-", body)


def answer(host: Any, route: str, **more: Any) -> bytes:
    status, body = post(host, route, {"model": "tiny", "stream": True, **ASKED[route], **more})
    assert status == 200, body
    return body


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("route", ASKED)
@pytest.mark.parametrize(("family", "format"), [("qwen3", "hermes"), ("gpt_oss", "harmony")])
def test_the_bytes_are_those_of_the_usual_way(server, family, format, route, size):
    """If the engine is so slow that vLLM's queue joins nothing."""
    said = []
    for kind in ("frames", "queued"):
        host = server(family, kind)
        for name in (CALLING, "reasoning and content", "cut in arguments"):
            play = played(format, SCENARIOS[name])
            host.play(play.ids, finish=play.finish, at_once=size, pause=0.002)
            said.append((kind, name, plain(answer(host, route))))
    half = len(said) // 2
    assert [each[1:] for each in said[:half]] == [each[1:] for each in said[half:]]
    assert DIRECT not in server(family, "queued").log()
    if (family, route) != ("gpt_oss", "/v1/responses"):
        host, play = server(family, "frames"), played(format, SCENARIOS[CALLING])
        for _ in range(10):  # on a busy machine, a short answer may end before anybody looks where its outputs arrive
            if DIRECT not in host.log():
                host.play(play.ids, finish=play.finish, at_once=1, pause=0.05)
                answer(host, route)
        assert DIRECT in host.log()


def text_of(chunks: list[dict[str, Any]], index: int = 0) -> str:
    said = [choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == index]
    return "".join(choice["delta"].get("content") or "" for choice in said)


class Slow:
    """A client with a small window, that reads when it is told to."""

    def __init__(self, host: Any, **more: Any) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(60)
        self._socket.connect(("127.0.0.1", host.port))
        asked = json.dumps({"model": "tiny", "messages": MESSAGES, "stream": True, **HIDDEN, **more}).encode()
        head = f"POST {CHAT} HTTP/1.1", "host: -", "connection: close", "content-type: application/json"
        self._socket.sendall("\r\n".join([*head, f"content-length: {len(asked)}\r\n\r\n"]).encode() + asked)
        self.said = b""

    def some(self, size: int) -> None:
        while len(self.said) < size and (more := self._socket.recv(1 << 16)):
            self.said += more

    def chunks(self) -> list[dict[str, Any]]:
        """All of them, to the end."""
        while more := self._socket.recv(1 << 16):
            self.said += more
        self.leave()
        frames = re.findall(rb"data: (\{.*\})\n\n", self.said)
        assert self.said.count(b"data: ") == len(frames) + 1 and b"data: [DONE]\n\n" in self.said
        return [json.loads(frame) for frame in frames]

    def leave(self) -> None:
        self._socket.close()


def long_text(words: int) -> str:
    return " ".join(f"word{at}" for at in range(words))


@pytest.mark.parametrize("n", [1, 2])
def test_a_slow_client_gets_all_of_it_once(server, n):
    host, text = server("qwen3", "frames"), long_text(9000)
    host.play(ids_of(host.family, text, stops=True), notes=False)
    slow = Slow(host, n=n)
    for size in (2000, 300_000, 400_000):
        slow.some(size)
        time.sleep(0.7)
    chunks = slow.chunks()
    assert [text_of(chunks, index) for index in range(n)] == [text] * n
    assert len(slow.said) > 2_000_000


def test_a_slow_client_does_not_delay_another(server):
    host, text = server("qwen3", "frames"), long_text(9000)
    host.play(ids_of(host.family, text, stops=True), notes=False)
    slow = Slow(host)
    slow.some(2000)
    assert text_of(raw(host, **HIDDEN)) == text
    assert text_of(slow.chunks()) == text


def test_a_client_that_leaves_ends_its_request(server):
    host = server("qwen3", "frames")
    for size in (500, 100_000):
        host.play(ids_of(host.family, long_text(20_000), stops=True), notes=False)
        leaving = Slow(host)
        leaving.some(size)
        time.sleep(0.5 if size > 500 else 0)
        leaving.leave()
        deadline = time.monotonic() + 30
        while not host.aborted() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert host.aborted()
    host.play(ids_of(host.family, "Hi", stops=True))
    assert text_of(raw(host, **HIDDEN)) == "Hi"


def test_an_error_in_the_middle_ends_the_stream_alone(server):
    """A number that is not an id."""
    host = server("qwen3", "frames")
    ids = ids_of(host.family, "One, two, three, four", stops=True)
    host.play([*ids[:4], 10**12, *ids[4:]])
    for route in ASKED:
        *_, last = answer(host, route).removesuffix(b"data: [DONE]\n\n").decode().split("\n\n")[:-1]
        assert re.search(r'"error": ?\{', last), last  # and not the null of a response that is complete
    host.play(ids)
    assert text_of(raw(host, **HIDDEN)) == "One, two, three, four"


def test_the_engines_error_after_outputs_that_were_sent(server):
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, "One, two, three", stops=False), finish="error")
    chunks = raw(host, **HIDDEN)
    assert "error" in chunks[-1] and "One, two, three".startswith(text_of(chunks[:-1])) and len(chunks) > 3


@pytest.mark.parametrize("size", [1, 4])
def test_stop_strings(server, size):
    host = server("qwen3", "frames")
    text = "One, two. ST or S, not that. STOP here"
    host.play(ids_of(host.family, text, stops=False), at_once=size)
    for n in (1, 2):
        chunks = raw(host, stop=["STOP"], n=n, **HIDDEN)
        assert [text_of(chunks, index) for index in range(n)] == [text.partition("STOP")[0]] * n


def test_two_choices_and_their_usage(server):
    host = server("qwen3", "frames")
    play = played("hermes", SCENARIOS[CALLING])
    host.play(play.ids)
    chunks = raw(host, n=2, tools=TOOLS, stream_options={"include_usage": True})
    calls = [[], []]
    for choice in (choice for chunk in chunks for choice in chunk["choices"]):
        for call in choice["delta"].get("tool_calls", ()):
            calls[choice["index"]].append(call["function"]["arguments"])
    wanted = "".join(call[1] for call in expected(host, play.ids).calls)
    assert ["".join(parts) for parts in calls] == [wanted, wanted]
    assert chunks[-1]["usage"]["completion_tokens"] == 2 * len(play.ids)


def test_vllms_metrics_count_what_was_sent_directly(server):
    host = server("qwen3", "frames")

    def counted(name: str = r"vllm:generation_tokens_total\{.*\}") -> float:
        with urllib.request.urlopen(f"{host.url}/metrics", timeout=30) as response:
            said = response.read().decode()
        return sum(map(float, re.findall(rf"^{name} (\S+)$", said, re.MULTILINE)))

    def ours() -> tuple[float, float]:
        """The figures of harmonystream in vLLM's own route."""
        return (
            counted(r'harmonystream_streams_total\{path="direct"\}'),
            counted(r'harmonystream_repairs_total\{code="unfinished-header"\}'),
        )

    before = counted()
    ids = ids_of(host.family, long_text(50), stops=True)
    host.play(ids)
    assert chat_stream(host)[1].completion_tokens == len(ids)
    assert counted() - before == len(ids)
    streams, repairs = ours()
    host.play(ids_of(host.family, "One moment.<tool_call>", stops=False), finish="length")
    chat_stream(host)
    assert ours() == (streams + 1, repairs + 1)
