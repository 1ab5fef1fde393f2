"""MessagesStream: what each event becomes, every scenario and format in the official client, every chunking."""

from __future__ import annotations

import random
import time
from typing import Any

import anthropic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_streams import byte_streams, id_streams, options, seeds
from random_tags import TAG_FORMATS, texts, vocabularies
from random_tags import id_streams as tag_id_streams
from random_tags import options as tag_options
from streams import random_chunks, to_ids
from tag_streams import tokens
from test_responses_wire import call, frames, message, parser_of, pieces_of, scripts
from wire_messages import blocks_of, payloads_of, plain, read_by_client, served, validate
from wire_responses import outline

import harmonystream as hs
from harmonystream.emit.arguments import Arguments
from harmonystream.emit.messages import MessagesStream

GIVEN = {"input_tokens": 7, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 0}
TURN = message("analysis", "Hm.") + message("commentary", "Wait.") + call("functions.f", '\n{"a": 1}') * 2


def emitter_of(parser: hs.Parser | None = None, **options: Any) -> MessagesStream:
    return MessagesStream(parser or hs.Parser(), **{"id": "msg_1", "model": "m", "usage": GIVEN, **options})


def said(pieces: list[Any], emitter: MessagesStream, reason: str | None = "stop", **rest: Any) -> list[dict[str, Any]]:
    """The payloads of a stream."""
    made = emitter.events()
    for piece in pieces:
        made += emitter.events(piece)
    return made + emitter.events(finish=True, reason=reason, **rest)


def whole(text: str, reason: str | None = "stop", **options: Any) -> dict[str, Any]:
    """The response of a Harmony text, as the client reads it too."""
    emitter = emitter_of(**options)
    made = said(list(to_ids(text.removeprefix("<|start|>assistant").encode())), emitter, reason)
    blocks_of(made)
    assert read_by_client(made) == emitter.response()
    return emitter.response()


def expected_blocks(events: Any) -> list[tuple[str, ...]]:
    """What the blocks should say, from the parser's events alone, as blocks_said() does."""
    found: list[tuple[str, ...]] = []
    for kind, *about in outline(events):
        if kind == "call":
            name, text, complete = about
            arguments = Arguments()
            found.append(("tool_use", name, arguments.feed(text) + arguments.end(complete)))
        else:
            found.append(("thinking" if kind == "reasoning" else "text", about[-1]))
    return found


def blocks_said(payloads: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """("thinking", text), ("text", text), ("tool_use", name, JSON), one by one."""
    return [
        (block["type"], *([block["name"]] if "name" in block else []), text) for block, text, _ in blocks_of(payloads)
    ]


# --- what is said ---


def test_the_events_of_a_turn():
    made = said(
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
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": delta, "index": 1, "delta": {"type": "text_delta", "text": "Wait."}},
        {"type": stop, "index": 1},
        *(
            one
            for at in (0, 1)
            for one in (
                {
                    "type": "content_block_start",
                    "index": 2 + at,
                    "content_block": {"type": "tool_use", "id": f"toolu_1_{at}", "name": "f", "input": {}},
                },
                {"type": delta, "index": 2 + at, "delta": {"type": "input_json_delta", "partial_json": '{"a": 1'}},
                {"type": delta, "index": 2 + at, "delta": {"type": "input_json_delta", "partial_json": "}"}},
                {"type": stop, "index": 2 + at},
            )
        ),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]
    assert made[0]["message"] == {
        **{"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []},
        **{"stop_reason": None, "stop_sequence": None, "usage": {**GIVEN, "output_tokens": 0}},
    }


@pytest.mark.parametrize(
    ("text", "reason", "stop_reason"),
    [
        (message("final", "x"), "stop", "end_turn"),
        (message("final", "x", ""), None, "end_turn"),
        (message("final", "x", ""), "length", "max_tokens"),
        (message("final", "x", ""), "content_filter", "refusal"),
        (message("final", "x", ""), "model_context_window_exceeded", "model_context_window_exceeded"),
        (message("final", "x", ""), "abort", None),
        (call("functions.f", "{}"), "stop", "tool_use"),
        (call("functions.f", "{", ""), "length", "max_tokens"),
        (call("functions.f", "{", ""), None, "end_turn"),
    ],
)
def test_stop_reasons(text, reason, stop_reason):
    assert whole(text, reason)["stop_reason"] == stop_reason


def test_a_stop_sequence():
    emitter = emitter_of()
    made = said([message("final", "x", "").removeprefix("<|start|>assistant")], emitter, stop_sequence="y")
    assert made[-2]["delta"] == {"stop_reason": "stop_sequence", "stop_sequence": "y"}
    assert read_by_client(made) == emitter.response()
    assert b'"stop_reason":"stop_sequence","stop_sequence":"y"' in emitter_of().finish("stop", stop_sequence="y")


def test_options_hide():
    kinds = [("text", "Wait."), ("tool_use", {"a": 1}), ("tool_use", {"a": 1})]
    for shown, hidden in (
        (kinds, {"thinking": False}),
        ([("thinking", "Hm."), kinds[0]], {"tool_choice": "none"}),
        ([("thinking", "Hm."), kinds[0]], {"tool_choice": {"type": "none"}}),
        ([("thinking", "Hm."), *kinds[:2]], {"parallel_tool_calls": False}),
        ([("thinking", "Hm."), *kinds[:2]], {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    ):
        made = whole(TURN, **hidden)
        assert [(block["type"], block.get("text", block.get("input", "Hm."))) for block in made["content"]] == shown
        assert made["stop_reason"] == ("end_turn" if len(shown) == 2 else "tool_use")
        data = b"".join(frames(emitter_of(**hidden), to_ids(TURN.removeprefix("<|start|>assistant").encode()), "stop"))
        assert read_by_client(payloads_of(data))["content"] == made["content"]


def test_identity_and_ids():
    made = whole(TURN, id="chatcmpl-1.2", extra={"container": None})
    assert [block["id"] for block in made["content"][2:]] == ["toolu_chatcmpl-1_2_0", "toolu_chatcmpl-1_2_1"]
    made = whole(TURN, call_id=lambda index: f"x{index}")
    assert [block["id"] for block in made["content"][2:]] == ["x0", "x1"]
    kimi = "<|tool_calls_section_begin|>" + 2 * (
        "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    )
    emitter = emitter_of(hs.Parser("kimi_k2"))
    said([kimi + "<|tool_calls_section_end|>"], emitter)
    assert [block["id"] for block in emitter.response()["content"]] == ["functions.f:0", "toolu_1_1"]


def test_usage():
    assert whole(message("analysis", "Hm.") + message("final", "Hi."))["usage"] == {
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
    made = said(["Hi."], emitter, usage=given)
    assert made[-2]["usage"] == given
    assert emitter.response()["usage"] == {**GIVEN, **{key: given[key] for key in list(given)[:3]}}
    emitter = emitter_of(usage=None)
    assert said(["Hi."], emitter)[-2]["usage"] == {"output_tokens": 0}  # the parser has counted bytes
    assert emitter.response()["usage"] == {"input_tokens": 0, "output_tokens": 0}


def test_arguments_that_are_no_object():
    code = whole(message("analysis to=python code", "print('雨')\n", "<|call|>"))["content"]
    assert code == [{"type": "tool_use", "id": "toolu_1_0", "name": "python", "input": {"input": "print('雨')\n"}}]
    text = message("analysis to=python code", "1", "<|call|>")
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
    assert emitter_of().error_events("out of memory", type="overloaded_error") == [payload]
    with served(lambda body: [data]) as client, pytest.raises(anthropic.APIStatusError, match="out of memory"):
        list(client.messages.create(model="m", max_tokens=1, messages=[], stream=True))


# --- scenarios ---


@pytest.mark.parametrize("name", scripts())
def test_every_scenario(name):
    parsed, stream, reason = scripts()[name]
    dicts, emitter = emitter_of(parser_of(parsed)), emitter_of(parser_of(parsed))
    made = said(pieces_of(stream), dicts, reason, usage={"output_tokens": 9})
    data = [
        emitter.start(),
        *(emitter.feed_text(one) if isinstance(one, str) else emitter.feed(one) for one in pieces_of(stream)),
    ]
    data.append(emitter.finish(reason, {"output_tokens": 9}))
    assert b"".join(data) == "".join(map(dicts.framed, made)).encode()
    assert payloads_of(b"".join(data)) == made
    assert read_by_client(made) == dicts.response() == emitter.response()
    parser = parser_of(parsed)
    events = [*(parser.feed_text(stream) if isinstance(stream, str) else parser.feed(stream)), *parser.finish(reason)]
    assert blocks_said(made) == expected_blocks(events)


def test_the_official_client_reads_every_scenario():
    made: dict[str, Any] = {}

    def script(body: Any) -> Any:
        parsed, stream, reason = scripts()[body["model"]]
        made[body["model"]] = emitter = emitter_of(parser_of(parsed))
        return frames(emitter, pieces_of(stream), reason)

    with served(script) as client:
        for name in scripts():
            if name.endswith("long arguments") and name != "harmony, ids: long arguments":
                continue  # the client reads all of them again with every delta
            asked: Any = {"model": name, "max_tokens": 1, "messages": [{"role": "user", "content": "?"}]}
            with client.messages.stream(**asked) as stream:
                assert plain(stream.get_final_message()) == made[name].response(), name
            if "long" not in name:
                payloads = [event.to_dict(mode="python") for event in client.messages.create(**asked, stream=True)]
                assert read_by_client(payloads) == made[name].response(), name


# --- random streams ---


def check(parser_options: dict[str, Any], stream: Any, reason: str | None, seed: int) -> None:
    """One stream as bytes, in dicts and at random chunks: the rules hold, and the blocks are the same."""
    dice = random.Random(seed)
    dicts, emitter = (emitter_of(hs.Parser(**parser_options)) for _ in range(2))
    chunks = random_chunks(stream, dice)
    made = said(chunks, dicts, reason)
    assert b"".join(frames(emitter, chunks, reason)).count(b"\n\n") == len(made)
    units = [stream[at : at + 1] for at in range(len(stream))] or [stream]
    again = said(units, other := emitter_of(hs.Parser(**parser_options)), reason)
    assert blocks_said(again) == blocks_said(made)
    assert other.response() == dicts.response() == read_by_client(made)
    emitter = emitter_of(hs.Parser(**parser_options))
    data = emitter.start() + b"".join(
        emitter.feed_text(one) if isinstance(one, bytes) else emitter.feed(one) for one in units
    )
    data += emitter.finish(reason)
    assert data == "".join(map(other.framed, again)).encode()
    parser = hs.Parser(**parser_options)
    events = [*(parser.feed_text(stream) if isinstance(stream, bytes) else parser.feed(stream)), *parser.finish(reason)]
    assert blocks_said(made) == expected_blocks(events)


@given(byte_streams | id_streams, options, seeds)
def test_random_harmony(stream, chosen, seed):
    parsed = {"format": "harmony", "tools": chosen.tools, "start": chosen.start, "empty_args": chosen.empty_args}
    check(parsed, stream, chosen.finish, seed)


@pytest.mark.parametrize("format", TAG_FORMATS)
@settings(max_examples=25)
@given(data=st.data(), seed=seeds)
def test_random_tags(format, data, seed):
    chosen = data.draw(tag_options(format))
    parsed = {"format": format, "tools": chosen.tools, "start": chosen.start, "empty_args": chosen.empty_args}
    check(parsed, data.draw(texts(format)), chosen.finish, seed)
    vocabulary = data.draw(vocabularies)
    stream = data.draw(tag_id_streams(format, vocabulary))
    check({**parsed, "vocab": tokens(format, vocabulary).vocab}, stream, chosen.finish, seed)


@pytest.mark.slow
@pytest.mark.parametrize("body", ["analysis", "final", "commentary to=functions.f"])
def test_a_token_costs_what_the_first_did(body):
    begun = to_ids(f'<|channel|>{body}<|message|>{{"a": "'.encode())
    (token,) = to_ids(b" tea")

    def seconds(count: int) -> float:
        emitter = emitter_of()
        emitter.start()
        emitter.feed(begun)
        start = time.process_time()
        for _ in range(count):
            emitter.feed(token)
        emitter.finish("length")
        emitter.response()
        return time.process_time() - start

    few, many = (min(seconds(count) for _ in range(3)) for count in (2_000, 32_000))
    assert many < 16 * 3 * few


def test_every_payload_is_the_clients_own():
    for payload in said([TURN.removeprefix("<|start|>assistant")], emitter_of(signature=lambda _: "s")):
        validate(payload)
