"""What templates say is what the description says: anywhere, and whoever asks meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
import wire_chat
import wire_messages
import wire_responses
from wire_frames import as_bytes, described

import harmonystream as hs

APIS: dict[str, Any] = {"chat": wire_chat, "responses": wire_responses, "messages": wire_messages}
HEADER = "<|start|>assistant"
TEXT = (
    "<|channel|>analysis<|message|>Let me “think”.\n<|end|>"
    f"{HEADER}<|channel|>commentary<|message|>I look.<|end|>"
    f"{HEADER}<|channel|>commentary to=functions.get_forecast <|constrain|>json<|message|>"
    '{"city": "Z\\u00fcrich", "n": [1, 2.5e3]}<|call|>'
    f"{HEADER}<|channel|>commentary to=functions.get_forecast <|constrain|>json<|message|><|call|>"
    f"{HEADER}<|channel|>analysis<|message|>So.<|end|>"
    f"{HEADER}<|channel|>final<|message|>It is 21 °C.<|return|>"
)
BYTES = hs.vocab.from_bytes({byte: bytes([byte]) for byte in range(256)}, {})
IDS = hs.vocab.o200k_harmony().encode(TEXT, control=True)


def stream_of(api: str, **options: Any) -> Any:
    return APIS[api].stream_of(hs.Parser(tools=["get_forecast"]), **options)


@pytest.mark.parametrize("api", APIS)
def test_every_cut_says_what_the_reference_says(api: str) -> None:
    for at in range(0, len(IDS), 3):
        pieces = [IDS[:at], *IDS[at : at + 4], IDS[at + 4 :]]
        written = stream_of(api)
        frames = as_bytes(written, pieces, "stop")
        assert frames == as_bytes(described(stream_of(api)), pieces, "stop")


@pytest.mark.parametrize("api", APIS)
def test_the_response_can_be_asked_for_after_every_token(api: str) -> None:
    """Asking changes nothing of what comes."""
    asked, never, reference = stream_of(api), stream_of(api), described(stream_of(api))
    for stream in (asked, never, reference):
        stream.start()
    for tid in IDS:
        assert asked.feed(tid) == never.feed(tid) == reference.feed(tid)
        assert asked.response() == reference.response()
        assert asked.parser.channel == never.parser.channel == reference.parser.channel
    assert asked.finish("stop") == never.finish("stop") == reference.finish("stop")
    assert asked.response() == never.response() == reference.response()


@pytest.mark.parametrize("api", APIS)
def test_an_error_anywhere(api: str) -> None:
    for at in range(len(IDS)):
        made = []
        for stream in (stream_of(api), described(stream_of(api))):
            made.append([stream.start(), stream.feed(IDS[:at]), stream.error("It is over."), stream.response()])
        assert made[0] == made[1]


@pytest.mark.parametrize("reason", ["stop", "length", "abort", 'odd "\ud800', None])
@pytest.mark.parametrize("api", APIS)
def test_an_end_anywhere(api: str, reason: str | None) -> None:
    for at in range(0, len(IDS), 2):
        made = []
        for stream in (stream_of(api), described(stream_of(api))):
            made.append([*as_bytes(stream, [IDS[:at]], reason), stream.response()])
        assert made[0] == made[1]


ENDS = {
    "chat": {None: "tool_calls", "stop": "tool_calls", "tool_calls": "tool_calls", "length": "length"},
    "responses": {None: "completed", "stop": "completed", "tool_calls": "completed", "length": "incomplete"},
    "messages": {None: "tool_use", "stop": "tool_use", "tool_calls": "tool_use", "length": "max_tokens"},
}


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "length", "abort", "eos", "STOP", None])
@pytest.mark.parametrize("api", APIS)
def test_a_usual_end(api: str, reason: str | None) -> None:
    stream, reference = stream_of(api), described(stream_of(api))
    assert as_bytes(stream, [IDS], reason) == as_bytes(reference, [IDS], reason)
    if reason in ENDS[api]:
        assert stream._word == ENDS[api][reason]
    assert stream.ended
    assert stream.response() == stream.response() == reference.response()
    with pytest.raises(ValueError, match="this stream has ended"):
        stream.finish("stop")


PLAIN: dict[str, tuple[Any, ...]] = {
    "chat": ({"prompt_tokens": 900, "completion_tokens": 260, "total_tokens": 1160}, {"prompt_tokens": 3}),
    "responses": ({"input_tokens": 900, "output_tokens": 260, "total_tokens": 7}, {"output_tokens": 3}),
    "messages": ({"input_tokens": 900, "output_tokens": 260}, {"output_tokens": 3}),
}
USAGES: tuple[Any, ...] = (
    None,
    {},
    {"prompt_tokens": 5, "completion_tokens": 9},
    {"input_tokens": 5, "output_tokens": 9},
    {"prompt_tokens": 5, "total_tokens": None, "prompt_tokens_details": {"cached_tokens": 2}},
    {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 2}, "cost": 'é"'},
    {"input_tokens": 5, "cache_read_input_tokens": 4, "output_tokens": True},
    {"prompt_tokens": 2**70, "completion_tokens": 0},
)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_a_usage_at_the_end(api: str, text: bool) -> None:
    more: dict[str, Any] = {
        "chat": {"include_usage": True},
        "messages": {"usage": {"input_tokens": 11, "cache_read_input_tokens": 4}},
    }
    starts = [{}, more.get(api, {}), {"usage": {"input_tokens": 11}} if api == "messages" else {}]
    for options in starts:
        for usage in (*PLAIN[api], *USAGES):
            made = []
            for told in (lambda stream: stream, described):
                stream = told(stream_of(api, **options))
                pieces = [TEXT] if text else [IDS[:9], IDS[9:]]
                made.append([*as_bytes(stream, pieces, "stop", usage), stream.response()])
                assert stream.ended
            assert made[0] == made[1], usage


@pytest.mark.parametrize("api", APIS)
def test_a_bad_usage_leaves_the_stream_open(api: str) -> None:
    for bad in ({"prompt_tokens": "many", "input_tokens": "many"}, [], {"x": float("nan")}):
        made = []
        for told in (lambda stream: stream, described):
            stream = told(stream_of(api, **({"include_usage": True} if api == "chat" else {})))
            stream.start()
            stream.feed(IDS[:-1])
            with pytest.raises((TypeError, ValueError)):
                stream.finish("stop", bad)
            made.append([stream.feed(IDS[-1:]), stream.finish("stop"), stream.response()])
        assert made[0] == made[1]


def odd_id(index: int) -> str:
    return f'é "{index}"'


@pytest.mark.parametrize("format", ["kimi_k2", "hermes", "mistral"])
@pytest.mark.parametrize("api", APIS)
def test_ids_of_calls_are_decided_once(api: str, format: str) -> None:
    """By the model, a callback, or what the conversation has already. Asking for the response asks nobody again."""
    names = [f"functions.f:{at}" if format == "kimi_k2" else f"call{at:05d}" for at in (0, 1, 1, 4)]
    text = {
        "kimi_k2": "<|tool_calls_section_begin|>"
        + "".join(f"<|tool_call_begin|>{name}<|tool_call_argument_begin|>{{}}<|tool_call_end|>" for name in names)
        + "<|tool_calls_section_end|>",
        "hermes": '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n' * 4,
        "mistral": "".join(f"[TOOL_CALLS]f[CALL_ID]{name}[ARGS]{{}}" for name in names),
    }[format]
    default = ["call_1_1", "toolu_1_1", "call_x_0", "functions.f:1", "call00001"]
    for options in ({}, {"call_id": odd_id}, {"taken": default}, {"taken": default, "call_id": odd_id}):
        for asks in (False, True):
            made = []
            for told in (lambda stream: stream, described):
                stream = told(APIS[api].stream_of(hs.Parser(format, BYTES, check_stops=False, tools=["f"]), **options))
                frames = [stream.start()]
                for begin in range(0, len(text), 7):
                    frames.append(stream.feed_text(text[begin : begin + 7]))
                    if asks:
                        frames.append(stream.response())
                made.append([*frames, stream.finish("stop"), stream.response()])
            assert made[0] == made[1]


@pytest.mark.parametrize("verb", ["error", "finish"])
def test_a_callback_that_ends_its_stream(verb: str) -> None:
    """It is refused while the stream is inside. The stream breaks."""

    def meddle(index: int) -> str:
        getattr(stream, verb)(*(["odd"] if verb == "error" else []))
        return f"id{index}"

    stream = stream_of("chat", call_id=meddle)
    stream.start()
    with pytest.raises(RuntimeError, match="in use"):
        stream.feed(IDS)
    assert "I look." in stream.response()["choices"][0]["message"]["content"]
    assert b"over" in stream.error("over")


@pytest.mark.parametrize("api", APIS)
def test_any_model_and_more_fields(api: str) -> None:
    for model in ("m", 'the "m"\u2028é', "", "m" * 5000):
        for extra in ({}, {"system_fingerprint": 'f"é', "choices": 1, "id": "other", "x": [1, {"y": None}]}):
            made = []
            for told in (lambda stream: stream, described):
                stream = stream_of(api, extra=extra)
                stream.model = model
                stream = told(stream)
                made.append([*as_bytes(stream, [IDS], "stop"), stream.response()])
            assert made[0] == made[1]


@pytest.mark.parametrize("named", [False, True])
def test_the_reason_of_a_call_that_the_request_named(named: bool) -> None:
    choice: Any = {"type": "function", "function": {"name": "get_forecast"}} if named else "auto"
    stream = stream_of("chat", tool_choice=choice)
    as_bytes(stream, [IDS], "stop")
    assert stream._word == ("stop" if named else "tool_calls")


@pytest.mark.parametrize("api", APIS)
def test_newlines_that_the_end_releases(api: str) -> None:
    """Messages begins no block with white space alone, and drops it."""
    made = []
    for told in (lambda stream: stream, described):
        stream = told(APIS[api].stream_of(hs.Parser("hermes", BYTES, check_stops=False)))
        made.append([*as_bytes(stream, [list(b"\n\n")], "stop"), stream.response()])
        assert stream.ended
    assert made[0] == made[1]
