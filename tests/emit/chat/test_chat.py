"""Chat completions: options, choices, usage and errors."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai.types.shared import ErrorObject
from streams import to_ids
from wire_chat import assembled, stream_of, validate
from wire_frames import as_bytes, as_dicts, payloads_of, validated
from wire_server import bytes_app, clients_of

import harmonystream as hs

REASON = "<|channel|>analysis<|message|>Hm, 雨.<|end|>"
PREAMBLE = "<|start|>assistant<|channel|>commentary<|message|>One moment.<|end|>"
FINAL = '<|start|>assistant<|channel|>final<|message|>It’s \u2028 \x85 "raining" 😀.<|return|>'
ANSWER = FINAL.split("<|message|>")[1].removesuffix("<|return|>")
USAGE = {"prompt_tokens": 5}


def call(arguments: str, name: str = "f") -> str:
    return (
        f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"
    )


OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"include_usage": True, "extra": {"system_fingerprint": "fp"}},
    {"reasoning_field": "reasoning_content", "preamble_field": "preamble"},
    {"reasoning_field": "both", "preamble_field": None},
    {"reasoning_field": None, "preamble_field": "reasoning", "parallel_tool_calls": False},
    {"tool_choice": "none"},
)


# --- over HTTP ---


def test_an_error_in_mid_stream_is_an_api_error():
    stream = stream_of(hs.Parser())
    pieces = [stream.start(), stream.feed_text(REASON), stream.error("out of memory", code="busy")]
    with clients_of(bytes_app(pieces)) as clients:
        chunks = clients.openai.chat.completions.create(model="m", messages=[], stream=True)
        with pytest.raises(openai.APIError, match="out of memory"):
            for chunk in chunks:
                assert chunk.choices[0].finish_reason is None
    error = {"message": "out of memory", "type": "server_error", "param": None, "code": "busy"}
    assert payloads_of(pieces[-1]) == [{"error": error}, "[DONE]"]
    (plain,) = stream_of(hs.Parser()).error_events("out of memory", code="busy")
    assert plain == {"error": error}
    validated(ErrorObject, plain["error"])


def test_several_choices():
    options = {"id": "chatcmpl-1", "model": "m", "created": 7, "include_usage": True}
    first, second = hs.ChatStream.several([hs.Parser(), hs.Parser()], **options)
    ids = to_ids((REASON + FINAL).encode())
    pieces = [first.start(), second.start()]
    for token in ids:
        pieces += [first.feed(token), second.feed(token)]
    pieces += [second.finish("length"), first.finish("stop", USAGE)]
    with clients_of(bytes_app(pieces)) as clients:
        read = clients.assembled("chat", "m")
        for chunk in clients.events("chat", "m"):
            validate(chunk)
    assert read == first.response()
    assert [(choice["index"], choice["finish_reason"]) for choice in read["choices"]] == [(0, "stop"), (1, "length")]
    assert [choice["message"]["content"] for choice in read["choices"]] == [ANSWER] * 2
    assert read["usage"]["completion_tokens"] == 2 * len(ids)


# --- options ---


@pytest.mark.parametrize("options", OPTIONS)
def test_every_option_in_bytes_and_in_dicts(options):
    ids = to_ids((REASON + PREAMBLE + call('{"q": "é"}') + call("{}") + FINAL).encode())
    said = []
    for pieces in ([ids], ids):
        fed, told = stream_of(hs.Parser(), **options), stream_of(hs.Parser(), **options)
        chunks = as_dicts(told, pieces, "stop", USAGE)
        assert payloads_of(b"".join(as_bytes(fed, pieces, "stop", USAGE))) == [*chunks, "[DONE]"]
        for chunk in chunks:
            validate(chunk)
        made = fed.response()
        assert made == told.response()
        assert assembled(chunks) == {name: made[name] for name in assembled(chunks)}
        said.append(made)
    assert said[0] == said[1]
    assert said[0].get("system_fingerprint") == options.get("extra", {}).get("system_fingerprint")


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


@pytest.mark.parametrize("stop_reason", ["END\u2028", 200002, 0, ""])
def test_the_stop_string_of_the_engine_is_sent_once(stop_reason):
    fed, told = stream_of(hs.Parser()), stream_of(hs.Parser())
    data = fed.start() + fed.feed_text(FINAL) + fed.finish("stop", stop_reason=stop_reason)
    chunks = told.events() + told.events(FINAL) + told.events(finish=True, reason="stop", stop_reason=stop_reason)
    assert payloads_of(data) == [*chunks, "[DONE]"]
    assert [chunk["choices"][0].get("stop_reason") for chunk in chunks] == [None] * (len(chunks) - 1) + [stop_reason]
    for again in (lambda: fed.finish("stop"), lambda: fed.events(finish=True), lambda: fed.events("x")):
        with pytest.raises(ValueError, match="has ended"):
            again()
    whole = fed.response()
    assert told.response() == whole
    assert whole["choices"][0].pop("stop_reason") == stop_reason
    with clients_of(bytes_app([data])) as clients:  # its helper knows no such field; its chunks have it
        assert clients.assembled("chat", "m") == {**whole, "usage": None}
        assert clients.events("chat", "m")[-1]["choices"][0]["stop_reason"] == stop_reason
        for chunk in clients.events("chat", "m"):
            validate(chunk)


@pytest.mark.parametrize(
    ("arguments", "end", "said", "reason"),
    [("", "", "", "stop"), ('{"i": 1', "", '{"i": 1', "stop"), ('{"i": 1}', "<|call|>", '{"i": 1}', "tool_calls")],
)
def test_a_call_that_a_stop_string_has_cut_is_not_completed(arguments, end, said, reason):
    for how in ({"reason": "stop", "stop_reason": "END"}, {"reason": {"type": "stop", "matched": "END"}}):
        stream = stream_of(hs.Parser())
        stream.start()
        stream.feed_text(call(arguments).removesuffix("<|call|>") + end)
        stream.finish(**how)
        choice = stream.response()["choices"][0]
        assert choice["finish_reason"] == reason
        assert [one["function"]["arguments"] for one in choice["message"]["tool_calls"]] == [said]


def test_a_stop_that_json_has_not_is_refused():
    stream = stream_of(hs.Parser())
    stream.start()
    with pytest.raises(TypeError):
        stream.finish("stop", stop_reason=b"END")
    assert b'"finish_reason":"stop"}' in stream.finish("stop")


def test_reasoning_and_preamble_go_where_they_should():
    text = REASON + PREAMBLE + FINAL
    messages = [response_of(text, **options)["message"] for options in OPTIONS[:5]]
    shown = {"role": "assistant", "content": "One moment.\n\n" + ANSWER, "reasoning": "Hm, 雨.", "refusal": None}
    apart = {"role": "assistant", "content": ANSWER, "refusal": None}
    assert messages == [
        shown,
        shown,
        {**apart, "reasoning_content": "Hm, 雨.", "preamble": "One moment."},
        {**apart, "reasoning": "Hm, 雨.", "reasoning_content": "Hm, 雨."},
        {**apart, "reasoning": "One moment."},
    ]


@pytest.mark.parametrize("watched", [False, True])
def test_a_blank_line_parts_a_preamble_from_the_answer(watched):
    text = PREAMBLE + "<|start|>assistant<|channel|>final<|message|><|end|>" + FINAL
    stream = stream_of(hs.Parser(), token_ids=watched)
    chunks = [*stream.events(), *stream.events(text), *stream.events(finish=True, reason="stop")]
    pieces = [chunk["choices"][0]["delta"].get("content") for chunk in chunks]
    assert [piece for piece in pieces if piece] == ["One moment.", "\n\n", ANSWER]
    assert stream.response()["choices"][0]["message"]["content"] == f"One moment.\n\n{ANSWER}"


def test_bytes_have_the_blank_line_too():
    stream = stream_of(hs.Parser())
    frames = stream.start() + stream.feed_text(PREAMBLE + FINAL) + stream.finish("stop")
    assert frames.count(b'{"content":"\\n\\n"}') == 1
    assert frames.index(b"One moment.") < frames.index(b'"\\n\\n"') < frames.index("It’s".encode())


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
    stream = stream_of(hs.Parser("mistral"), call_id=lambda index: f"own_{index}")
    as_bytes(stream, ["[TOOL_CALLS]f[CALL_ID]a1B2c3D4e[ARGS]{}[TOOL_CALLS]f[CALL_ID][ARGS]{}"])
    assert [one["id"] for one in stream.response()["choices"][0]["message"]["tool_calls"]] == ["a1B2c3D4e", "own_1"]
    made = response_of(call("{}") + call("{}"))["message"]["tool_calls"]
    assert [one["id"] for one in made] == ["call_1_0", "call_1_1"]


def test_what_stands_for_a_text_while_a_frame_is_made_may_be_in_an_id():
    mark = "\ue000text\ue001"
    stream = stream_of(hs.Parser(start="answer"), id=mark, model='"\ue000number\ue001"\n')
    chunk = payloads_of(stream.start() + stream.feed(13225))[1]
    assert (chunk["id"], chunk["model"]) == (mark, '"\ue000number\ue001"\n')
    assert chunk["choices"][0]["delta"] == {"content": "Hello"}


def test_usage_is_completed_from_the_parser():
    ids = to_ids((REASON + FINAL).encode())
    stream = stream_of(hs.Parser(), include_usage=True)
    usage = payloads_of(b"".join(as_bytes(stream, [ids], "stop", USAGE)))[-2]["usage"]
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
