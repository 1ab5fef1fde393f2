"""What clients see of a chat completion stream: its frames, its rules, the official client's models and HTTP."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk

import harmonystream as hs

Payload = dict[str, Any]
FRAME = re.compile(rb"data: (\{[^\n]*\}|\[DONE\])\n\n")
STANDARD = {"role", "content", "tool_calls"}  # of a delta; the rest is the reasoning and what the options name


def payloads_of(data: bytes) -> list[Any]:
    """The payloads of whole frames, "[DONE]" included: nothing else may stand between or behind them."""
    found = []
    position = 0
    while position < len(data):
        match = FRAME.match(data, position)
        assert match, data[position:][:200]
        found.append("[DONE]" if match[1] == b"[DONE]" else json.loads(match[1]))
        position = match.end()
    return found


def stream_of(parser: hs.Parser, **options: Any) -> hs.ChatStream:
    return hs.ChatStream(parser, **{"id": "chatcmpl-1", "model": "m", "created": 7, **options})


def as_bytes(
    stream: hs.ChatStream, pieces: Iterable[Any], reason: str | None = None, usage: Payload | None = None
) -> bytes:
    frames = [stream.start()]
    frames += [stream.feed_text(one) if isinstance(one, (str, bytes)) else stream.feed(one) for one in pieces]
    return b"".join([*frames, stream.finish(reason, usage)])


def as_dicts(
    stream: hs.ChatStream, pieces: Iterable[Any], reason: str | None = None, usage: Payload | None = None
) -> list[Payload]:
    chunks = stream.events()
    for piece in pieces:
        chunks += stream.events(piece)
    return chunks + stream.events(finish=True, reason=reason, usage=usage)


def validate(chunk: Payload, extra: set[str]) -> None:
    """Every field is the model's and has its type, but for these of the delta."""
    model = ChatCompletionChunk.model_validate(chunk, strict=True)
    assert not model.model_extra
    for choice in model.choices:
        assert not choice.model_extra
        assert set(choice.delta.model_extra or ()) <= extra
        for call in choice.delta.tool_calls or ():
            assert not call.model_extra
    assert model.to_dict() == chunk


def assembled(chunks: list[Payload]) -> Payload:
    """The response of one choice, joined chunk by chunk; checks the rules on the way."""
    first = chunks[0]
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    message: Payload = {"role": "assistant", "content": ""}
    calls: list[Payload] = []
    reason, usage = None, None
    for chunk in chunks[1:]:
        assert {name: chunk[name] for name in ("id", "object", "created", "model")} == {
            name: first[name] for name in ("id", "object", "created", "model")
        }
        if not chunk["choices"]:
            assert chunk is chunks[-1] and reason is not None
            usage = chunk["usage"]
            continue
        assert reason is None, "a chunk behind the finish reason"
        (choice,) = chunk["choices"]
        delta, reason = choice["delta"], choice["finish_reason"]
        assert bool(delta) is (reason is None)
        assert "role" not in delta
        for field, text in delta.items():
            if field != "tool_calls":
                assert text, "a delta that says nothing"
                message[field] = message.get(field, "") + text
        for call in delta.get("tool_calls", ()):
            join_call(calls, call)
    if calls:
        message["tool_calls"] = calls
    assert reason is not None
    index = first["choices"][0]["index"]
    whole = {"index": index, "message": message, "logprobs": None, "finish_reason": reason}
    made = {name: first[name] for name in ("id", "created", "model")} | {
        "object": "chat.completion",
        "choices": [whole],
    }
    return made if usage is None else {**made, "usage": usage}


def join_call(calls: list[Payload], call: Payload) -> None:
    if set(call) == {"index", "function"}:
        assert call["index"] == len(calls) - 1, "arguments of a call that is not the last"
        assert set(call["function"]) == {"arguments"} and call["function"]["arguments"]
        calls[-1]["function"]["arguments"] += call["function"]["arguments"]
        return
    assert call["index"] == len(calls), "indexes count from 0, without gaps"
    assert set(call) == {"index", "id", "type", "function"} and call["type"] == "function"
    assert call["function"].keys() == {"name", "arguments"} and call["function"]["arguments"] == ""
    assert call["id"] not in [one["id"] for one in calls]
    calls.append({"id": call["id"], "type": "function", "function": dict(call["function"])})


# --- HTTP ---


@contextmanager
def serving(make: Callable[[], Iterable[bytes]]) -> Iterator[openai.OpenAI]:
    """The official client of a server that answers every request with these pieces."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream; charset=utf-8")
            self.end_headers()
            for piece in make():
                self.wfile.write(piece)
                self.wfile.flush()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        base = f"http://127.0.0.1:{server.server_address[1]}/v1"
        with openai.OpenAI(base_url=base, api_key="none", max_retries=0) as client:
            yield client
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
