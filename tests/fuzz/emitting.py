"""Emitters: whatever the stream, they raise nothing, their bytes are frames of their dicts, the API's rules hold, and
the whole response is the same for every cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import wire_chat
import wire_frames
import wire_messages
import wire_responses

import harmonystream as hs
from fuzz import rows, streaming, tags, tokens
from fuzz.emitters import APIS, OPTIONS, emitter_of
from harmonystream.emit.common.stream import EventStream

Case = dict[str, Any]
Payload = dict[str, Any]
PARSER = ("start", "empty_args", "trim", "max_hold")
ONE_BY_ONE = 64  # longest stream that is fed unit by unit
REASONS = (None, "stop", "length", "tool_calls", "content_filter", "odd \ud800")
USAGES = {
    "chat": {"prompt_tokens": 5, "completion_tokens": 9},
    "responses": {"input_tokens": 5, "output_tokens": 9},
    "messages": {"input_tokens": 5},
}


# -- cases -------------------------------------------------------------------------------------------------------------


def decode_emitter(options: bytes) -> Case:
    """Two of the eight bytes."""
    api = APIS[options[7] % len(APIS)]
    variant = options[7] // len(APIS) % len(OPTIONS[api])
    return {"api": api, "variant": variant, "reason": REASONS[options[3] % len(REASONS)]}


def decode_ids(options: bytes, payload: bytes) -> Case:
    """Harmony, as ids or as text."""
    chosen = streaming.decode_options(options)
    case = {key: chosen[key] for key in ("tools", "start", "empty_args", "cuts", "turn")} | decode_emitter(options)
    return case | {"ids": tokens.read_ids(payload), "text": bool(options[2] & 8)}


def decode_tags(options: bytes, payload: bytes) -> Case:
    """A built-in row."""
    case = tags.decode(options, payload)
    del case["strict"], case["prompted"]
    return case | decode_emitter(options)


def check_ids(ids: list[int], text: bool, **case: Any) -> None:
    made = {"vocab": tokens.vocab(), "tools": case.pop("tools")}
    check(made, tokens.spelled(ids) if text else ids, **case)


def check_tags(row: str, how: str, stream: Sequence[Any], tools: str, **case: Any) -> None:
    alphabet = rows.alphabet_of(row)
    units = rows.units(alphabet, how, stream)
    units = units.decode("utf-8", "surrogateescape") if how == "str" else units
    made = {"format": row, "vocab": alphabet.vocab(how), "tools": rows.TOOLS[tools], "check_stops": False}
    check(made, units, **case)


# -- the check ---------------------------------------------------------------------------------------------------------


def check(
    made: Case, units: Any, api: str, variant: int, reason: str | None, cuts: list[int], turn: int, **more: Any
) -> None:
    """`made`, and what is left: how the parser is made. `turn` chooses among the checks."""
    made |= {key: more[key] for key in PARSER if key in more}

    def emitter() -> EventStream:
        return emitter_of(api, hs.Parser(**made), variant)

    whole = emitter()
    payloads = [*whole.events(), *whole.events(units)]
    payloads += whole.events(finish=True, reason=reason, usage=dict(USAGES[api]))
    expected = whole.response()
    RULES[api](payloads, expected)
    pieces = streaming.units(units) if turn & 1 and len(units) <= ONE_BY_ONE else streaming.cut(units, cuts)
    fed, told = emitter(), emitter()
    payloads = compare(api, told, told.events(), fed.start())
    for i, piece in enumerate(pieces):
        payloads += compare(api, told, told.events(piece), feed(fed, piece))
        if turn & 2:
            fed.response()  # anyone may look, at any time
        if turn & 4 and i == len(pieces) // 2:
            check_error(api, payloads, fed, told)
            return
    ends = told.events(finish=True, reason=reason, usage=dict(USAGES[api]))
    payloads += compare(api, told, ends, fed.finish(reason, dict(USAGES[api])))
    assert fed.response() == told.response() == expected
    RULES[api](payloads, expected)


def feed(emitter: EventStream, piece: Any) -> bytes:
    return emitter.feed_text(piece) if isinstance(piece, (str, bytes)) else emitter.feed(piece)


def compare(api: str, told: EventStream, payloads: list[Payload], frames: bytes) -> list[Payload]:
    """The frames say these payloads, byte for byte as the standard library writes them."""
    said = wire_frames.payloads_of(frames)
    if "[DONE]" in said:
        assert said.index("[DONE]") == len(said) - 1
        said.pop()
        frames = frames.removesuffix(b"data: [DONE]\n\n")
    assert frames == "".join(map(told.framed, payloads)).encode()
    assert said == wire_form(payloads)
    return payloads


def wire_form(value: Any) -> Any:
    """Of payloads: what cannot be sent has become U+FFFD."""
    if isinstance(value, dict):
        return {wire_form(key): wire_form(item) for key, item in value.items()}
    if isinstance(value, list):
        return [wire_form(item) for item in value]
    return (
        value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if isinstance(value, str) else value
    )


def check_error(api: str, payloads: list[Payload], fed: EventStream, told: EventStream) -> None:
    """A stream that breaks off ends in the API's own terms."""
    ends = told.error_events('odd "\ud800')  # type: ignore[attr-defined]
    payloads += compare(api, told, ends, fed.error('odd "\ud800'))  # type: ignore[attr-defined]
    if api == "responses":
        wire_responses.assembled(payloads)
        assert payloads[-1]["response"] == fed.response() == told.response()
    else:
        assert "error" in payloads[-1]


def check_chat(payloads: list[Payload], response: Payload) -> None:
    made = wire_chat.assembled(payloads)
    said, whole = made["choices"][0], response["choices"][0]
    assert (said["index"], said["finish_reason"]) == (whole["index"], whole["finish_reason"])
    assert said["message"] == whole["message"]
    assert made.get("usage", response["usage"]) == response["usage"]


def check_responses(payloads: list[Payload], response: Payload) -> None:
    assert wire_responses.assembled(payloads) == response
    wire_responses.read_by_client(wire_form(payloads))


def check_messages(payloads: list[Payload], response: Payload) -> None:
    wire_messages.blocks_of(payloads)
    assert wire_messages.read_by_client(wire_form(payloads)) == wire_form(response)


RULES: dict[str, Callable[[list[Payload], Payload], None]] = {
    **{"chat": check_chat, "responses": check_responses, "messages": check_messages}
}
