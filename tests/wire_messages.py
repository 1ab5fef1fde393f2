"""What clients see of a Messages stream: its frames, the rules it must keep, the official client's models and HTTP."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, get_args

import anthropic
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import RawMessageStreamEvent
from pydantic import BaseModel

Payload = dict[str, Any]
FRAME = re.compile(rb"event: (\w+)\ndata: (\{[^\n]*\})\n\n")
DELTAS = {"thinking": ("thinking_delta", "signature_delta"), "text": ("text_delta",), "tool_use": ("input_json_delta",)}


def payloads_of(data: bytes) -> list[Payload]:
    """The payloads of whole frames: nothing else may stand between or behind them."""
    found = []
    position = 0
    while position < len(data):
        match = FRAME.match(data, position)
        assert match, data[position:][:200]
        payload = json.loads(match[2])
        assert payload["type"] == match[1].decode()
        found.append(payload)
        position = match.end()
    return found


# --- the official client's models ---


@cache
def models() -> dict[str, type[BaseModel]]:
    union = get_args(RawMessageStreamEvent)[0]
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(union)}


def validate(payload: Payload) -> Any:
    """Every field is the model's, has the model's type, and none that it needs is missing."""
    model = models()[payload["type"]].model_validate(payload, strict=True)
    assert_nothing_extra(model)
    assert model.to_dict(mode="python") == payload  # type: ignore[attr-defined]
    return model


def assert_nothing_extra(value: Any) -> None:
    if isinstance(value, BaseModel):
        assert not value.model_extra, f"{type(value).__name__} has no {list(value.model_extra)}"
        for name in type(value).model_fields:
            assert_nothing_extra(getattr(value, name))
    elif isinstance(value, list):
        for one in value:
            assert_nothing_extra(one)


def plain(message: Any) -> Payload:
    """A client's message as a payload."""
    made: Payload = message.to_dict(mode="python")
    assert made.pop("stop_details", None) is None
    for block in made["content"]:
        assert block.pop("parsed_output", None) is None
    return made


def read_by_client(payloads: Iterable[Payload]) -> Payload:
    """The official client's own reading of a stream, without HTTP. Raises what it would raise there."""
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for payload in payloads:
        event: Any = validate(payload)
        snapshot = accumulate_event(
            event=event, current_snapshot=snapshot, json_bufs=buffers, output_format=anthropic.NOT_GIVEN
        )
    return plain(snapshot)


# --- the rules ---


def blocks_of(payloads: list[Payload]) -> list[tuple[Payload, str, str]]:
    """What the blocks say, one by one: (as it starts, its deltas joined, its signature). One is open at a time."""
    start, *inside, delta, stop = payloads
    assert [one["type"] for one in (start, delta, stop)] == ["message_start", "message_delta", "message_stop"]
    message = start["message"]
    assert (message["content"], message["stop_reason"], message["stop_sequence"]) == ([], None, None)
    assert delta["usage"]["output_tokens"] >= 0
    blocks: list[tuple[Payload, str, str]] = []
    while inside:
        size = 1 + next(at for at, one in enumerate(inside) if one["type"] == "content_block_stop")
        begin, *deltas, _ = inside[:size]
        assert begin["type"] == "content_block_start"
        assert {one["index"] for one in inside[:size]} == {len(blocks)}
        assert {one["type"] for one in deltas} <= {"content_block_delta"}
        block, said = begin["content_block"], dict.fromkeys(DELTAS[begin["content_block"]["type"]], "")
        for one in deltas:
            (text,) = [value for field, value in one["delta"].items() if field != "type"]
            assert text
            said[one["delta"]["type"]] += text
        text, signature = [*said.values(), ""][:2]
        assert text or block["type"] == "tool_use"
        blocks.append((block, text, signature))
        inside = inside[size:]
    ids = [block["id"] for block, *_ in blocks if "id" in block]
    assert len(set(ids)) == len(ids)
    return blocks


# --- HTTP ---


@contextmanager
def served(script: Callable[[Payload], Iterable[bytes]]) -> Iterator[anthropic.Anthropic]:
    """A client of a server on loopback that answers a request's body with these bytes, each sent as it comes."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for data in script(body):
                if data:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        base_url = f"http://127.0.0.1:{server.server_port}"
        with anthropic.Anthropic(base_url=base_url, api_key="none", max_retries=0, timeout=30) as client:
            yield client
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
