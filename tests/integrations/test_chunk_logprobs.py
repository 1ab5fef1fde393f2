"""The log probabilities of each token are in exactly one chunk, however the tokens come."""

from __future__ import annotations

import json
from typing import Any

from families import FAMILIES, TOOLS, encode, tokenizer
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.integrations.chunk_logprobs import ChunkLogprobs
from harmonystream.text_limit import spelled

QWEN = FAMILIES["qwen3"]
WORDS = tokenizer(QWEN.special, QWEN.plain)
VOCAB = hs.vocab.from_tokenizers(WORDS)
CALL = '<tool_call>\n{"name": "f", "arguments": {"logprobs":null}}\n</tool_call>'
TEXT = f'<think>\nHm.\n</think>\n\n"logprobs":null.\n{CALL}'
IDS = encode(WORDS, TEXT)


class Logprob:
    def __init__(self, at: int) -> None:
        self._at = at

    def model_dump(self) -> dict[str, Any]:
        return {"token": str(self._at), "logprob": float("-inf")}


def entries(frames: bytes) -> list[int]:
    chunks = [json.loads(line[6:]) for line in frames.decode().splitlines() if line.startswith("data: {")]
    logprobs = [choice["logprobs"] for chunk in chunks for choice in chunk["choices"] if choice["logprobs"]]
    assert all(entry["logprob"] == -9999.0 for said in logprobs for entry in said["content"])
    return [int(entry["token"]) for said in logprobs for entry in said["content"]]


@given(
    st.lists(st.integers(0, len(IDS)), max_size=6).map(sorted),
    st.sampled_from(["auto", "none"]),
    st.integers(0, len(IDS) - 1),
)
def test_each_token_is_in_one_chunk(places, tool_choice, kept):
    parser = hs.Parser("hermes", VOCAB, tools=TOOLS)
    stream = hs.ChatStream(parser, id="1", model="1", created=0, tool_choice=tool_choice)
    held, frames = ChunkLogprobs(), stream.start()
    for start, stop in zip([0, *places], [*places, len(IDS)]):
        held.add(IDS[start:stop], [Logprob(at) for at in range(start, stop)])
        frames += held.feed(stream, IDS[start : min(stop, kept)])
    frames += held.rest(stream.finish("stop"))
    assert entries(frames) == [*range(len(IDS))]


def test_a_token_that_a_stop_string_has_cut_is_sent_once():
    stream = hs.ChatStream(hs.Parser("hermes", VOCAB, start="answer"), id="1", model="1", created=0)
    ids = encode(WORDS, "Hm moment")
    held, frames = ChunkLogprobs(), stream.start()
    held.add(ids, [Logprob(at) for at in range(len(ids))])
    frames += held.feed(stream, [*ids[:2], *spelled(VOCAB, b" m")])
    assert entries(frames + held.rest(stream.finish("stop"))) == [*range(len(ids))]
