"""Log probabilities of completion servers, in Chat Completions' words."""

from __future__ import annotations

import asyncio
import math

import pytest
from prompts import IDS, TEXT
from test_completions import generated, usage_chunk, vllm
from upstream import DONE, Upstream

import harmonystream as hs
from harmonystream.engines import EngineError, Finished, Sampled, Sampling
from harmonystream.engines.logprobs import token_logprobs

VOCAB = hs.vocab.o200k_harmony()
HI, EMOJI = 12194, VOCAB.encode("🌂")[0]
ASKED = Sampling(logprobs=2)


def given(values, tops=None):
    """As vLLM sends it with `return_tokens_as_token_ids`."""
    return {"token_logprobs": values, "tokens": ["?"] * len(values), "top_logprobs": tops, "text_offset": [0]}


def test_each_id_has_its_number_and_its_bytes():
    made = token_logprobs(given([-0.5, None]), [HI, EMOJI], VOCAB, 2)
    assert made[0] == {"token": "Hi", "logprob": -0.5, "bytes": [72, 105], "top_logprobs": []}
    assert made[1]["bytes"] == list(VOCAB.token_bytes(EMOJI))
    assert (made[1]["token"], made[1]["logprob"]) == ("\N{REPLACEMENT CHARACTER}", -9999.0)


def test_alternatives_are_sorted_and_bounded():
    tops = [{f"token_id:{EMOJI}": -3.0, f"token_id:{HI}": -0.5, "token_id:200005": -2.0, "token_id:1": None}]
    (made,) = token_logprobs(given([-0.5], tops), [HI], VOCAB, 2)
    assert [(one["token"], one["logprob"]) for one in made["top_logprobs"]] == [("Hi", -0.5), ("<|channel|>", -2.0)]
    (none,) = token_logprobs(given([-0.5], tops), [HI], VOCAB, 0)
    assert none["top_logprobs"] == []


def test_alternatives_of_a_server_that_names_them_by_their_text():
    tops = [{"Hé": -0.5, "token_id:": -1, "token_id:9999999999": -2, "token_id:³": -3, "token_id:999999": -4}]
    (made,) = token_logprobs(given([-0.5], tops), [HI], VOCAB, 20)
    assert made["top_logprobs"][0] == {"token": "Hé", "logprob": -0.5, "bytes": [72, 195, 169]}
    spelled = ["Hé", "token_id:", "token_id:9999999999", "token_id:³", ""]  # the last is an id that there is not
    assert [one["token"] for one in made["top_logprobs"]] == spelled


@pytest.mark.parametrize("broken", [None, 3, {}, given([]), given([-1.0]), given([-1.0, "x"]), given([-1.0, True])])
def test_what_is_not_one_number_for_each_id_is_an_error(broken):
    with pytest.raises(EngineError, match="one number for each id") as caught:
        token_logprobs(broken, [HI, HI], VOCAB, 1)
    assert caught.value.kind == "protocol"


SCRIPT = [vllm([HI], logprobs=given([-0.5], [{f"token_id:{HI}": -0.5}])), vllm([], end="stop"), usage_chunk(), DONE]


def asked(sampling, prompt=IDS, **options):
    upstream = Upstream(SCRIPT)
    items = asyncio.run(generated(upstream, prompt, sampling, **options))
    return items, upstream.requests[0][1]


@pytest.mark.parametrize(("server", "more"), [("vllm", {"return_tokens_as_token_ids": True}), ("sglang", {})])
def test_a_server_is_asked_and_its_ids_come_with_them(server, more):
    items, request = asked(ASKED, server=server)
    assert isinstance(items[0], Sampled)
    assert items[0].ids == [HI]
    assert items[0].logprobs[0]["top_logprobs"] == [{"token": "Hi", "logprob": -0.5, "bytes": [72, 105]}]
    assert isinstance(items[-1], Finished)
    assert request["logprobs"] == 2
    assert request.get("return_tokens_as_token_ids", False) == more.get("return_tokens_as_token_ids", False)


def test_nothing_is_asked_where_there_could_be_nothing():
    for sampling, options in [
        (Sampling(), {}),
        (ASKED, {"prompt": TEXT}),
        (Sampling(logprobs=0, stop=("x",)), {}),
        (ASKED, {"server": "tensorrt_llm"}),
    ]:
        items, request = asked(sampling, **options)
        assert items[0] == [HI]
        assert "logprobs" not in request


def test_infinities_are_left_to_the_emitter():
    (made,) = token_logprobs(given([-math.inf]), [HI], VOCAB, 0)
    assert made["logprob"] == -math.inf
