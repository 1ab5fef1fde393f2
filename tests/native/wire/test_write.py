"""Records written by templates, in a batch without the GIL. tests/emit/common/test_placeholders.py cuts anywhere."""

from __future__ import annotations

import sys
from array import array
from typing import Any

import pytest
from wire_frames import as_bytes, described
from wire_server import APIS

import harmonystream as hs

IDS = hs.vocab.o200k_harmony().encode(
    "<|channel|>analysis<|message|>Let me think.<|end|>"
    "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    '{"city": "Paris"}<|call|>'
    "<|start|>assistant<|channel|>final<|message|>It is sunny.<|return|>",
    control=True,
)


def stream_of(api: str, **options: Any) -> Any:
    return APIS[api].stream_of(hs.Parser(), **options)


@pytest.mark.parametrize("api", APIS)
def test_a_batch_writes_by_templates(api: str) -> None:
    """Streams at different places, two tokens each."""
    batch = hs.batch.Batch(capacity=8)
    streams = [stream_of(api) for _ in range(8)]
    alone = [described(stream_of(api)) for _ in range(8)]
    for stream in (*streams, *alone):
        stream.start()
    slots = [batch.add(stream) for stream in streams]
    for step in range(0, len(IDS) + 16, 2):
        pieces = [IDS[max(0, step - 2 * slot) : max(0, step - 2 * slot + 2)] for slot in slots]
        offsets = [sum(map(len, pieces[:slot])) for slot in range(9)]
        frames = batch.feed_sse(slots, array("i", [tid for piece in pieces for tid in piece]), offsets)
        assert list(frames) == [stream.feed(piece) for stream, piece in zip(alone, pieces)]
    for slot, stream, other in zip(slots, streams, alone):
        assert batch.finish(slot, "stop") == other.finish("stop")
        assert stream.response() == other.response()


BLANKS = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]


@pytest.mark.parametrize("text", [*BLANKS, "\u200b", "\u2060", "\u00a1", "\u1681", "\u2027", "\u3001", "é", "日"])
def test_what_begins_a_block_of_text(text: str) -> None:
    """White space alone waits for something else, which begins the block with it."""
    made = []
    for stream in (stream_of("messages"), described(stream_of("messages"))):
        frames = [stream.start(), stream.feed_text(f"<|channel|>final<|message|>{text}")]
        made.append([*frames, stream.feed_text("x<|return|>"), stream.finish("stop"), stream.response()])
    assert made[0] == made[1]
    frames = as_bytes(stream_of("messages"), [f"<|channel|>final<|message|>{text}"])
    assert any(b"content_block_start" in frame for frame in frames) == (not text.isspace())


@pytest.mark.parametrize("api", APIS)
def test_hidden_calls_and_reasoning(api: str) -> None:
    hidden: dict[str, Any] = {
        "chat": {"reasoning_field": None, "tool_choice": "none"},
        "responses": {"reasoning": False, "request": {"tool_choice": "none"}},
        "messages": {"thinking": False, "tool_choice": {"type": "none"}},
    }[api]
    made = []
    for stream in (stream_of(api, **hidden), described(stream_of(api, **hidden))):
        made.append([*as_bytes(stream, IDS, "stop"), stream.response()])
    assert made[0] == made[1]


@pytest.mark.parametrize("api", APIS)
def test_a_name_that_is_no_text(api: str) -> None:
    """A part of a character in a header: the name is repaired, as in events."""
    o200k = hs.vocab.o200k_harmony()
    half = next(tid for tid in range(256) if o200k.token_bytes(tid) == b"\xe2")
    ids = [*o200k.encode("<|channel|>commentary to=functions.f", control=True), half]
    ids += o200k.encode("<|message|>{}<|call|>", control=True)
    made = []
    for stream in (stream_of(api), described(stream_of(api))):
        made.append([*as_bytes(stream, ids, "stop"), stream.response()])
    assert made[0] == made[1]
    assert "f\ufffd".encode() in b"".join(made[0][:-1])
