"""The adapter of transformers, over a model that plays `generate`. `make engines` runs it over real ones."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from prompts import IDS, TEXT

import harmonystream as hs
from harmonystream.engines import EngineError, Finished, Sampling, TransformersEngine


class Tensor:
    """As much of a tensor as the adapter uses."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def reshape(self, _: int) -> Tensor:
        flat = self.values[0] if self.values and isinstance(self.values[0], list) else self.values
        return Tensor(flat)

    def tolist(self) -> Any:
        return self.values


@pytest.fixture(autouse=True)
def torch(monkeypatch):
    fake = SimpleNamespace(tensor=lambda values, device=None: Tensor(values), ones_like=lambda tensor: tensor)
    monkeypatch.setitem(sys.modules, "torch", fake)
    before = threading.active_count()
    yield
    for _ in range(400):
        if threading.active_count() <= before:
            break
        time.sleep(0.005)
    assert threading.active_count() <= before


class Model:
    """Its `generate` hands the prompt and then these ids to the streamer, as transformers does."""

    device = "cpu"

    def __init__(self, ids: list[int], error: Exception | None = None, forever: bool = False) -> None:
        self.ids, self.error, self.forever = ids, error, forever
        self.options: dict[str, Any] = {}
        self.inside = self.most = 0

    def generate(self, tensor: Tensor, *, streamer: Any, **options: Any) -> None:
        self.options = options
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            streamer.put(tensor)
            for token in self.ids:
                streamer.put(Tensor([token]))
                time.sleep(0.001)
            while self.forever:
                time.sleep(0.001)
                streamer.put(Tensor([1]))
            if self.error is not None:
                raise self.error
            streamer.end()
        finally:
            self.inside -= 1


async def items_of(engine: TransformersEngine, prompt: Any = IDS, sampling: Sampling | None = None) -> list[Any]:
    return [item async for item in engine.generate(prompt, sampling or Sampling())]


def run(model: Model, prompt: Any = IDS, sampling: Sampling | None = None, tokenizer: Any = None) -> list[Any]:
    return asyncio.run(items_of(TransformersEngine(model, tokenizer), prompt, sampling))


def usage(count: int, prompt: int = 7) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": count, "total_tokens": prompt + count}


def test_ids_come_one_by_one_and_the_prompt_does_not():
    model = Model([200005, 17196, 200002])
    assert run(model) == [200005, 17196, 200002, Finished("stop", usage(3))]
    assert model.options["eos_token_id"] == [200002, 200012]
    assert model.options["max_new_tokens"] == 4096


def test_a_generation_at_its_limit_was_cut_unless_it_ended_there():
    assert run(Model([5, 6]), sampling=Sampling(max_tokens=2))[-1] == Finished("length", usage(2))
    assert run(Model([5, 200012]), sampling=Sampling(max_tokens=2))[-1] == Finished("stop", usage(2))


def test_a_prompt_without_ids_is_encoded():
    tokenizer = SimpleNamespace(encode=lambda text, add_special_tokens: [1, 2] if not add_special_tokens else None)
    assert run(Model([5]), TEXT, tokenizer=tokenizer)[-1].usage == usage(1, 2)
    with pytest.raises(ValueError, match="pass the tokenizer"):
        run(Model([5]), TEXT)


@pytest.mark.parametrize(
    ("sampling", "options"),
    [
        (Sampling(), {}),
        (Sampling(temperature=0.0, top_p=0.5), {"do_sample": False}),
        (Sampling(temperature=0.7, top_k=5), {"temperature": 0.7, "top_k": 5, "do_sample": True}),
        (Sampling(repetition_penalty=1.2, extra={"use_cache": True}), {"repetition_penalty": 1.2, "use_cache": True}),
    ],
)
def test_sampling_becomes_options_of_generate(sampling, options):
    model = Model([5])
    run(model, sampling=sampling)
    always = ("attention_mask", "eos_token_id", "pad_token_id", "max_new_tokens")
    assert {name: value for name, value in model.options.items() if name not in always} == options


@pytest.mark.parametrize("sampling", [Sampling(seed=1), Sampling(stop=("x",)), Sampling(presence_penalty=0.1)])
def test_what_transformers_cannot_do_is_refused(sampling):
    with pytest.raises(ValueError, match="of transformers cannot do this: "):
        run(Model([5]), sampling=sampling)


def test_what_generate_raises_comes_after_what_it_made():
    async def main() -> list[Any]:
        got = []
        with pytest.raises(EngineError, match="out of memory"):
            async for item in TransformersEngine(Model([5], RuntimeError("out of memory"))).generate(IDS, Sampling()):
                got.append(item)
        return got

    assert asyncio.run(main()) == [5]


def test_closing_it_ends_the_thread():
    async def main() -> int:
        model = Model([5], forever=True)
        items = TransformersEngine(model).generate(IDS, Sampling())
        assert await anext(items) == 5
        await items.aclose()
        return model.inside

    assert asyncio.run(main()) == 0


def test_cancelling_it_ends_the_thread_also_while_it_waits_for_its_turn():
    async def main() -> tuple[int, int]:
        model = Model([5], forever=True)
        engine = TransformersEngine(model)
        tasks = [asyncio.create_task(items_of(engine)) for _ in range(2)]
        while not model.inside:
            await asyncio.sleep(0.001)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return model.inside, model.most

    assert asyncio.run(main()) == (0, 1)


def test_one_caller_at_a_time():
    async def main(model: Model) -> None:
        engine = TransformersEngine(model)
        await asyncio.gather(*(items_of(engine) for _ in range(3)))

    model = Model([5, 6])
    asyncio.run(main(model))
    assert model.most == 1


class Tokenizer:
    """A fast tokenizer of transformers: as much as the loop reads of it."""

    def __init__(self, made: Any, name: str, template: str | None) -> None:
        self.backend_tokenizer = made
        self.name_or_path = name
        self.chat_template = template
        self.special_tokens_map = {"eos_token": "<|im_end|>", "additional_special_tokens": ["<x>"]}

    def encode(self, text: str, add_special_tokens: bool) -> list[int]:
        return self.backend_tokenizer.encode(text, add_special_tokens=add_special_tokens).ids


SOURCE = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{{ eos_token }}
{% endfor %}<|im_start|>assistant
"""


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", ""])
def test_a_model_and_its_tokenizer_are_all_that_a_loop_needs(name):
    from families import QWEN, QWEN_PLAIN, tokenizer

    made = tokenizer(QWEN, QWEN_PLAIN)
    ids = made.encode("Hello.<|im_end|>", add_special_tokens=False).ids
    engine = TransformersEngine(Model(ids), Tokenizer(made, name, SOURCE))
    options = {} if name else {"format": "hermes"}  # a name that says nothing: the format is all that is missing
    *_, end = hs.agent_loop_sync(engine, "Hi", **options)
    assert (end.reason, end.text) == ("answer", "Hello.")
    options = asyncio.run(engine.prompt_options(()))
    assert options["tokens"] == {"eos_token": "<|im_end|>"}


def test_gpt_oss_needs_no_template():
    from harmonystream.vocab import o200k_harmony

    engine = TransformersEngine(Model([200005, 17196, 200008, 12194, 200002]), None)
    *_, end = hs.agent_loop_sync(engine, "Hi", format="harmony", vocab=o200k_harmony())
    assert end.text == "Hi"
