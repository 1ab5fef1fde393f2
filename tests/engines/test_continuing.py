"""Where a recording goes on from the beginning of an answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.engines import Finished, Recorded, Sampling
from harmonystream.formats import format_of

VOCAB = hs.vocab.o200k_harmony()
TURNS = [turn["ids"] for turn in Recorded().turns]
ASKED = hs.render([{"role": "user", "content": "?"}], model="gpt-oss")


def begun(ids: list[int]) -> hs.prompts.Prompt:
    assert ASKED.ids is not None
    return replace(ASKED, ids=[*ASKED.ids, *ids], begun=len(ids))


def continued(engine: Recorded, prompt: hs.prompts.Prompt) -> list[Any]:
    async def main() -> list[Any]:
        return [item async for item in engine.generate(prompt, Sampling()) if not isinstance(item, Finished)]

    return asyncio.run(main())


@given(st.sampled_from(range(len(TURNS))), st.data())
def test_what_was_recorded_goes_on_where_it_is_cut(turn, data):
    ids = TURNS[turn]
    cut = data.draw(st.integers(1, len(ids) - 1))
    other = data.draw(st.sampled_from(range(len(TURNS))))
    if cut < 4:  # all turns begin alike
        other = turn
    engine = Recorded()
    for _ in range(other):  # another turn is next
        continued(engine, ASKED)
    assert continued(engine, begun(ids[:cut])) == ids[cut:]


def test_text_goes_on_where_it_is_cut():
    text = '<think>\nHm</think>\n\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
    prompt = hs.prompts.Prompt("Hi", None, format_of("hermes"))
    for cut in range(1, len(text)):
        cut_prompt = replace(prompt, text="Hi" + text[:cut], begun=cut)
        assert "".join(continued(Recorded([{"text": text}]), cut_prompt)) == text[cut:]


@pytest.mark.parametrize("name", ["get_forecast", "Weather"])
def test_a_forced_call_gets_the_arguments_of_the_recorded_one(name):
    call = f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
    thought = TURNS[0][: TURNS[0].index(200007) + 1]
    said = continued(Recorded(), begun([*thought, *VOCAB.encode(call, control=True)]))
    text = b"".join(map(VOCAB.token_bytes, said)).decode()
    assert text == '{"city": "成都", "day": "tomorrow", "hourly": false}<|call|>'


def test_a_recording_that_cannot_go_on_says_so():
    engine = Recorded([{"ids": TURNS[1]}])
    call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    with pytest.raises(hs.errors.EngineError, match="nothing that continues"):
        continued(engine, begun(VOCAB.encode(call, control=True)))
