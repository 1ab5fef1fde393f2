"""What clients see of a chat completion stream: the rules that it keeps, the official client's models, its reading."""

from __future__ import annotations

from typing import Any

import openai
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from wire_frames import Payload, validated
from wire_scenarios import Item, Text

import harmonystream as hs

SPARE = frozenset(
    {"reasoning", "reasoning_content", "preamble", "token_ids", "stop_reason"}
)  # what the client's models do not have
WHOLE = ChatCompletion
HEAD = ("id", "object", "created", "model")
USAGE: Payload = {
    **{"prompt_tokens": 7, "completion_tokens": 70, "total_tokens": 77},
    "completion_tokens_details": {"reasoning_tokens": 9},
}


def stream_of(parser: hs.Parser, **options: Any) -> hs.ChatStream:
    return hs.ChatStream(parser, **{"id": "chatcmpl-1", "model": "m", "created": 7, **options})


def validate(chunk: Payload) -> Any:
    return validated(ChatCompletionChunk, chunk, SPARE)


def read_by_client(chunks: list[Payload]) -> Payload:
    """The official client's own reading of chunks, without HTTP, as a response. Raises what it would raise there."""
    state: ChatCompletionStreamState[Any] = ChatCompletionStreamState(
        input_tools=openai.omit, response_format=openai.omit
    )
    for chunk in chunks:
        state.handle_chunk(validate(chunk))
    return plain(state.current_completion_snapshot)


def plain(completion: Any) -> Payload:
    """A completion that the client's helper has assembled, as the server would send it: without what it adds."""
    found: Payload = completion.to_dict(mode="python")
    found["object"] = "chat.completion"
    if found.get("system_fingerprint", "") is None:
        del found["system_fingerprint"]
    for choice in found["choices"]:
        message = choice["message"]
        for name in ("parsed", "function_call", "refusal", "annotations", "audio"):
            assert message.pop(name, None) is None
        choice.setdefault("logprobs", None)
        message["refusal"] = None
        calls = message.pop("tool_calls", None) or []
        for call in calls:
            assert call.pop("index", None) is not None
            call["function"].pop("parsed_arguments", None)
        if calls:
            message["tool_calls"] = calls
    return found


# --- the rules ---


def assembled(chunks: list[Any]) -> Payload:
    """The response of one choice, joined chunk by chunk; checks the rules on the way."""
    if chunks[-1] == "[DONE]":  # after dicts there is none
        chunks = chunks[:-1]
    first = chunks[0]
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    message: Payload = {"role": "assistant", "content": ""}
    calls: list[Payload] = []
    reason, usage = None, None
    for chunk in chunks[1:]:
        assert [chunk[name] for name in HEAD] == [first[name] for name in HEAD]
        if not chunk["choices"]:
            assert chunk is chunks[-1] and reason is not None
            usage = chunk["usage"]
            continue
        assert reason is None, "a chunk after the finish reason"
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
    message["refusal"] = None
    if calls:
        message["tool_calls"] = calls
    assert reason is not None
    index = first["choices"][0]["index"]
    choice = {"index": index, "message": message, "logprobs": None, "finish_reason": reason}
    made = {**{name: first[name] for name in HEAD}, "object": "chat.completion", "choices": [choice]}
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


# --- what a scenario says ---


def expected(format: str, said: list[Item], reason: str | None) -> Payload:
    texts = {"reasoning": "", "content": ""}
    calls: list[Payload] = []
    whole = True
    for item in said:
        if isinstance(item, Text):
            field = "reasoning" if item.kind == "reasoning" else "content"
            # In Harmony each text is a message of its own. A blank line parts two of them in one field.
            texts[field] += ("\n\n" if format == "harmony" and texts[field] else "") + item.text
            continue
        id = f"functions.{item.name}:{len(calls)}" if format == "kimi_k2" else f"call_1_{len(calls)}"
        calls.append({"id": id, "type": "function", "function": {"name": item.name, "arguments": item.arguments}})
        whole = whole and item.complete
    message: Payload = {"role": "assistant", "content": texts["content"], "refusal": None}
    message |= {"reasoning": texts["reasoning"]} if texts["reasoning"] else {}
    message |= {"tool_calls": calls} if calls else {}
    if reason in (None, "stop"):
        reason = "tool_calls" if calls and whole else "stop"
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "m", "choices": [choice]}
    return {**head, "usage": USAGE}
