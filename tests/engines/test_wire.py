"""Engines that misbehave on the wire: what an adapter makes of it, and what it does not lose."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
from prompts import IDS, TEXT
from upstream import DONE, Upstream, event, serving

from harmonystream.engines import Completions, EngineError, Finished, LlamaServer, Sampling, VllmTokens
from harmonystream.engines import http as adapter
from harmonystream.engines.base import usage_of
from harmonystream.engines.http import SseReader, object_of
from harmonystream.engines.pictures import SglangGenerated

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
COUNTS = {"prompt_tokens": 7, "completion_tokens": 1}
RESET = object()


def choice(text: str, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": text, **more}]}


def chunked(*events: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in (*events, b""))


@asynccontextmanager
async def raw(script: list[Any], heads: list[bytes] | None = None) -> AsyncIterator[str]:
    """The URL of a server that answers each request with this script: bytes are sent, floats are slept. After it, the
    connection stays open. heads: gets the heads of the requests.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                if heads is not None:
                    heads.append(head)
                sizes = [line[16:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")]
                await reader.readexactly(int(sizes[0]) if sizes else 0)
                for item in script:
                    if item is RESET:
                        linger = b"\1\0\0\0\0\0\0\0"  # for no seconds: a close resets the connection
                        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                        writer.transport.abort()
                    elif isinstance(item, float):
                        await asyncio.sleep(item)
                    else:
                        writer.write(item)
                        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await asyncio.sleep(0.01)


def played(script: list[Any], kind: Any = Completions, prompt: Any = TEXT, **sampling: Any) -> list[Any]:
    """The items of an engine with these chunks."""

    async def main() -> list[Any]:
        async with serving(Upstream(script)) as url:
            engine = kind(url) if kind is LlamaServer else kind(url, "m")
            return [item async for item in engine.generate(prompt, Sampling(**sampling))]

    return asyncio.run(main())


# --- events -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_mark_at_the_beginning_costs_no_event(size):
    stream = b"\xef\xbb\xbfdata: 1\n\ndata: 2\n\n\xef\xbb\xbfdata: 3\n\n"
    reader = SseReader()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [data for piece in pieces for data in reader.feed(piece)] == [b"1", b"2"]


@pytest.mark.parametrize("line", [b"data:\n", b"data: x\n", b"data:\r\n"])
def test_an_event_of_endless_lines_is_refused(monkeypatch, line):
    """Also if the lines are empty. Each of them was counted again with every later one: 40,000 lines took 40 s."""
    monkeypatch.setattr(adapter, "MAX_EVENT", 1 << 20)
    reader = SseReader()
    with pytest.raises(EngineError, match="more than"):
        for _ in range(300):
            reader.feed(line * 1000)


def test_the_size_of_an_event_begins_again_with_the_next_one(monkeypatch):
    monkeypatch.setattr(adapter, "MAX_EVENT", 100)
    reader = SseReader()
    for _ in range(50):
        assert reader.feed(b"data: " + b"x" * 60) + reader.feed(b"\n") + reader.feed(b"\n") == [b"x" * 60]


# --- what the events say ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("usage", ["many", [1], 5, True, {"prompt_tokens": "7"}, {"completion_tokens": -1}])
@pytest.mark.parametrize("where", ["beside the end", "after it"])
def test_an_answer_is_whole_although_its_usage_is_nonsense(usage, where):
    last = choice("!", finish_reason="stop")
    end = [last | {"usage": usage}] if where == "beside the end" else [last, {"choices": [], "usage": usage}]
    assert played([choice("Hi"), *end, DONE]) == ["Hi", "!", Finished("stop")]


def test_a_usage_keeps_only_counts():
    details = {"cached_tokens": 3, "audio_tokens": None}
    odd = {
        "total_tokens": 1.5,
        "seconds": float("nan"),
        "x_tokens": [],
        "completion_tokens_details": 5,
        "cost": 0.5,
        "x": None,
    }
    found = usage_of({**COUNTS, "prompt_tokens_details": details, **odd})
    assert found == {**COUNTS, "prompt_tokens_details": {"cached_tokens": 3}, "cost": 0.5}


@pytest.mark.parametrize("tops", [5, "ab", [5], {"token_id": 1}, [[]], None])
def test_alternatives_that_are_not_objects_are_left_out(tops):
    logprobs = {"content": [{"logprob": -1.0, "top_logprobs": tops}]}
    end = choice("", token_ids=[12194], logprobs=logprobs, finish_reason="stop")
    sampled, _ = played([end, DONE], VllmTokens, IDS, logprobs=2)
    assert [(one["logprob"], one["top_logprobs"]) for one in sampled.logprobs] == [(-1.0, [])]


@pytest.mark.parametrize("tops", [[5], ["ab"], [[]], [[-0.5]], [None]])
def test_sglang_s_alternatives_that_are_not_lists_are_left_out(tops):
    about = {"completion_tokens": 1, "output_token_logprobs": [[-1.0, 5]], "output_top_logprobs": [tops]}
    generated = SglangGenerated.__new__(SglangGenerated)
    generated._vocab = IDS.parser().vocab
    made = generated._formed({"output_ids": [5], "meta_info": about})
    assert made["choices"][0]["logprobs"] == {"token_logprobs": [-1.0], "top_logprobs": [{}]}


@pytest.mark.parametrize("odd", [{"stop_type": ["eos"]}, {"stop_type": 5}, {"stopping_word": 5}])
def test_the_end_of_llama_server_is_words_or_nothing(odd):
    end = {"content": "Hi", "stop": True, "tokens_predicted": 1, "tokens_evaluated": 7}
    items = played([end | odd], LlamaServer)
    assert items == ["Hi", Finished(usage={**COUNTS, "total_tokens": 8})]


@pytest.mark.parametrize("ids", [[1 << 32], [5, 1 << 40], [-1], [True], [1.0], "5"])
def test_llama_server_s_ids_are_ids_of_some_vocabulary(ids):
    chunks = [{"content": "Hi", "tokens": [12194], "tokens_predicted": 1}]
    chunks.append({"content": "!", "tokens": ids, "tokens_predicted": 2, "stop": True})
    with pytest.raises(EngineError, match="not ids"):
        played(chunks, LlamaServer, IDS)


def test_an_error_is_shown_in_part():
    with pytest.raises(EngineError, match="reports: xxx") as raised:
        object_of(json.dumps({"error": {"message": "x" * (1 << 20), "code": True}}).encode())
    assert (len(str(raised.value)) < 5000, raised.value.status) == (True, None)


# --- answers and connections --------------------------------------------------------------------------------------


def test_an_answer_about_models_may_come_in_pieces():
    body = json.dumps({"data": [{"id": "a-model", "max_model_len": 777, "more": "x" * 2000}]}).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body)

    async def main() -> int | None:
        async with raw([head, 0.01, body[:50], 0.01, body[50:]]) as url:
            return await Completions(url).context_length()

    assert asyncio.run(main()) == 777


def test_an_answer_about_models_has_an_end(monkeypatch):
    monkeypatch.setattr(adapter, "MAX_EVENT", 1000)

    async def main() -> None:
        async with raw([b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 5000]) as url:
            await Completions(url).context_length()

    with pytest.raises(EngineError, match="more than 1000 bytes"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "rest", "shown"),
    [
        (400, [b"content-length: 8\r\n\r\n", b"too ", 0.01, b"long"], "too long"),
        (400, [b"content-length: 99\r\n\r\n", b"too long"], "too long"),
        (503, [b"content-length: 99\r\n\r\n", 0.01, RESET], ""),
        (503, [b"content-length: 99\r\n\r\n"], ""),
        (400, [b"content-encoding: gzip\r\ncontent-length: 8\r\n\r\n", 0.01, b"too long"], ""),
        (400, [b"transfer-encoding: chunked\r\n\r\n", 0.01, b"zzz"], ""),
    ],
    ids=["in pieces", "cut", "reset", "none", "no gzip", "no chunk"],
)
def test_a_refusal_is_one_whatever_its_body_does(monkeypatch, status, rest, shown):
    monkeypatch.setattr(adapter, "EXPLAINING", 0.2)

    async def main() -> None:
        async with raw([b"HTTP/1.1 %d No\r\n" % status + rest[0], *rest[1:]]) as url:
            async for _ in Completions(url, "m", silence=20.0).generate(TEXT, Sampling()):
                pass

    with pytest.raises(EngineError, match=f"HTTP {status}: {shown}$") as raised:
        asyncio.run(main())
    assert (raised.value.kind, raised.value.status) == ("status", status)


def test_an_engine_that_does_not_read_its_request_is_silent():
    """More than a socket holds, such as pictures."""

    async def main() -> None:
        done = asyncio.Event()

        async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await done.wait()
            writer.transport.abort()

        server = await asyncio.start_server(deaf, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        engine = Completions(url, "m", connect_timeout=1.0, silence=0.5)
        try:
            async for _ in engine.generate(replace(TEXT, text="x" * (1 << 25)), Sampling()):
                pass
        finally:
            done.set()
            server.close()

    with pytest.raises(EngineError, match="does not read") as raised:
        asyncio.run(asyncio.wait_for(main(), 30))
    assert raised.value.kind == "timeout"


def test_an_idle_connection_that_is_reset_is_not_logged(caplog):
    """As an engine's restart does to all of them."""
    body = chunked(event(choice("Hi", finish_reason="stop")), DONE)

    async def main() -> list[Any]:
        items = []
        script = [HEAD + b"transfer-encoding: chunked\r\n\r\n", 0.01, body, 0.02, RESET]
        async with raw(script) as url, Completions(url, "m") as engine:
            for _ in range(2):
                items += [item async for item in engine.generate(TEXT, Sampling())]
                await asyncio.sleep(0.1)
                gc.collect()
        return items

    with caplog.at_level(logging.ERROR, "asyncio"):
        assert asyncio.run(main()) == ["Hi", Finished("stop")] * 2
    assert not caplog.records


def test_no_key_goes_to_where_an_engine_s_health_is():
    heads: list[bytes] = []

    async def main() -> bool:
        async with raw([b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"], heads) as other:
            head = b"HTTP/1.1 302 Found\r\nlocation: %b/x\r\ncontent-length: 0\r\n\r\n" % other.encode()
            async with raw([head]) as url:
                return await Completions(url, headers={"api-key": "secret"}).is_ready()

    assert asyncio.run(main()) is True
    assert heads == []
