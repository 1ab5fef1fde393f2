"""Log probabilities in the frames of our emitters: each token of the output has what vLLM says of it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("vllm")

import openai
from host_scenarios import FLAT, MESSAGES, TOOLS, ids_of
from test_vllm_frames import CALLING, raw
from wire_scenarios import SCENARIOS, write

import harmonystream as hs

OUTPUT = "<think>\nHm. \n</think>\n\nOne, zwölf, 🫖 three."
TEXT = hs.ReasoningDelta, hs.ContentDelta, hs.ToolCallDelta


def entries(chunks: list[dict[str, Any]], index: int = 0) -> list[dict[str, Any]]:
    choices = [choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == index]
    return [entry for choice in choices if choice["logprobs"] for entry in choice["logprobs"]["content"]]


def chunks_of_vllm(host: Any, **more: Any) -> list[dict[str, Any]]:
    """Without streaming, which is all vLLM's: of each id, markers too."""
    with openai.OpenAI(base_url=f"{host.url}/v1", api_key="-", max_retries=0) as client:
        whole = client.chat.completions.create(model="tiny", messages=MESSAGES, logprobs=True, **more)
    return [entry.model_dump() for entry in whole.choices[0].logprobs.content]


def in_text(host: Any, ids: list[int], *kinds: type) -> list[int]:
    """Which of the ids belong to text."""
    parser = hs.Parser(host.format, host.vocab, prompt=host.asked()["prompt"])
    events = [event for tid in ids for event in parser.feed(tid)]
    return [at for event in events if isinstance(event, kinds or TEXT) for at in range(event.start, event.stop)]


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("top", [0, 2])
@pytest.mark.parametrize("family", ["qwen3", "gpt_oss"])
def test_each_token_has_what_vllm_says_of_it(server, family, top, size):
    host = server(family, "frames")
    text = OUTPUT if family == "qwen3" else write("harmony", SCENARIOS[CALLING])
    ids = ids_of(family, text, stops=True)
    host.play(ids, at_once=size)
    chunks = raw(host, tools=TOOLS, logprobs=True, top_logprobs=top)
    said, theirs = entries(chunks), chunks_of_vllm(host, tools=TOOLS, top_logprobs=top)
    assert len(theirs) == len(ids)
    assert said == theirs
    assert said and {len(entry["top_logprobs"]) for entry in said} == {top}
    assert "vLLM streams requests with logprobs" not in host.log()


def test_with_hidden_reasoning_there_are_none(server):
    """As in vLLM's own streams: they would show it."""
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, OUTPUT, stops=True))
    assert entries(raw(host, logprobs=True, include_reasoning=False)) == []


@pytest.mark.parametrize("size", [1, 4])
def test_choices_and_a_stop_string_that_begins_inside_a_token(server, size):
    """The text has a part of the third token, and nothing of the fourth. Both have their entry, as in vLLM's own."""
    host = server("qwen3", "frames")
    ids = ids_of(host.family, 'Hm {"b"}', stops=False)
    host.play(ids, at_once=size)
    answer = {"chat_template_kwargs": {"enable_thinking": False}}
    theirs = chunks_of_vllm(host, stop=['{"b'], extra_body=answer)
    assert [entry["token"] for entry in theirs[:3]] == ["H", "m", ' {"']
    chunks = raw(host, logprobs=True, n=2, stop=['{"b'], **answer)
    for index in (0, 1):
        choices = [choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == index]
        assert "".join(choice["delta"].get("content") or "" for choice in choices) == "Hm "
        assert entries(chunks, index) == theirs


@pytest.mark.parametrize("size", [1, 3])
def test_responses_have_those_of_their_text(server, size):
    host = server("qwen3", "frames")
    ids = ids_of(host.family, OUTPUT, stops=True)
    host.play(ids, at_once=size)
    left = host.log().count("vLLM streams Responses with")
    asked = {"model": "tiny", "input": "Go!", "tools": FLAT, "store": False, "top_logprobs": 2}
    client = openai.OpenAI(base_url=f"{host.url}/v1", api_key="-", max_retries=0)
    with client, client.responses.stream(**asked, include=["message.output_text.logprobs"]) as stream:
        events = list(stream)
    said = [one.model_dump() for e in events if e.type == "response.output_text.delta" for one in e.logprobs]
    part = next(item for item in events[-1].response.output if item.type == "message").content[0]
    theirs = chunks_of_vllm(host, top_logprobs=2)
    wanted = [theirs[at] for at in in_text(host, ids, hs.ContentDelta)]
    assert [(one["token"], one["logprob"]) for one in said] == [(one["token"], one["logprob"]) for one in wanted]
    assert [one.model_dump() for one in part.logprobs] == wanted
    assert host.log().count("vLLM streams Responses with") == left
