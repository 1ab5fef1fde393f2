"""ResponsesStream: reasoning as text, as a summary, encrypted."""

from __future__ import annotations

from typing import Any

import pytest
from wire_frames import as_bytes, as_dicts, payloads_of
from wire_responses import item_events, read_by_client, stream_of, validate

import harmonystream as hs

TEXT = "<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>final<|message|>Hi.<|return|>"
REASONING = {"type": "reasoning_text", "text": "Look it up."}
SUMMARY = {"type": "summary_text", "text": "Look it up."}
AS_TEXT = [
    *("output_item.added", "content_part.added", "reasoning_text.delta"),
    *("reasoning_text.done", "content_part.done", "output_item.done"),
]
AS_SUMMARY = [
    *("output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta"),
    *("reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"),
]
ASKS = {"reasoning": {"effort": "low", "summary": "auto"}}


def events_of(text: str = TEXT, **options: Any) -> list[dict[str, Any]]:
    """The payloads, which are valid, as dicts and as bytes, and which the official client assembles."""
    told = as_dicts(stream_of(hs.Parser(), **options), [text], "stop")
    fed = stream_of(hs.Parser(), **options)
    assert payloads_of(b"".join(as_bytes(fed, [text], "stop"))) == told
    for payload in told:
        validate(payload)
    read_by_client(told)
    assert [payload["sequence_number"] for payload in told] == list(range(len(told)))
    assert told[-1]["response"] == fed.response()
    return told


@pytest.mark.parametrize(
    ("options", "events", "summary"),
    [
        ({}, AS_TEXT, []),
        ({"reasoning": "text", "request": ASKS}, AS_TEXT, []),
        ({"request": {"reasoning": {"summary": None}}}, AS_TEXT, []),
        ({"request": ASKS}, AS_SUMMARY, [SUMMARY]),
        ({"request": {"reasoning": {"generate_summary": "concise"}}}, AS_SUMMARY, [SUMMARY]),
        ({"reasoning": "summary"}, AS_SUMMARY, [SUMMARY]),
    ],
)
def test_reasoning_streams_as_its_text_or_as_a_summary(options, events, summary):
    """The AI SDK, LangChain, pydantic-ai and LiteLLM's bridge show summaries only. The item that is done has its text
    in any case: of a summary alone, pydantic-ai would make text with tags in the next request.
    """
    made = events_of(**options)
    assert item_events(made) == events
    (item, _) = made[-1]["response"]["output"]
    assert item == {
        **{"type": "reasoning", "id": "rs_1_0", "summary": summary, "content": [REASONING], "status": "completed"}
    }
    assert [one["delta"] for one in made if one["type"].endswith("delta")] == ["Look it up.", "Hi."]
    assert made[2]["item"] == {**item, "summary": [], "content": [], "status": "in_progress"}


def test_a_summary_comes_token_by_token():
    stream = stream_of(hs.Parser(), reasoning="summary")
    sent = [stream.start()]
    sent += [stream.feed(token) for token in [200005, 35644, 200008, 13225, 13225, 200007]]
    deltas = [one for one in payloads_of(b"".join(sent)) if one["type"] == "response.reasoning_summary_text.delta"]
    assert [(one["delta"], one["summary_index"], one["item_id"]) for one in deltas] == [("Hello", 0, "rs_1_0")] * 2


def test_reasoning_that_is_hidden_is_so_whatever_the_request_asks():
    made = events_of(reasoning=False, request=ASKS)
    assert [item["type"] for item in made[-1]["response"]["output"]] == ["message"]


# --- encrypted content ---

INCLUDE = {"include": ["reasoning.encrypted_content"], "store": False}


@pytest.mark.parametrize("kind", ["text", "summary"])
def test_a_request_that_stores_nothing_has_its_thoughts_encrypted(kind):
    """The AI SDK and others send a reasoning item back without `store` only if it has encrypted content."""
    asked: list[str] = []

    def encrypt(text: str) -> str:
        asked.append(text)
        return f"<{text}>"

    made = events_of(reasoning=kind, encrypt=encrypt, request=INCLUDE)
    (done, _) = [one["item"] for one in made if one["type"] == "response.output_item.done"]
    assert done["encrypted_content"] == "<Look it up.>"
    assert made[-1]["response"]["output"][0] == done
    assert "encrypted_content" not in made[2]["item"]  # nothing is known of it yet
    assert asked == ["Look it up."] * 2  # once in each stream


@pytest.mark.parametrize("request_", [None, {}, {"include": None}, {"include": []}, {"include": 5}, {"include": [{}]}])
def test_what_nobody_asked_for_is_not_encrypted(request_):
    made = events_of(encrypt=lambda text: "x", request=request_)
    assert "encrypted_content" not in made[-1]["response"]["output"][0]


def test_encrypted_content_is_text():
    stream = stream_of(hs.Parser(), encrypt=lambda text: b"x", request=INCLUDE)
    stream.start()
    with pytest.raises(TypeError, match="encrypted content is a str, not bytes"):
        stream.feed_text(TEXT)
    assert payloads_of(stream.error("x"))[-1]["type"] == "response.failed"


# --- errors ---


@pytest.mark.parametrize(
    ("said", "code", "type"),
    [
        ({}, "server_error", "server_error"),
        ({"code": "rate_limit_exceeded"}, "rate_limit_exceeded", "rate_limit_exceeded"),
        ({"type": "overloaded_error"}, "server_error", "overloaded_error"),
        ({"type": "overloaded_error", "code": "rate_limit_exceeded"}, "rate_limit_exceeded", "overloaded_error"),
    ],
)
def test_an_error_has_the_words_of_all_apis(said, code, type):
    stream = stream_of(hs.Parser())
    stream.events()
    error, failed = stream.error_events("Busy.", **said)
    told = {"code": code, "message": "Busy.", "param": None}
    assert error == {**told, "type": "error", "error": {**told, "type": type}, "sequence_number": 2}
    assert failed["response"]["error"] == {"code": code, "message": "Busy."}


def test_an_engine_that_stops_with_an_error_says_so_in_the_same_way():
    stream = stream_of(hs.Parser())
    stream.events()
    error, failed = stream.events(finish=True, reason="error")
    assert (error["type"], error["message"]) == ("error", "The model stopped with an error.")
    assert (failed["type"], failed["response"]["status"]) == ("response.failed", "failed")
