"""Whatever happens to the responses of a batch, each is the one that an emitter makes alone."""

from __future__ import annotations

import random

import pytest
import random_streams
import random_tags
from hypothesis import given, settings
from hypothesis import strategies as st
from random_batches import APIS, Kind, Slots, kinds_of_emitter
from streams import to_ids
from tag_streams import tokens

import harmonystream as hs

PLAIN = to_ids(
    b"<|channel|>analysis<|message|>Think \xf0\x9f\x98\x80<|end|>"
    b"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    b'{"a": "x\\n", "b": [1, 2]}<|call|><|start|>assistant<|channel|>final<|message|>Hi "you"\n<|return|>'
)


def run(batch: hs.batch.Batch, kinds: list[Kind], texts: list[list[int]], seed: int) -> None:
    """Many responses, of which no more than the batch's slots are open at a time."""
    dice = random.Random(seed)
    slots = Slots(batch, dice)
    left = dice.randrange(4, 13)
    while left or slots.twins:
        what = dice.random()
        if left and len(slots.twins) < batch.capacity and (not slots.twins or what < 0.4):
            slots.open(dice.choice(kinds), dice.choice(texts)[:])
            left -= 1
        elif what < 0.8:
            slots.step()
        elif what < 0.93:
            slots.look(dice.choice(sorted(slots.twins)))
        else:
            slots.end(dice.choice(sorted(slots.twins)))
    slots.over()


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=settings.default.max_examples // 2)
@given(st.data(), st.lists(random_streams.id_streams, min_size=1, max_size=4), random_streams.seeds)
def test_random_harmony_responses(api: str, data: st.DataObject, texts: list[list[int]], seed: int) -> None:
    made = []
    for _ in range(data.draw(st.integers(1, 2))):
        options = data.draw(random_streams.options)
        made.append(Kind(*data.draw(kinds_of_emitter(api)), options.parser, options.tools))
    run(hs.batch.Batch(capacity=3), made, [PLAIN, *texts], seed)


@pytest.mark.parametrize("name", ["hermes", "qwen3_coder", "glm"])
@settings(max_examples=settings.default.max_examples // 2)
@given(st.data(), random_streams.seeds)
def test_random_responses_of_tag_formats(name: str, data: st.DataObject, seed: int) -> None:
    options = data.draw(random_tags.options(name))
    vocabulary = data.draw(random_tags.vocabularies)
    vocab = tokens(name, vocabulary).vocab
    texts = data.draw(st.lists(random_tags.id_streams(name, vocabulary), min_size=1, max_size=4))
    kinds = data.draw(st.lists(kinds_of_emitter(), min_size=1, max_size=2))
    made = [Kind(*kind, lambda: options.parser(vocab), options.declared) for kind in kinds]
    run(hs.batch.Batch(name, vocab, 3, check_stops=False), made, texts, seed)
