"""Log probabilities in Responses, whichever way the ids are cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams import encode_greedily, to_ids

import harmonystream as hs
from harmonystream.emit import ResponsesStream

VOCAB = hs.vocab.o200k_harmony()
TEXT = (
    "<|channel|>analysis<|message|>Hm 🫖.<|end|><|start|>assistant<|channel|>commentary<|message|>Wait 🐼, please."
    "<|end|><|start|>assistant<|channel|>final<|message|>It is 🍣🍣 done.<|return|>"
)
IDS = to_ids(TEXT.encode(), encode_greedily)


def entry(at: int) -> dict[str, Any]:
    data = VOCAB.token_bytes(IDS[at])
    other = {"token": "x", "logprob": float("-inf"), "bytes": [120]}
    return {
        "token": data.decode("utf-8", "replace"),
        "logprob": -at / 100,
        "bytes": list(data),
        "top_logprobs": [other],
    }


def whole(cuts: list[int], bare: frozenset[int] = frozenset()) -> dict[str, Any]:
    """The response of the ids in pieces. bare: pieces without logprobs, such as what a server itself has written."""
    stream = ResponsesStream(id="resp_1", model="m", created=1)
    stream.start()
    edges = [0, *sorted(cuts), len(IDS)]
    for number, start in enumerate(edges[:-1]):
        stop = edges[number + 1]
        logprobs = None if number in bare else [entry(at) for at in range(start, stop)]
        stream.feed(IDS[start:stop], logprobs)
    stream.finish("stop")
    return stream.response()


def logprobs_of(response: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [item["content"][0]["logprobs"] for item in response["output"] if item["type"] == "message"]


@given(st.lists(st.integers(0, len(IDS)), max_size=8))
def test_each_message_has_its_own_tokens_however_they_come(cuts):
    made = whole(cuts)
    texts = ["Wait 🐼, please.", "It is 🍣🍣 done."]
    for text, said in zip(texts, logprobs_of(made)):
        assert bytes(byte for one in said for byte in one["bytes"]).decode() == text
    assert logprobs_of(made) == logprobs_of(whole([]))
    assert logprobs_of(made)[1][0]["top_logprobs"][0]["logprob"] == -9999.0  # JSON has no infinity


def test_tokens_without_logprobs_are_left_out():
    made = whole([len(IDS) - 3], frozenset({0}))
    first, second = logprobs_of(made)
    assert first == []
    assert [one["logprob"] for one in second] == [-(len(IDS) - 3) / 100, -(len(IDS) - 2) / 100]


def test_another_number_of_logprobs_is_refused():
    stream = ResponsesStream(id="resp_1", model="m", created=1)
    stream.start()
    with pytest.raises(ValueError, match="1 logprobs for 2 tokens"):
        stream.feed(IDS[:2], [entry(0)])


def test_tokens_that_the_parser_holds_back_keep_their_places():
    """What may become a marker is held back, and the parser's position counts it when it is known."""
    ids = VOCAB.encode("One.<tool_calamity>, two.")
    said = [{"token": VOCAB.token_bytes(tid).decode(), "logprob": -0.5, "bytes": None} for tid in ids]
    stream = ResponsesStream(hs.Parser("hermes", VOCAB, check_stops=False), id="resp_1", model="m", created=1)
    stream.start()
    for tid, entry_ in zip(ids, said, strict=True):
        stream.feed([tid], [entry_])
    stream.finish("stop")
    (logprobs,) = logprobs_of(stream.response())
    assert "".join(one["token"] for one in logprobs) == "One.<tool_calamity>, two."
