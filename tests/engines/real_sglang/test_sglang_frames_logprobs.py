"""Log probabilities in the frames of our emitter: each token of a text has what SGLang says of it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("sglang")

import openai
from asgi_clients import asked, chunks
from host_scenarios import MESSAGES, TOOLS, ids_of
from test_sglang_chat import CALLING
from wire_scenarios import SCENARIOS, write

import harmonystream as hs

OUTPUT = "<think>\nHm. \n</think>\n\nOne, zwölf, 🫖 three."
TEXT = hs.ReasoningDelta, hs.ContentDelta, hs.ToolCallDelta
KINDS = ["frames", "pieces"]


def entries(made: list[Any], index: int = 0) -> list[dict[str, Any]]:
    choices = [choice for chunk in made for choice in chunk.choices if choice.index == index]
    return [entry.model_dump() for choice in choices if choice.logprobs for entry in choice.logprobs.content]


def chunks_of_sglang(host: Any, **more: Any) -> list[dict[str, Any]]:
    """Without streaming, which is all SGLang's: of each id, markers too."""

    async def ask(client: openai.AsyncOpenAI) -> Any:
        given = {"model": "tiny", "messages": MESSAGES, "tools": TOOLS, "logprobs": True, **more}
        return await client.chat.completions.create(**given)

    return [entry.model_dump() for entry in asked(host, ask).choices[0].logprobs.content]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["qwen3", "gpt_oss"])
def test_each_token_has_what_sglang_says_of_it(server, family, kind):
    host = server(family, kind)
    text = OUTPUT if family == "qwen3" else write("harmony", SCENARIOS[CALLING])
    ids = ids_of(family, text, stops=True)
    for top in (0, 2):
        theirs = None
        for size in (1, 3):
            host.play(ids, at_once=size)
            said = entries(chunks(host, logprobs=True, top_logprobs=top))
            theirs = theirs or chunks_of_sglang(host, top_logprobs=top)
            assert len(theirs) == len(ids)
            assert said == theirs
            assert {len(entry["top_logprobs"]) for entry in said} == {top}


@pytest.mark.parametrize("kind", KINDS)
def test_choices_and_a_stop_string_that_begins_inside_a_token(server, kind):
    """The text has a part of the third token, and nothing of the fourth."""
    host = server("qwen3", kind)
    ids = ids_of(host.family, 'Hm {"b"}', stops=False)
    answer = {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}
    for size in (1, 4):
        host.play(ids, at_once=size)
        theirs = chunks_of_sglang(host, **answer)
        assert [entry["token"] for entry in theirs[:3]] == ["H", "m", ' {"']
        made = chunks(host, logprobs=True, n=2, stop=['{"b'], **answer)
        for index in (0, 1):
            choices = [choice for chunk in made for choice in chunk.choices if choice.index == index]
            assert "".join(choice.delta.content or "" for choice in choices) == "Hm "
            assert entries(made, index) == theirs[: 4 if size == 4 else len(entries(made, index))]
            assert len(entries(made, index)) >= 4


def test_the_frames_with_log_probabilities_are_ours(server):
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, OUTPUT, stops=True))
    host.app.state.openai_serving_chat._harmonystream_frames._logged.clear()
    made = chunks(host, logprobs=True)
    assert not host.app.state.openai_serving_chat._harmonystream_frames._logged
    assert "matched_stop" not in made[1].choices[0].model_fields_set
