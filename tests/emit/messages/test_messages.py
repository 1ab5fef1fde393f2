"""MessagesStream: what each event becomes, options, ids, usage and errors."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from anthropic.types.shared import ErrorResponse
from streams import to_ids
from wire_frames import as_bytes, as_dicts, payloads_of, validated
from wire_messages import DIRECT, NULLS, USAGE_NULLS, blocks_of, read_by_client, signature_of, stream_of, validate
from wire_scenarios import call, message
from wire_server import bytes_app, clients_of

import harmonystream as hs

GIVEN = {"input_tokens": 7, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0}
TURN = (
    message("<|channel|>analysis", "Hm.")
    + message("<|channel|>commentary", "Wait.")
    + call("functions.f", '\n{"a": 1}') * 2
)


def emitter_of(parser: hs.Parser | None = None, **options: Any) -> hs.MessagesStream:
    return stream_of(parser or hs.Parser(), **{"usage": GIVEN, **options})


def fed_payloads(
    pieces: list[Any], emitter: hs.MessagesStream, reason: str | None = "stop", usage: Any = None
) -> list[dict[str, Any]]:
    return as_dicts(emitter, pieces, reason, usage)


def whole(text: str, reason: str | None = "stop", **options: Any) -> dict[str, Any]:
    """The response of a Harmony text, as the client reads it too."""
    emitter = emitter_of(**options)
    made = fed_payloads(list(to_ids(text.removeprefix("<|start|>assistant").encode())), emitter, reason)
    blocks_of(made)
    assert read_by_client(made) == emitter.response()
    return emitter.response()


# --- payloads ---


def test_the_events_of_a_turn():
    made = fed_payloads(
        [TURN.removeprefix("<|start|>assistant")],
        emitter_of(signature=lambda text: f"<{text}>"),
        usage={"output_tokens": 9},
    )
    delta, stop = "content_block_delta", "content_block_stop"
    assert [{key: value for key, value in one.items() if key != "message"} for one in made] == [
        {"type": "message_start"},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": delta, "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": delta, "index": 0, "delta": {"type": "signature_delta", "signature": "<Hm.>"}},
        {"type": stop, "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "", "citations": None}},
        {"type": delta, "index": 1, "delta": {"type": "text_delta", "text": "Wait."}},
        {"type": stop, "index": 1},
        *(
            one
            for at in (0, 1)
            for one in (
                {
                    "type": "content_block_start",
                    "index": 2 + at,
                    "content_block": {
                        **{"type": "tool_use", "id": f"toolu_1_{at}", "name": "f", "input": {}, "caller": DIRECT}
                    },
                },
                {"type": delta, "index": 2 + at, "delta": {"type": "input_json_delta", "partial_json": '{"a": 1'}},
                {"type": delta, "index": 2 + at, "delta": {"type": "input_json_delta", "partial_json": "}"}},
                {"type": stop, "index": 2 + at},
            )
        ),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None, "stop_details": None, "container": None},
            "usage": {**GIVEN, "output_tokens": 9, "output_tokens_details": None, "server_tool_use": None},
        },
        {"type": "message_stop"},
    ]
    assert made[0]["message"] == {
        **{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []},
        **{"stop_reason": None, "stop_sequence": None, **NULLS},
        "usage": {**USAGE_NULLS, **GIVEN, "output_tokens": 0},
    }


@pytest.mark.parametrize(
    ("text", "reason", "stop_reason"),
    [
        (message("<|channel|>final", "x"), "stop", "end_turn"),
        (message("<|channel|>final", "x", ""), None, "end_turn"),
        (message("<|channel|>final", "x", ""), "length", "max_tokens"),
        (message("<|channel|>final", "x", ""), "content_filter", "refusal"),
        (message("<|channel|>final", "x", ""), "model_context_window_exceeded", "model_context_window_exceeded"),
        (message("<|channel|>final", "x", ""), "abort", None),
        (call("functions.f", "{}"), "stop", "tool_use"),
        (call("functions.f", "{", ""), "length", "max_tokens"),
        (call("functions.f", "{", ""), None, "end_turn"),
    ],
)
def test_stop_reasons(text, reason, stop_reason):
    assert whole(text, reason)["stop_reason"] == stop_reason


def test_a_stop_sequence():
    emitter = emitter_of()
    made = [*emitter.events(), *emitter.events("<|channel|>final<|message|>x")]
    made += emitter.events(finish=True, reason="stop", stop_sequence="y")
    assert made[-2]["delta"] == {
        **{"stop_reason": "stop_sequence", "stop_sequence": "y", "stop_details": None, "container": None}
    }
    assert read_by_client(made) == emitter.response()
    fed = emitter_of()
    fed.start()
    assert b'"stop_reason":"stop_sequence","stop_sequence":"y"' in fed.finish("stop", stop_sequence="y")
    for again in (lambda: fed.finish("stop"), lambda: fed.events(finish=True), lambda: fed.events("x")):
        with pytest.raises(ValueError, match="has ended"):
            again()
    assert fed.response()["stop_sequence"] == "y"


def test_options_hide():
    kinds = [("text", "Wait."), ("tool_use", {"a": 1}), ("tool_use", {"a": 1})]
    for shown, hidden in (
        (kinds, {"thinking": False}),
        ([("thinking", "Hm."), kinds[0]], {"tool_choice": "none"}),
        ([("thinking", "Hm."), kinds[0]], {"tool_choice": {"type": "none"}}),
        ([("thinking", "Hm."), *kinds[:2]], {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    ):
        made = whole(TURN, **hidden)
        assert [(block["type"], block.get("text", block.get("input", "Hm."))) for block in made["content"]] == shown
        assert made["stop_reason"] == ("end_turn" if len(shown) == 2 else "tool_use")
        data = as_bytes(emitter_of(**hidden), to_ids(TURN.removeprefix("<|start|>assistant").encode()), "stop")
        assert read_by_client(payloads_of(b"".join(data)))["content"] == made["content"]


def test_identity_and_ids():
    assert emitter_of(extra={"container": {"id": "c"}}).response()["container"] == {"id": "c"}
    made = whole(TURN, id="chatcmpl-1.2")
    assert [block["id"] for block in made["content"][2:]] == ["toolu_chatcmpl-1_2_0", "toolu_chatcmpl-1_2_1"]
    made = whole(TURN, call_id=lambda index: f"x{index}")
    assert [block["id"] for block in made["content"][2:]] == ["x0", "x1"]
    kimi = "<|tool_calls_section_begin|>" + 2 * (
        "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    )
    emitter = emitter_of(hs.Parser("kimi_k2"))
    fed_payloads([kimi + "<|tool_calls_section_end|>"], emitter)
    assert [block["id"] for block in emitter.response()["content"]] == ["functions.f:0", "toolu_1_1"]


def test_usage():
    assert whole(message("<|channel|>analysis", "Hm.") + message("<|channel|>final", "Hi."))["usage"] == {
        **USAGE_NULLS,
        **GIVEN,
        "output_tokens": 14,
        "output_tokens_details": {"thinking_tokens": 2},
    }
    emitter = emitter_of()
    given = {
        "input_tokens": 8,
        "output_tokens": 5,
        "output_tokens_details": {"thinking_tokens": 1},
        "service_tier": None,
    }
    made = fed_payloads(["Hi."], emitter, usage={**given, "num_tokens": 8})
    known = {**GIVEN, **{key: given[key] for key in list(given)[:3]}}  # None is as good as nothing
    assert made[-2]["usage"] == {**known, "server_tool_use": None}
    assert emitter.response()["usage"] == {**USAGE_NULLS, **known}
    emitter = emitter_of(usage=None)
    none = {"input_tokens": 0, "output_tokens": 0}  # the parser has counted bytes
    cumulative = ("cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens_details", "server_tool_use")
    assert fed_payloads(["Hi."], emitter)[-2]["usage"] == {**none, **dict.fromkeys(cumulative)}
    assert emitter.response()["usage"] == {**USAGE_NULLS, **none}


@pytest.mark.parametrize(
    ("format", "text", "blocks"),
    [
        ("harmony", message("<|channel|>final", " \n"), []),
        ("harmony", message("<|channel|>final", "\n\n Hi.\n") + message("<|channel|>final", "\t"), ["\n\n Hi.\n"]),
        ("harmony", message("<|channel|>commentary", "\n") + call("functions.f", "{}"), [None]),
        ("harmony", message("<|channel|>final", "\u3000") + message("<|channel|>final", "x"), ["x"]),
        ("hermes", ' \n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n Hi.', [None, "\n Hi."]),
        ("think", "<think>Hm</think>  a  \n<think>b</think> ", ["Hm", "  a  \n", "b"]),
    ],
)
def test_a_block_of_text_has_more_than_whitespace(format, text, blocks):
    emitters = [emitter_of(hs.Parser(format, trim="none")) for _ in range(3)]
    text = text.removeprefix("<|start|>assistant")
    made = fed_payloads(list(text), emitters[0])
    blocks_of(made)
    fed_payloads([text], emitters[1])
    data = as_bytes(emitters[2], text, "stop")
    assert payloads_of(b"".join(data)) == made
    found = read_by_client(made)
    assert [emitter.response() for emitter in emitters] == [found] * 3
    assert [block.get("text", block.get("thinking")) for block in found["content"]] == blocks


def test_whitespace_that_opens_a_block_ends_the_one_before():
    emitter = emitter_of(hs.Parser("think", trim="none"))
    made = [*emitter.events(), *emitter.events("<think>Hm</think>")]
    made += emitter.events(" ")
    assert made[-1] == {"type": "content_block_stop", "index": 0}
    assert emitter.events("\n") == []
    assert [one["delta"]["text"] for one in emitter.events("x") if "delta" in one] == [" \nx"]


def test_arguments_that_are_no_object():
    code = whole(message("<|channel|>analysis to=python code", "print('雨')\n", "<|call|>"))["content"]
    given = {"input": "print('雨')\n"}
    assert code == [{"type": "tool_use", "id": "toolu_1_0", "name": "python", "input": given, "caller": DIRECT}]
    text = message("<|channel|>analysis to=python code", "1", "<|call|>")
    assert whole(text, text_key="code")["content"][0]["input"] == {"code": "1"}
    broken = whole(call("functions.f", '{"a": 1, b'))["content"][0]["input"]
    assert broken == {"a": 1, "INVALID_JSON": '{"a": 1, b'}
    assert whole(call("functions.f", '{"a": 1, "b": "x', ""), "length")["content"][0]["input"] == {"a": 1}


def test_an_open_message_can_be_read():
    emitter = emitter_of()
    emitter.start()
    text = '<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=f<|message|>{"a": 1, "b'
    seen = []
    for token in to_ids(text.encode()):
        emitter.feed(token)
        seen.append([block.get("thinking", block.get("input")) for block in emitter.response()["content"]])
    assert [one for at, one in enumerate(seen) if one != seen[at - 1]] == [
        *([], ["Hm"], ["Hm."], ["Hm.", {}], ["Hm.", {"a": 1}]),
    ]


def test_an_error_ends_the_stream():
    emitter = emitter_of()
    data = emitter.start() + emitter.feed_text("Hi") + emitter.error("out of memory", type="overloaded_error")
    payload = {"type": "error", "error": {"type": "overloaded_error", "message": "out of memory"}}
    assert payloads_of(data)[-1] == payload
    for error in (payload, *emitter_of().error_events("out of memory")):
        validated(ErrorResponse, error)
    assert emitter_of().error_events("out of memory", type="overloaded_error") == [payload]
    with clients_of(bytes_app([data])) as clients:
        with pytest.raises(anthropic.APIStatusError, match="out of memory"):
            clients.events("messages", "m")
        with pytest.raises(anthropic.APIStatusError, match="out of memory"):
            clients.assembled("messages", "m")


def test_every_payload_is_the_clients_own():
    for payload in fed_payloads([TURN.removeprefix("<|start|>assistant")], emitter_of(signature=lambda _: "s")):
        validate(payload)


def test_a_number_that_no_client_can_read_is_the_nearest_that_it_can():
    """JSON has no infinity, and yet `1e999` is JSON: a server of whole responses could not send what it is read as."""
    for text, number in (("1e999", 1.7976931348623157e308), ("-1e999", -1.7976931348623157e308), ("1e-999", 0.0)):
        emitter = emitter_of()
        fed_payloads(
            [call("functions.f", f'{{"a": {text}, "b": [{text}]}}').removeprefix("<|start|>assistant")], emitter
        )
        found = emitter.response()
        assert found["content"][0]["input"] == {"a": number, "b": [number]}
        json.dumps(found, allow_nan=False)  # as Starlette's JSONResponse does


def test_thoughts_have_a_signature():
    """pydantic-ai sends thoughts without one back as the user's text; the AI SDK and LiteLLM drop them."""
    for options, wanted in (
        ({}, signature_of("Hm.")),
        ({"id": "msg_2"}, signature_of("Hm.", "msg_2")),
        ({"signature": lambda text: f"<{text}>"}, "<Hm.>"),
        ({"signature": ""}, ""),
        ({"signature": lambda text: ""}, ""),
    ):
        made = whole(TURN, **options)
        assert made["content"][0] == {"type": "thinking", "thinking": "Hm.", "signature": wanted}


def test_what_the_newest_types_require_is_there():
    """Those of the npm package: fields that may be null, but not absent."""
    made = whole(
        message("<|channel|>analysis", "Hm.") + message("<|channel|>commentary", "x") + call("functions.f", "{}")
    )
    assert made.keys() >= {"container", "diagnostics", "stop_details", "stop_reason", "stop_sequence"}
    assert made["usage"].keys() >= {"cache_creation", "inference_geo", "server_tool_use", "service_tier", "speed"}
    assert [sorted(block) for block in made["content"]] == [
        ["signature", "thinking", "type"],
        ["citations", "text", "type"],
        ["caller", "id", "input", "name", "type"],
    ]


def test_a_message_says_who_it_is():
    emitter = emitter_of(id="msg_7", model="other")
    assert (emitter.id, emitter.model) == ("msg_7", "other")


def test_an_error_has_the_words_of_all_apis():
    made = emitter_of().error_events("Busy.", type="overloaded_error", code="busy")
    assert made == [
        {
            "type": "error",
            "error": {"type": "overloaded_error", "message": "Busy.", "details": {"error_code": "busy"}},
        }
    ]
