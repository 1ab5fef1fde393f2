"""Tiny models of transformers with random weights. `make engines` installs what they need; elsewhere it is skipped."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import harmonystream as hs
from harmonystream.engines import Sampling, TransformersEngine

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}
WORDS = 201_088  # gpt-oss's vocabulary
CONVERSATION = [{"role": "user", "content": "Hi"}]


def _qwen3() -> Any:
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(vocab_size=WORDS, intermediate_size=64, **SIZES))


def _gpt_oss() -> Any:
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1, "intermediate_size": 32, "sliding_window": 8}
    return transformers.GptOssForCausalLM(transformers.GptOssConfig(vocab_size=WORDS, **SIZES, **experts))


@pytest.fixture(scope="module", params=[_qwen3, _gpt_oss], ids=["qwen3", "gpt_oss"])
def model(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(0)
    made = request.param().eval()
    made.generation_config.eos_token_id = None
    return made


def ids_of(engine: TransformersEngine, sampling: Sampling) -> tuple[list[int], Any]:
    async def main() -> list[Any]:
        prompt = hs.render(CONVERSATION, format="harmony")
        return [item async for item in engine.generate(prompt, sampling)]

    *ids, end = asyncio.run(main())
    return ids, end


def test_ids_are_those_of_generate(model):
    ids, end = ids_of(TransformersEngine(model), Sampling(max_tokens=12, temperature=0.0))
    prompt = hs.render(CONVERSATION, format="harmony")
    tensor = torch.tensor([prompt.ids])
    stops = {"eos_token_id": list(prompt.stop_ids), "pad_token_id": prompt.stop_ids[0]}
    whole = model.generate(tensor, attention_mask=torch.ones_like(tensor), max_new_tokens=12, do_sample=False, **stops)
    assert ids == whole[0, len(prompt.ids) :].tolist()
    assert end.usage == {
        "prompt_tokens": len(prompt.ids),
        "completion_tokens": len(ids),
        "total_tokens": len(prompt.ids) + len(ids),
    }


def test_the_loop_ends_whatever_a_random_model_says(model):
    end = list(
        hs.agent_loop_sync(
            TransformersEngine(model), CONVERSATION, format="harmony", sampling=Sampling(max_tokens=20, temperature=1.0)
        )
    )[-1]
    assert end.reason in ("answer", "length")


def test_closing_it_ends_the_thread_at_the_next_token(model):
    async def main() -> None:
        prompt = hs.render(CONVERSATION, format="harmony")
        items = TransformersEngine(model).generate(prompt, Sampling(max_tokens=5000, temperature=0.0))
        await anext(items)
        await items.aclose()

    before = threading.active_count()
    asyncio.run(main())
    assert threading.active_count() <= before + 1  # torch may have started one of its own
    assert not [one for one in threading.enumerate() if one.name == "harmonystream-generate"]
