"""What clients see of a Responses stream: its frames, the rules it must keep, the official client's models and HTTP."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, get_args

import openai
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel

import harmonystream as hs
from harmonystream.emit.responses import ResponsesStream

Payload = dict[str, Any]
FRAME = re.compile(rb"event: ([\w.]+)\ndata: (\{[^\n]*\})\n\n")
TERMINAL = ("response.completed", "response.incomplete", "response.failed")
# The events of an item behind output_item.added, in order; "+": one or more.
ORDERS = {
    "reasoning": "content_part.added (reasoning_text.delta )+reasoning_text.done content_part.done output_item.done ",
    "message": "content_part.added (output_text.delta )+output_text.done content_part.done output_item.done ",
    "function_call": "(function_call_arguments.delta )*function_call_arguments.done output_item.done ",
    "mcp_call": "mcp_call.in_progress (mcp_call_arguments.delta )*mcp_call_arguments.done (mcp_call.completed )?"
    "output_item.done ",
    "code_interpreter_call": "code_interpreter_call.in_progress (code_interpreter_call_code.delta )*"
    "code_interpreter_call_code.done (code_interpreter_call.interpreting code_interpreter_call.completed )?"
    "output_item.done ",
    "web_search_call": "web_search_call.in_progress (web_search_call.searching web_search_call.completed )?"
    "output_item.done ",
}


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
    union = get_args(ResponseStreamEvent)[0]
    return {get_args(model.model_fields["type"].annotation)[0]: model for model in get_args(union)}


def validate(payload: Payload) -> None:
    """Every field is the model's, has the model's type, and none that it needs is missing."""
    model = models()[payload["type"]].model_validate(payload, strict=True)
    assert_nothing_extra(model)
    assert model.to_dict() == payload


def assert_nothing_extra(value: Any) -> None:
    if isinstance(value, BaseModel):
        assert not value.model_extra, f"{type(value).__name__} has no {list(value.model_extra)}"
        for name in type(value).model_fields:
            assert_nothing_extra(getattr(value, name))
    elif isinstance(value, list):
        for one in value:
            assert_nothing_extra(one)


def read_by_client(payloads: Iterable[Payload]) -> ResponseStreamState[Any]:
    """The official client's own reading of a stream, without HTTP. Raises what it would raise there."""
    state: ResponseStreamState[Any] = ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
    for payload in payloads:
        state.handle_event(models()[payload["type"]].model_validate(payload))  # type: ignore[arg-type]
    return state


# --- the rules ---


def assembled(payloads: list[Payload]) -> Payload:
    """The response that the events make, event by event, and that the last one must repeat."""
    assert [payload["sequence_number"] for payload in payloads] == list(range(len(payloads)))
    types = [payload["type"] for payload in payloads]
    assert types[:2] == ["response.created", "response.in_progress"]
    assert [type for type in types if type in TERMINAL] == [types[-1]]
    response = payloads[0]["response"]
    assert payloads[1]["response"] == response
    assert (response["status"], response["output"], response["usage"]) == ("in_progress", [], None)
    output: list[Payload] = []
    rest = payloads[2:-1]
    while rest:
        size = 1 + next(at for at, one in enumerate(rest) if one["type"] == "response.output_item.done")
        output.append(read_item(rest[:size], len(output)))
        rest = rest[size:]
    ids = [item["id"] for item in output] + [item["call_id"] for item in output if "call_id" in item]
    assert len(set(ids)) == len(ids)
    final = payloads[-1]["response"]
    assert types[-1] == f"response.{final['status']}"
    changed = ("status", "output", "usage", "error", "incomplete_details")
    assert {**final, **{name: response[name] for name in changed}} == response
    assert final["output"] == output
    return dict(final)


def read_item(events: list[Payload], index: int) -> Payload:
    added, *inside = events
    assert added["type"] == "response.output_item.added"
    item = added["item"]
    assert {one["output_index"] for one in events} == {index}
    assert {one["item_id"] for one in inside[:-1]} <= {item["id"]}
    assert {one["content_index"] for one in inside if "content_index" in one} <= {0}
    assert re.fullmatch(ORDERS[item["type"]], "".join(f"{one['type'].removeprefix('response.')} " for one in inside))
    deltas = [one["delta"] for one in inside if one["type"].endswith(".delta")]
    assert all(deltas)
    text = "".join(deltas)
    done = inside[-1]["item"]
    assert done["status"] in ("completed", "incomplete")
    expected = {**item, "status": done["status"]}
    if item["type"] in ("reasoning", "message"):
        assert inside[-3]["text"] == text
        part = {**inside[0]["part"], "text": text}
        assert inside[-2]["part"] == part
        assert item["content"] == []
        expected["content"] = [part]
    elif item["type"] == "web_search_call":
        expected["action"] = done["action"]
    else:
        field = "code" if item["type"] == "code_interpreter_call" else "arguments"
        said = next(one[field] for one in inside if one["type"].endswith((f"_{field}.done", "arguments.done")))
        assert (item[field], said) == ("", text)
        expected[field] = text
    assert done == expected
    return dict(done)


# --- a text as a stream, read by all of these ---


def stream(parser: hs.Parser | None = None, **options: Any) -> ResponsesStream:
    return ResponsesStream(parser or hs.Parser(), id="resp_1", model="m", created_at=1700000000, **options)


def to(recipient: str, body: str, end: str = "<|call|>") -> str:
    return f"<|start|>assistant to={recipient}<|channel|>commentary<|message|>{body}{end}"


def read(text: str, reason: str | None = None, parser: hs.Parser | None = None, **options: Any) -> list[Payload]:
    """The payloads of a text, which are valid, keep the rules and are what the official client accepts."""
    emitter = stream(parser, **options)
    data = emitter.start() + emitter.feed_text(text.removeprefix("<|start|>assistant")) + emitter.finish(reason)
    payloads = payloads_of(data)
    for payload in payloads:
        validate(payload)
    assert assembled(payloads) == emitter.response()
    read_by_client(payloads)
    return payloads


def output(*arguments: Any, **options: Any) -> list[Payload]:
    items: list[Payload] = read(*arguments, **options)[-1]["response"]["output"]
    return items


def item_events(payloads: list[Payload], index: int = 0) -> list[str]:
    return [one["type"].removeprefix("response.") for one in payloads if one.get("output_index") == index]


# --- what a response should have, from the parser's events alone ---


def outline(events: Iterable[hs.Event]) -> list[tuple[Any, ...]]:
    """Reasoning, messages and calls with their texts, one by one: ("reasoning", text), ("message", phase, text),
    ("call", name, text, is it complete?)."""
    found: list[list[Any]] = []
    phases = {"final": "final_answer", "commentary": "commentary"}
    fresh = True  # is the next delta the first of its item?
    for event in events:
        match event:
            case hs.ReasoningDelta(text=text):
                if fresh or found[-1][0] != "reasoning":
                    found.append(["reasoning", ""])
                found[-1][-1] += text
                fresh = False
            case hs.ContentDelta(text=text, channel=channel):
                if fresh or found[-1][0] != "message":
                    found.append(["message", phases.get(channel), ""])
                found[-1][-1] += text
                fresh = False
            case hs.ToolCallStart(name=name):
                found.append(["call", name, "", None])
            case hs.ToolCallDelta(arguments=text):
                found[-1][2] += text
            case hs.ToolCallEnd(complete=complete):
                found[-1][3] = complete
                fresh = True
            case hs.MessageStart() | hs.MessageEnd():
                fresh = True
    return [tuple(item) for item in found]


def outline_of(response: Payload) -> list[tuple[Any, ...]]:
    """The same of a response. Web searches have no arguments to compare: None."""
    found: list[tuple[Any, ...]] = []
    for item in response["output"]:
        if item["type"] == "reasoning":
            found.append(("reasoning", item["content"][0]["text"]))
        elif item["type"] == "message":
            found.append(("message", item.get("phase"), item["content"][0]["text"]))
        else:
            names = {"code_interpreter_call": "python", "web_search_call": "browser"}
            name = item["name"] if "name" in item else names[item["type"]]
            name = f"{item['server_label']}.{name}" if item["type"] == "mcp_call" else name
            text = item.get("arguments", item.get("code"))
            found.append(("call", name, text, item["status"] == "completed"))
    return found


# --- HTTP ---


@contextmanager
def served(script: Callable[[Payload], Iterator[bytes]]) -> Iterator[openai.OpenAI]:
    """A client of a server on loopback that answers a request's body with these bytes, each sent as it comes."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

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
        base_url = f"http://127.0.0.1:{server.server_port}/v1"
        with openai.OpenAI(base_url=base_url, api_key="none", max_retries=0, timeout=30) as client:
            yield client
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
