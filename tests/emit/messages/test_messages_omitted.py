"""Messages whose thoughts are a signature alone."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.emit.messages.omitted import OmittedMessages

VOCAB = hs.vocab.o200k_harmony()
TEXT = (
    "<|channel|>analysis<|message|>First, think é.<|end|>"
    "<|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
    "<|start|>assistant<|channel|>analysis<|message|>Second.<|end|><|start|>assistant<|channel|>commentary "
    'to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>'
)
IDS = VOCAB.encode(TEXT, control=True)


def made(**options):
    return OmittedMessages(id="msg_1", model="m", signature=lambda text: f"<{text}>", **options)


@given(st.lists(st.integers(0, len(IDS)), max_size=5))
def test_a_thought_is_its_signature_however_the_stream_is_cut(cuts):
    stream, shown = made(), hs.MessagesStream(id="msg_1", model="m", signature=lambda text: f"<{text}>")
    frames = [stream.start()]
    shown.start()
    edges = [0, *sorted(cuts), len(IDS)]
    for begin, end in pairwise(edges):
        frames.append(stream.feed(IDS[begin:end]))
        shown.feed(IDS[begin:end])
    frames.append(stream.finish("stop"))
    shown.finish("stop")
    message, whole = stream.response(), shown.response()
    assert [block["thinking"] for block in whole["content"] if block["type"] == "thinking"] == [
        "First, think é.",
        "Second.",
    ]
    for block in whole["content"]:
        if block["type"] == "thinking":
            block["thinking"] = ""
    assert message == whole
    events = [json.loads(line[6:]) for line in b"".join(frames).decode().splitlines() if line.startswith("data: ")]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert [one["signature"] for one in deltas if one["type"] == "signature_delta"] == [
        "<First, think é.>",
        "<Second.>",
    ]
    assert not any("thinking" in one for one in deltas)
    assert "".join(one.get("partial_json", "") for one in deltas) == '{"a": 1}'


def test_the_payloads_and_the_frames_say_the_same():
    one, other = made(), made()
    payloads = [*one.events(), *one.events(IDS), *one.events(finish=True, reason="stop")]
    frames = other.start() + b"".join(map(other.feed, IDS)) + other.finish("stop")
    told = [json.loads(line[6:]) for line in frames.decode().splitlines() if line.startswith("data: ")]
    kinds = [
        one["type"] for one in payloads if one.get("delta", {}).get("type") not in ("text_delta", "input_json_delta")
    ]
    assert kinds == [
        one["type"] for one in told if one.get("delta", {}).get("type") not in ("text_delta", "input_json_delta")
    ]
    assert one.response() == other.response()


def test_a_thought_that_is_cut_has_its_signature():
    stream = made()
    stream.start()
    stream.feed(IDS[:5])
    assert stream.response()["content"] == [{"type": "thinking", "thinking": "", "signature": ""}]
    stream.finish("length")
    text = b"".join(map(VOCAB.token_bytes, IDS[3:5])).decode()
    assert stream.response()["content"] == [{"type": "thinking", "thinking": "", "signature": f"<{text}>"}]


def test_without_text_that_is_kept():
    stream = made(keep_text=False)
    frames = stream.start() + stream.feed(IDS) + stream.finish("stop")
    assert b'"signature":"<Second.>"' in frames
    with pytest.raises(ValueError, match="keep_text"):
        stream.response()


def test_it_cannot_be_moved():
    stream = made()
    stream.start()
    with pytest.raises(ValueError, match="cannot be moved"):
        stream.to_bytes()
