"""Chat completions: rules and options, over random streams, and as the official client reads them."""

from __future__ import annotations

import json
import random
from typing import Any

import openai
import pytest
import random_streams as harmony
import random_tags as tags
from hypothesis import given
from hypothesis import strategies as st
from streams import random_chunks, to_ids
from tag_streams import TAG_FORMATS
from wire_chat import as_bytes, as_dicts, assembled, payloads_of, serving, stream_of, validate

import harmonystream as hs

REASON = "<|channel|>analysis<|message|>Hm, 雨.<|end|>"
PREAMBLE = "<|start|>assistant<|channel|>commentary<|message|>One moment.<|end|>"
FINAL = '<|start|>assistant<|channel|>final<|message|>It’s \u2028 \x85 "raining" 😀.<|return|>'
USAGE = {"prompt_tokens": 5}


def call(arguments: str, name: str = "f") -> str:
    return (
        f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"
    )


SCENARIOS: dict[str, tuple[str, str | None]] = {
    "reasoning": (REASON, "stop"),
    "content": (FINAL.removeprefix("<|start|>assistant"), "stop"),
    "both": (REASON + FINAL, "stop"),
    "preamble and a call": (REASON + PREAMBLE + call('{"q": "é"}'), "stop"),
    "three calls": (PREAMBLE + call("{}") + call('{"a":1}', "g") + call('{"a":2}'), "stop"),
    "no arguments": (call(""), "stop"),
    "a newline before the arguments": (call('\n{"a":1}'), "stop"),
    "arguments that are not JSON": (call("print(1)"), "stop"),
    "cut in a header": (REASON + "<|start|>assistant<|channel|>comm", "length"),
    "cut in a name": (REASON + "<|start|>assistant<|channel|>commentary to=functions.get_we", "length"),
    "cut in arguments": (call('{"a": [1')[: -len("<|call|>")], "length"),
    "cut in reasoning": ("<|channel|>analysis<|message|>Hm", "length"),
    "no markup": ("Just text.", "stop"),
    "unknown channel": ("<|channel|>musing<|message|>Hm<|end|>" + FINAL, "stop"),
    "a built-in tool": ("<|channel|>analysis to=python code<|message|>print(1)<|call|>", "stop"),
    "long arguments": (call(json.dumps({"a": ["word"] * 3_400})), "stop"),  # 10,204 tokens
    "nothing": ("", None),
}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"include_usage": True, "extra": {"system_fingerprint": "fp"}},
    {"reasoning_field": "reasoning_content", "preamble_field": "preamble"},
    {"reasoning_field": "both", "preamble_field": None},
    {"reasoning_field": None, "preamble_field": "reasoning", "parallel_tool_calls": False},
    {"tool_choice": "none"},
)
EXTRA = {"reasoning", "reasoning_content", "preamble"}


def agree(make: Any, output: Any, reason: str | None, options: dict[str, Any], seed: int) -> None:
    """Bytes and dicts of random cuts are equal, keep the rules, and make the response of the whole."""
    whole = stream_of(make(), **options)
    chunks = as_dicts(whole, [output], reason, USAGE)
    response = whole.response()
    expected = assembled(chunks)
    fingerprint = {"system_fingerprint": "fp"} if "extra" in options else {}
    usage = {} if options.get("include_usage") else {"usage": response["usage"]}
    assert response == expected | fingerprint | usage
    pieces = random_chunks(output, random.Random(seed))
    fed, told = stream_of(make(), **options), stream_of(make(), **options)
    payloads = payloads_of(as_bytes(fed, pieces, reason, USAGE))
    assert payloads.pop() == "[DONE]"
    assert payloads == as_dicts(told, pieces, reason, USAGE)
    assert fed.response() == told.response() == response
    assert assembled(payloads) == expected


@given(st.data(), harmony.options, harmony.seeds, st.sampled_from(OPTIONS))
def test_bytes_dicts_and_response_agree_on_random_harmony(data, drawn, seed, options):
    output = data.draw(st.one_of(harmony.id_streams, harmony.byte_streams))
    agree(drawn.parser, output, drawn.finish, options, seed)


@pytest.mark.parametrize("name", TAG_FORMATS)
@given(data=st.data(), seed=harmony.seeds, options=st.sampled_from(OPTIONS))
def test_bytes_dicts_and_response_agree_on_random_tags(name, data, seed, options):
    output, drawn = data.draw(tags.texts(name)), data.draw(tags.options(name))
    agree(lambda: hs.Parser(name, tools=["f", "g"]), output, drawn.finish, options, seed)


# --- the official client ---


def as_sent(model: Any) -> Any:
    return model.model_dump(exclude_unset=True)


def same(found: Any, response: dict[str, Any]) -> None:
    """What the client has put together is the response."""
    message = response["choices"][0]["message"]
    choice = dict(found["choices"][0])
    read = dict(choice["message"])
    calls = [
        {"id": one["id"], "type": one["type"], "function": {k: one["function"][k] for k in ("name", "arguments")}}
        for one in read.pop("tool_calls", None) or ()
    ]
    assert calls == message.get("tool_calls", [])
    expected = {name: value for name, value in message.items() if name != "tool_calls"}
    assert read == expected
    assert choice["finish_reason"] == response["choices"][0]["finish_reason"]
    for name in ("id", "created", "model", "usage"):
        assert found[name] == response[name]


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("size", [1, 7])
def test_the_official_client_over_http(name, size):
    text, reason = SCENARIOS[name]
    ids = to_ids(text.encode())
    stream = stream_of(hs.Parser(), include_usage=True)
    pieces = [stream.start()]
    pieces += [stream.feed(ids[at : at + size]) for at in range(0, len(ids), size)]
    pieces += [stream.finish(reason, USAGE)]
    request: dict[str, Any] = {"model": "m", "messages": [], "stream_options": {"include_usage": True}}
    with serving(lambda: pieces) as client:
        plain = [as_sent(chunk) for chunk in client.chat.completions.create(**request, stream=True)]
        with client.chat.completions.stream(**request) as reading:
            kinds = {event.type for event in reading}
            final = reading.current_completion_snapshot
    response = stream.response()
    assert plain == payloads_of(b"".join(pieces))[:-1]
    for chunk in plain:
        validate(chunk, EXTRA)
    same(final.model_dump(exclude_none=True), response)
    calls = response["choices"][0]["message"].get("tool_calls", [])
    assert ("tool_calls.function.arguments.delta" in kinds) is any(one["function"]["arguments"] for one in calls)


def test_an_error_in_mid_stream_is_an_api_error():
    stream = stream_of(hs.Parser())
    pieces = [stream.start(), stream.feed_text(REASON), stream.error("out of memory", code=500)]
    with serving(lambda: pieces) as client:
        chunks = client.chat.completions.create(model="m", messages=[], stream=True)
        with pytest.raises(openai.APIError, match="out of memory"):
            for chunk in chunks:
                assert chunk.choices[0].finish_reason is None
    error = {"message": "out of memory", "type": "server_error", "param": None, "code": 500}
    assert payloads_of(pieces[-1]) == [{"error": error}, "[DONE]"]
    assert stream.error_events("out of memory", code=500) == [{"error": error}]


def test_several_choices():
    options = {"id": "chatcmpl-1", "model": "m", "created": 7, "include_usage": True}
    first, second = hs.ChatStream.several([hs.Parser(), hs.Parser()], **options)
    ids = to_ids((REASON + FINAL).encode())
    pieces = [first.start(), second.start()]
    for token in ids:
        pieces += [first.feed(token), second.feed(token)]
    pieces += [second.finish("length"), first.finish("stop", USAGE)]
    with serving(lambda: pieces) as client, client.chat.completions.stream(model="m", messages=[], n=2) as reading:
        reading.until_done()
        read = reading.current_completion_snapshot.model_dump()
    response = first.response()
    assert [choice["index"] for choice in response["choices"]] == [0, 1]
    assert [choice["finish_reason"] for choice in read["choices"]] == ["stop", "length"]
    said = [choice["message"]["content"] for choice in read["choices"]]
    assert said == [choice["message"]["content"] for choice in response["choices"]]
    assert response["usage"]["completion_tokens"] == read["usage"]["completion_tokens"] == 2 * len(ids)


# --- options ---


def response_of(text: str, reason: str | None = "stop", parser: hs.Parser | None = None, **options: Any) -> Any:
    stream = stream_of(parser or hs.Parser(), **options)
    as_bytes(stream, [to_ids(text.encode())], reason)
    return stream.response()["choices"][0]


@pytest.mark.parametrize(
    ("options", "reason", "calls", "expected"),
    [
        ({}, "stop", 2, "tool_calls"),
        ({}, "length", 2, "length"),
        ({"tool_choice": "none"}, "stop", 0, "stop"),
        ({"tool_choice": "none"}, "length", 0, "length"),
        ({"tool_choice": "required"}, "stop", 2, "tool_calls"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "stop", 2, "stop"),
        ({"tool_choice": {"type": "allowed_tools", "allowed_tools": {}}}, "stop", 2, "tool_calls"),
        ({"parallel_tool_calls": False}, "stop", 1, "tool_calls"),
        ({"parallel_tool_calls": None}, "stop", 2, "tool_calls"),
        ({}, "content_filter", 2, "content_filter"),
    ],
)
def test_finish_reasons(options, reason, calls, expected):
    choice = response_of(call("{}") + call("{}"), reason, **options)
    assert (len(choice["message"].get("tool_calls", [])), choice["finish_reason"]) == (calls, expected)


def test_reasoning_and_preamble_go_where_they_should():
    text = REASON + PREAMBLE + FINAL
    answer = FINAL.split("<|message|>")[1].removesuffix("<|return|>")
    messages = [response_of(text, **options)["message"] for options in OPTIONS[:5]]
    shown = {"role": "assistant", "content": "One moment." + answer, "reasoning": "Hm, 雨."}
    apart = {"role": "assistant", "content": answer}
    assert messages == [
        shown,
        shown,
        {**apart, "reasoning_content": "Hm, 雨.", "preamble": "One moment."},
        {**apart, "reasoning": "Hm, 雨.", "reasoning_content": "Hm, 雨."},
        {**apart, "reasoning": "One moment."},
    ]


def test_a_reasoning_field_that_there_is_not():
    with pytest.raises(ValueError, match="not 'thoughts'"):
        stream_of(hs.Parser(), reasoning_field="thoughts")


def test_ids_of_calls():
    kimi = "<|tool_calls_section_begin|>" + 2 * (
        "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    )
    stream = stream_of(hs.Parser("kimi_k2"), call_id=lambda index: f"own_{index}")
    as_bytes(stream, [kimi + "<|tool_calls_section_end|>"])
    assert [one["id"] for one in stream.response()["choices"][0]["message"]["tool_calls"]] == ["functions.f:0", "own_1"]
    made = response_of(call("{}") + call("{}"))["message"]["tool_calls"]
    assert [one["id"] for one in made] == ["call_chatcmpl-1_0_0", "call_chatcmpl-1_0_1"]


def test_what_stands_for_a_text_while_a_frame_is_made_may_be_in_an_id():
    mark = "\ue000text\ue001"
    stream = stream_of(hs.Parser(start="answer"), id=mark, model='"\ue000number\ue001"\n')
    chunk = payloads_of(stream.start() + stream.feed(13225))[1]
    assert (chunk["id"], chunk["model"]) == (mark, '"\ue000number\ue001"\n')
    assert chunk["choices"][0]["delta"] == {"content": "Hello"}


def test_usage_is_completed_from_the_parser():
    ids = to_ids((REASON + FINAL).encode())
    stream = stream_of(hs.Parser(), include_usage=True)
    usage = payloads_of(as_bytes(stream, [ids], "stop", USAGE))[-2]["usage"]
    details = {"reasoning_tokens": stream.parser.usage.reasoning}
    assert details["reasoning_tokens"] > 0
    tokens = {"prompt_tokens": 5, "completion_tokens": len(ids), "total_tokens": 5 + len(ids)}
    assert usage == {**tokens, "completion_tokens_details": details}
    given = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "completion_tokens_details": {"x": 1}}
    stream = stream_of(hs.Parser(start="reasoning"))
    as_bytes(stream, [13225], "stop", given)
    assert stream.response()["usage"] == given | {"completion_tokens_details": {"reasoning_tokens": 1, "x": 1}}
    text = stream_of(hs.Parser())
    as_bytes(text, [REASON], "stop", {"prompt_tokens": 1, "completion_tokens": 2})
    assert text.response()["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


def test_usual_ids():
    made = [hs.emit.new_id(prefix) for prefix in ("chatcmpl", "chatcmpl", "resp")]
    assert [one[:-24] for one in made] == ["chatcmpl-", "chatcmpl-", "resp_"]
    assert len({one[-24:] for one in made}) == 3
