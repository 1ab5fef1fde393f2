"""Log probabilities: each token's own, at the text that the token is part of."""

from __future__ import annotations

import json

import httpx2
import pytest
from gateways import ANSWER, CALL, TOOLS, chunk, gateway, ids_of, serving
from upstream import DONE

import harmonystream as hs
from harmonystream.gateway import app
from harmonystream.gateway.generating.demo import demo_model

VOCAB = hs.vocab.o200k_harmony()


def script_with(text, per_chunk=1):
    """An engine whose token at the place n has the logprob -n / 100."""
    ids, made = ids_of(text), []
    for at in range(0, len(ids), per_chunk):
        piece = ids[at : at + per_chunk]
        values = [-(at + n) / 100 for n in range(len(piece))]
        tops = [{f"token_id:{tid}": value, "token_id:0": -9.5} for tid, value in zip(piece, values)]
        one = chunk(piece, "stop" if at + per_chunk >= len(ids) else None)
        one["choices"][0]["logprobs"] = {"token_logprobs": values, "top_logprobs": tops}
        made.append(one)
    return [*made, DONE]


def expected(text, region):
    """(token, logprob) of the tokens of a region."""
    parser, found = hs.Parser(), []
    for at, tid in enumerate(ids_of(text)):
        before = getattr(parser.usage, region)
        parser.feed(tid)
        if getattr(parser.usage, region) > before:
            found.append((VOCAB.token_bytes(tid).decode("utf-8", "replace"), -at / 100))
    return found


def listed(content):
    return [(one["token"], one["logprob"]) for one in content]


def streamed(made, **body):
    """(text, logprobs) of each region, of a stream's chunks."""
    texts, found = {"content": "", "reasoning": ""}, {"content": [], "reasoning": []}
    for line in made.post("chat", stream=True, logprobs=True, **body).text.splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                for name in texts:
                    if piece := choice["delta"].get(name):
                        texts[name] += piece
                        found[name] += (choice["logprobs"] or {"content": []})["content"]
    return texts, {name: listed(content) for name, content in found.items()}


@pytest.mark.parametrize("per_chunk", [1, 3, 100])
def test_each_tokens_logprob_is_at_its_own_text(per_chunk):
    with gateway(script_with(ANSWER, per_chunk)) as made:
        texts, found = streamed(made, top_logprobs=2)
        assert texts == {"content": "Hi there!", "reasoning": "Hello"}
        for region in ("content", "reasoning"):
            assert found[region] == expected(ANSWER, region)
        assert (made.sent()["logprobs"], made.sent()["return_tokens_as_token_ids"]) == (2, True)


def test_a_whole_answer_has_them_with_their_alternatives():
    with gateway(script_with(ANSWER)) as made:
        (choice,) = made.post("chat", logprobs=True, top_logprobs=1).json()["choices"]
        content = choice["logprobs"]["content"]
        assert listed(content) == expected(ANSWER, "reasoning") + expected(ANSWER, "content")
        assert [len(one["top_logprobs"]) for one in content] == [1] * len(content)
        (hidden,) = made.post("chat", logprobs=True, include_reasoning=False).json()["choices"]
        assert listed(hidden["logprobs"]["content"]) == expected(ANSWER, "content")
        assert hidden["logprobs"]["content"][0]["top_logprobs"] == []


def test_they_survive_a_stop_string_a_budget_and_several_choices():
    with gateway(script_with(ANSWER, 3)) as made:
        (choice,) = made.post("chat", logprobs=True, stop=" there").json()["choices"]
        assert choice["message"]["content"] == "Hi"
        assert listed(choice["logprobs"]["content"])[-1] == expected(ANSWER, "content")[0]
        both = made.post("chat", logprobs=True, n=2).json()["choices"]
        want = expected(ANSWER, "reasoning") + expected(ANSWER, "content")
        assert [listed(one["logprobs"]["content"]) for one in both] == [want, want]
        texts, found = streamed(made, thinking_token_budget=1)  # what the gateway itself has written has none
        assert texts["reasoning"].startswith("Hello")
        assert found["reasoning"] == 2 * expected(ANSWER, "reasoning")  # this engine begins anew until it is let


def test_those_of_a_call_are_at_its_arguments():
    with gateway(script_with(CALL)) as made:
        (choice,) = made.post("chat", logprobs=True, tools=TOOLS["chat"]).json()["choices"]
        tokens = "".join(token for token, _ in listed(choice["logprobs"]["content"]))
        assert tokens == 'A tool.{"a": 1}'


def test_the_official_client_reads_them():
    with gateway(script_with(ANSWER)) as made, made.clients() as clients:
        asked = {"model": "openai/gpt-oss-20b", "messages": [{"role": "user", "content": "?"}]}
        whole = clients.openai.chat.completions.create(**asked, logprobs=True, top_logprobs=1)
        assert whole.choices[0].logprobs.content[0].top_logprobs[0].token == "Hello"


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("per_chunk", [1, 100])
def test_responses_have_those_of_the_answer(streams, per_chunk):
    """In the deltas, at the end of the text, and in the item; tokens of the reasoning have no place there."""
    asked = {"model": "openai/gpt-oss-20b", "input": "?", "include": ["message.output_text.logprobs"]}
    with gateway(script_with(ANSWER, per_chunk)) as made, made.clients() as clients:
        if streams:
            with clients.openai.responses.stream(**asked, top_logprobs=2) as parts:
                events = list(parts)
            whole = events[-1].response
            deltas = [event for event in events if event.type == "response.output_text.delta"]
            (done,) = (event for event in events if event.type == "response.output_text.done")
            joined = [entry for event in deltas for entry in event.logprobs]
            assert [(one.token, one.logprob) for one in joined] == expected(ANSWER, "content")
            assert [one.to_dict() for one in done.logprobs] == [one.to_dict() for one in joined]
            assert len(deltas) > 1 or per_chunk > 1
        else:
            whole = clients.openai.responses.create(**asked, top_logprobs=2)
        asks = made.sent()["logprobs"]
    (message,) = (item for item in whole.output if item.type == "message")
    entries = message.content[0].logprobs
    assert [(one.token, one.logprob) for one in entries] == expected(ANSWER, "content")
    assert b"".join(bytes(one.bytes) for one in entries).decode() == "Hi there!"
    assert (asks, max(len(one.top_logprobs) for one in entries)) == (2, 2)


def test_responses_have_none_unless_they_are_asked_for():
    with gateway(script_with(ANSWER)) as made:
        whole = made.post("responses").json()
        assert whole["output"][1]["content"][0]["logprobs"] == []
        assert "logprobs" not in made.sent()
        made.post("responses", include=["message.output_text.logprobs"])
        assert made.sent()["logprobs"] == 0


def test_where_there_are_none_they_are_refused_by_name():
    with gateway(script_with(ANSWER)) as made:
        for body, param in [
            ({"top_logprobs": 3}, "top_logprobs"),
            ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
            ({"logprobs": 3}, "logprobs"),
        ]:
            answer = made.post("chat", **body)
            assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)
        assert made.post("responses", top_logprobs=21).json()["error"]["param"] == "top_logprobs"
        assert made.post("chat", logprobs=False, top_logprobs=0).status_code == 200
    with serving(app([demo_model(delay=0)])) as url:
        body = {"model": "gpt-oss", "messages": [{"role": "user", "content": "?"}], "logprobs": True}
        refused = httpx2.post(f"{url}/v1/chat/completions", json=body)
        other = httpx2.post(f"{url}/v1/responses", json={"model": "gpt-oss", "input": "?", "top_logprobs": 1})
    assert refused.json()["error"]["message"].startswith("logprobs is not supported: this model's engine has none")
    assert other.json()["error"]["param"] == "top_logprobs"


def test_an_engine_that_sends_none_is_an_error():
    with gateway([chunk(ids_of(ANSWER), "stop"), DONE]) as made:
        answer = made.post("chat", logprobs=True)
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "engine_error")
