"""Server-sent events as the adapters read them."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompts import IDS, TEXT
from upstream import DONE, Upstream, event, serving

from harmonystream.engines import Completions, EngineError, LlamaServer, Sampling
from harmonystream.engines import http as adapter
from harmonystream.engines.http import SseReader

STREAM = (
    b": hi\n\ndata: 1\n\ndata:2\r\n\r\nevent: x\nid: 3\ndata: a\ndata: b\n\n\n\ndata: \xf0\x9f\x90\xbc\n\nretry: 1\n\n"
)
EVENTS = [b"1", b"2", b"a\nb", b"\xf0\x9f\x90\xbc"]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_do_not_depend_on_how_the_stream_is_cut(cuts):
    edges = [0, *sorted(cuts), len(STREAM)]
    reader = SseReader()
    assert [event for at, end in pairwise(edges) for event in reader.feed(STREAM[at:end])] == EVENTS


@given(st.lists(st.sampled_from([b"data: ", b"data:", b"\n", b"\n\n", b"\r", b"x", b": ", b"data: x\n\n"]).map(bytes)))
def test_pieces_of_any_size_say_the_same(pieces):
    at_once, one_by_one = SseReader(), SseReader()
    data = b"".join(pieces)
    expected = [event for at in range(len(data)) for event in one_by_one.feed(data[at : at + 1])]
    assert [event for piece in pieces for event in at_once.feed(piece)] == expected


def test_numbers_that_are_not_json_are_read_anyway():
    assert adapter.object_of(b'{"a": -Infinity}') == {"a": float("-inf")}
    with pytest.raises(EngineError, match="not JSON"):
        adapter.object_of(b"[" * 100_000)


def test_an_event_that_has_not_ended_is_not_read():
    reader = SseReader()
    assert reader.feed(b"data: 1\n") == []
    assert reader.feed(b"\n") == [b"1"]


@pytest.mark.parametrize("piece", [b"x" * 64, b"data: xxxxxxxx\n"])
def test_an_endless_event_is_refused(monkeypatch, piece):
    monkeypatch.setattr(adapter, "MAX_EVENT", 1000)
    reader = SseReader()
    with pytest.raises(EngineError, match="more than 1000 bytes"):
        for _ in range(200):
            reader.feed(piece)


ANSWER = [event({"choices": [{"index": 0, "text": "Hi", "finish_reason": "stop"}]}), DONE]


def ask(upstream: Upstream, kind: Any = Completions, **options: Any) -> list[Any]:
    async def main() -> list[Any]:
        async with serving(upstream) as url:
            engine = kind(url, **({"model": "m"} if kind is Completions else {}), **options)
            return [item async for item in engine.generate(TEXT, Sampling())]

    return asyncio.run(main())


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(monkeypatch, status):
    monkeypatch.setattr(adapter, "PAUSE", 0.001)
    upstream = Upstream(ANSWER, first=[status, status])
    assert ask(upstream, retries=2)[0] == "Hi"
    assert len(upstream.requests) == 3
    for retries, first in ((0, [status]), (1, [status, status])):
        with pytest.raises(EngineError, match=f"HTTP {status}"):
            ask(Upstream(ANSWER, first=first), retries=retries)


def test_retry_after_is_respected_up_to_a_bound():
    assert adapter._pause(0, "7") == 7.0
    assert adapter._pause(0, "100000") == adapter.LONGEST_PAUSE
    assert adapter._pause(3, None) == adapter._pause(3, "Wed, 21 Oct 2026 07:28:00 GMT") == 4.0


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_stays_one(status):
    upstream = Upstream(ANSWER, first=[status])
    with pytest.raises(EngineError, match=f"HTTP {status}"):
        ask(upstream, retries=5)
    assert len(upstream.requests) == 1


def test_a_connection_that_fails_is_tried_again(monkeypatch):
    monkeypatch.setattr(adapter, "PAUSE", 0.001)
    tried = []

    async def main() -> None:
        engine = Completions("http://127.0.0.1:1", "m", retries=2)
        make = engine._new_session

        def session() -> Any:
            made = make()
            request = made.request

            def counted(*args: Any, **options: Any) -> Any:
                tried.append(1)
                return request(*args, **options)

            made.request = counted
            return made

        monkeypatch.setattr(engine, "_new_session", session)
        async for _ in engine.generate(TEXT, Sampling()):
            pass

    with pytest.raises(EngineError) as raised:
        asyncio.run(main())
    assert (raised.value.kind, len(tried)) == ("connection", 3)


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.0, 0.01], ids=["read at once", "read later"])
def test_an_answer_that_stops_being_http_is_an_error_at_any_byte(pause):
    """aiohttp does not wake the reader of a body when something else follows in a later packet."""
    choices = [{"index": 0, "text": text} for text in ("Hello ", "there", "!")]
    choices[-1]["finish_reason"] = "stop"
    events = [event({"choices": [choice]}) for choice in choices]
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    whole = head + b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in [*events, DONE]) + b"0\r\n\r\n"

    async def asked(cut: int) -> tuple[str, str]:
        answered = asyncio.Event()

        async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(whole[:cut])
                await asyncio.sleep(0.005)
                writer.write(b"\xff\x00}{\r\n")
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            answered.set()

        server = await asyncio.start_server(broken, "127.0.0.1", 0)
        text, end = "", "whole"
        try:
            async with Completions(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "m") as engine:
                async for item in engine.generate(TEXT, Sampling()):
                    text += item if isinstance(item, str) else ""
                    await asyncio.sleep(pause)
        except EngineError as error:
            end = error.kind
        await answered.wait()
        server.close()
        return text, end

    async def all_of_them() -> list[tuple[str, str]]:
        ends = await asyncio.wait_for(asyncio.gather(*(asked(cut) for cut in range(len(whole) + 1))), 20)
        await asyncio.sleep(0.05)  # until aiohttp has closed its sockets
        return ends

    ends = asyncio.run(all_of_them())
    last = whole.index(b"data: [DONE]\n\n") + len(b"data: [DONE]\n\n")
    for cut, (text, end) in enumerate(ends):
        sent = [one for one in ("Hello ", "there", "!") if whole.index(one.encode()) + len(one) <= cut]
        assert "Hello there!".startswith(text) and len(text) <= len("".join(sent))
        assert (text, end) == ("Hello there!", "whole") if cut >= last else end in ("connection", "protocol"), cut


def test_retries_are_a_number():
    with pytest.raises(ValueError, match="0 or more"):
        Completions("http://x", retries=-1)


@pytest.mark.parametrize("body", [b"<!doctype html><title>Hello</title>", b'{"detail": "Not here"}'])
@pytest.mark.parametrize("kind", [Completions, LlamaServer])
def test_what_is_no_stream_is_shown(body, kind):
    with pytest.raises(EngineError, match=r"not an event stream: .*[Hh]e") as raised:
        ask(Upstream([body], replied={"content-type": "text/html"}), kind)
    assert raised.value.kind == "protocol"


def test_a_redirect_is_not_followed():
    """The prompt and the key are for this server."""
    elsewhere = Upstream(ANSWER)

    async def main() -> None:
        async with serving(elsewhere) as other, serving(Upstream([], 307, replied={"location": other + "/x"})) as url:
            async for _ in Completions(url, "m", key="secret").generate(TEXT, Sampling()):
                pass

    with pytest.raises(EngineError, match="HTTP 307: it is elsewhere, at http"):
        asyncio.run(main())
    assert elsewhere.requests == []


def test_only_the_choice_that_was_asked_for_is_read():
    other = event({"choices": [{"index": 1, "text": "no", "finish_reason": "length"}]})
    both = event({"choices": [{"index": 1, "text": "no"}, {"index": 0, "text": "So "}]})
    items = ask(Upstream([other, both, other, *ANSWER]))
    assert items[:-1] == ["So ", "Hi"]
    assert items[-1].reason == "stop"


@pytest.mark.parametrize("size", [0, 5, adapter.LONG, 3 * adapter.LONG + 1])
def test_a_long_prompt_is_written_in_pieces(size):
    body = {"model": "m", "prompt": list(range(size)), "stream": True}
    assert json.loads(adapter._encoded(body)) == body


def test_a_long_prompt_is_sent_again_as_it_was(monkeypatch):
    monkeypatch.setattr(adapter, "PAUSE", 0.001)
    upstream, ids = Upstream(ANSWER, first=[503]), list(range(2 * adapter.LONG))

    async def main() -> None:
        async with serving(upstream) as url:
            engine = Completions(url, "m", retries=1)
            assert [item async for item in engine.generate(replace(IDS, ids=ids), Sampling())]

    asyncio.run(main())
    assert [body["prompt"] for _, body in upstream.requests] == [ids, ids]
