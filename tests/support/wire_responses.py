"""What clients see of a Responses stream: the rules that it keeps, the official client's models, its reading."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import openai
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel
from wire_frames import Payload, as_bytes, models_of, payloads_of, validated
from wire_scenarios import Call, Item

import harmonystream as hs

TERMINAL = ("response.completed", "response.incomplete", "response.failed")
WHOLE = Response
# Of the event `error`, what the Python client looks at; of custom calls, what the AI SDK requires.
SPARE = frozenset({"error", "status"})
PREFIXES = {
    **{"reasoning": "rs", "message": "msg", "function_call": "fc"},
    **{"custom_tool_call": "ctc", "mcp_call": "mcp", "code_interpreter_call": "ci", "web_search_call": "ws"},
}
PHASES = {"content": "final_answer", "preamble": "commentary"}
PHASE_OF_CHANNEL = {"final": "final_answer", "commentary": "commentary"}
WHY = {"length": "max_output_tokens", "content_filter": "content_filter"}
USAGE: Payload = {"input_tokens": 7, "output_tokens": 70, "output_tokens_details": {"reasoning_tokens": 9}}
FIELDS = {"code_interpreter_call": "code", "custom_tool_call": "input"}  # of a call's text; others have arguments
# The events of an item after output_item.added, in order; "+": one or more.
ORDERS = {
    "reasoning": "content_part.added (reasoning_text.delta )+reasoning_text.done content_part.done output_item.done ",
    "message": "content_part.added (output_text.delta )+output_text.done content_part.done output_item.done ",
    "function_call": "(function_call_arguments.delta )*function_call_arguments.done output_item.done ",
    "custom_tool_call": "(custom_tool_call_input.delta )*custom_tool_call_input.done output_item.done ",
    "mcp_call": "mcp_call.in_progress (mcp_call_arguments.delta )*mcp_call_arguments.done (mcp_call.completed )?"
    "output_item.done ",
    "code_interpreter_call": "code_interpreter_call.in_progress (code_interpreter_call_code.delta )*"
    "code_interpreter_call_code.done (code_interpreter_call.interpreting code_interpreter_call.completed )?"
    "output_item.done ",
    "web_search_call": "web_search_call.in_progress (web_search_call.searching web_search_call.completed )?"
    "output_item.done ",
}


def stream_of(parser: hs.Parser, **options: Any) -> hs.ResponsesStream:
    return hs.ResponsesStream(parser, **{"id": "resp_1", "model": "m", "created": 7, **options})


# --- the official client ---


@cache
def models() -> dict[str, type[BaseModel]]:
    return models_of(ResponseStreamEvent)


def validate(payload: Payload) -> Any:
    return validated(models()[payload["type"]], payload, SPARE)


def read_by_client(payloads: list[Payload]) -> ResponseStreamState[Any]:
    """The official client's own reading of a stream, without HTTP. Raises what it would raise there."""
    state: ResponseStreamState[Any] = ResponseStreamState(input_tools=openai.omit, text_format=openai.omit)
    for payload in payloads:
        state.handle_event(validate(payload))
    return state


def plain(response: Any) -> Payload:
    """A response that the client's helper has assembled, as the server would send it: without what it adds."""
    found: Payload = response.to_dict(mode="python")
    for item in found["output"]:
        assert item.pop("parsed_arguments", None) is None
        for part in item.get("content") or ():
            assert part.pop("parsed", None) is None
    return found


# --- the rules ---


def assembled(payloads: list[Payload]) -> Payload:
    """The response that the events make, event by event, and that the last one must repeat."""
    payloads = list(payloads)
    assert [payload["sequence_number"] for payload in payloads] == list(range(len(payloads)))
    types = [payload["type"] for payload in payloads]
    assert types[:2] == ["response.created", "response.in_progress"]
    assert [type for type in types if type in TERMINAL] == [types[-1]]
    if types[-1] == "response.failed":
        assert payloads.pop(-2)["type"] == "error"
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
    expected = dict(item)
    assert (item["status"], done["status"] in ("completed", "incomplete")) == ("in_progress", True)
    expected["status"] = done["status"]
    if item["type"] in ("reasoning", "message"):
        assert inside[-3]["text"] == text
        part = {**inside[0]["part"], "text": text}
        assert inside[-2]["part"] == part
        assert item["content"] == []
        expected["content"] = [part]
    elif item["type"] == "web_search_call":
        expected["action"] = done["action"]
    else:
        field = FIELDS.get(item["type"], "arguments")
        (said,) = (one[field] for one in inside if one["type"].endswith(f"_{field}.done"))
        assert (item[field], said) == ("", text)
        expected[field] = text
    assert done == expected
    return dict(done)


# --- a text as a stream, read by all of these ---


def to(recipient: str, body: str, end: str = "<|call|>") -> str:
    return f"<|start|>assistant to={recipient}<|channel|>commentary<|message|>{body}{end}"


def read(text: str, reason: str | None = None, parser: hs.Parser | None = None, **options: Any) -> list[Payload]:
    """The payloads of a text, which are valid, keep the rules and are what the official client accepts."""
    emitter = stream_of(parser or hs.Parser(), **options)
    payloads = payloads_of(b"".join(as_bytes(emitter, [text.removeprefix("<|start|>assistant")], reason)))
    assert assembled(payloads) == emitter.response()
    read_by_client(payloads)
    return payloads


def output(*arguments: Any, **options: Any) -> list[Payload]:
    items: list[Payload] = read(*arguments, **options)[-1]["response"]["output"]
    return items


def item_events(payloads: list[Payload], index: int = 0) -> list[str]:
    return [one["type"].removeprefix("response.") for one in payloads if one.get("output_index") == index]


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
            text = item.get(FIELDS.get(item["type"], "arguments"))
            found.append(("call", name, text, item.get("status") == "completed"))
    return found


# --- what a scenario says ---


def expected(format: str, said: list[Item], reason: str | None) -> Payload:
    calls_before = [sum(isinstance(one, Call) for one in said[:index]) for index in range(len(said))]
    output = [item_of(format, item, index, calls_before[index]) for index, item in enumerate(said)]
    calls = [item["call_id"] for item in output if "call_id" in item]
    if format == "kimi_k2":  # the model's own
        for count, id in enumerate(calls):
            item = next(one for one in output if one.get("call_id") == id)
            item["call_id"] = f"functions.{item['name']}:{count}"
    why = WHY.get(reason or "stop")
    empty = ("error", "incomplete_details", "instructions", "temperature", "top_p")
    return {
        **dict.fromkeys(empty),
        **{"id": "resp_1", "object": "response", "created_at": 7, "model": "m", "output": output},
        "status": "incomplete" if why else "completed",
        "incomplete_details": why and {"reason": why},
        **{"metadata": {}, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []},
        "usage": {**USAGE, "total_tokens": 77, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}},
    }


def item_of(format: str, item: Item, index: int, calls: int) -> Payload:
    """calls: before it."""
    status = "completed" if item.complete else "incomplete"
    if isinstance(item, Call):
        function = {"type": "function_call", "call_id": f"call_1_{calls}", "name": item.name}
        made = dict(item.item or {**function, "arguments": item.arguments})
        return {**made, "id": f"{PREFIXES[made['type']]}_1_{index}", "status": status}
    if item.kind == "reasoning":
        part: Payload = {"type": "reasoning_text", "text": item.text}
        return {"type": "reasoning", "id": f"rs_1_{index}", "summary": [], "content": [part], "status": status}
    part = {"type": "output_text", "text": item.text, "annotations": [], "logprobs": []}
    phase = {"phase": PHASES[item.kind]} if format == "harmony" and item.channel is None else {}
    head = {"type": "message", "id": f"msg_1_{index}", "role": "assistant", "status": status, **phase}
    return {**head, "content": [part]}
