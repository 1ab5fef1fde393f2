"""Where an operator was once worse off with our plug-ins than without them."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("vllm")

import openai
from host_scenarios import MESSAGES, TOOLS, ids_of
from test_vllm_derender import post
from test_vllm_frames import CALLING, raw
from test_vllm_frames_logprobs import chunks_of_vllm
from vllm_answers import chat, chat_stream, messages, responses
from wire_scenarios import SCENARIOS, write

HERMES = '<think>\nHm.\n</think>\n\nOne.\n<tool_call>\n{"name": "f", "arguments": {"i": 1, "s": "x y"}}\n</tool_call>'
HARMONY = (
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary<|message|>Pre.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Fin.<|return|>"
)
CALL = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>"


def frames_of(host: Any, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    status, answer = post(host, path, {"model": "tiny", "stream": True, **body})
    assert status == 200
    lines = [line for line in answer.decode().splitlines() if line.startswith("data: {")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


MESSAGE = {"max_tokens": 100, "messages": MESSAGES}


@pytest.mark.parametrize("family", ["qwen3", "gpt_oss"])
def test_an_error_before_the_first_output_is_an_error_of_the_api(server, family):
    host = server(family, "frames")
    host.play([], refuse="not today")
    chunk = frames_of(host, "/v1/chat/completions", {"messages": MESSAGES})[-1]
    assert "not today" in chunk["error"]["message"]
    event = frames_of(host, "/v1/messages", MESSAGE)[-1]
    assert event["type"] == "error" and event["error"]["type"] == "invalid_request_error"
    assert "not today" in event["error"]["message"]


def test_an_error_of_the_engine_has_the_type_of_messages(server):
    host = server("qwen3", "frames")
    host.play(ids_of(host.family, "Hi there", stops=False), finish="error")
    event = frames_of(host, "/v1/messages", MESSAGE)[-1]
    assert (event["type"], event["error"]["type"]) == ("error", "api_error")


@pytest.mark.parametrize("kind", ["names", "frames"])
def test_whole_messages_with_any_cut_are_an_answer(server, kind):
    host = server("qwen3", kind)
    ids = ids_of(host.family, HERMES, stops=True)
    for cut in range(1, len(ids) + 1):
        host.play(ids[:cut], finish="stop" if cut == len(ids) else "length")
        whole = messages(host, streams=False)
        assert whole.reason == ("tool_use" if cut == len(ids) else "max_tokens")
        if kind == "frames":
            said = messages(host)
            assert whole._replace(content="") == said._replace(content="")
    host.play(ids)
    said = messages(host, streams=False, stop_sequences=['"s"'])
    assert (said.calls, said.reason) == ((("f", '{"i": 1}'),), "stop_sequence")


@pytest.mark.parametrize("streams", [True, False], ids=["stream", "whole"])
def test_responses_of_gpt_oss_with_any_cut_are_an_answer(server, streams):
    host = server("gpt_oss")
    text = HARMONY.replace("<|return|>", "<|end|>") + "<|start|>assistant" + CALL + '{"i": 1}<|call|>'
    ids = ids_of(host.family, text, stops=True)
    for cut in range(1, len(ids)):
        host.play(ids[:cut], finish="length")
        said = responses(host, streams=streams)
        assert said.reason == "incomplete"
        assert not said.calls or '{"i": 1}'.startswith(dict(said.calls)["f"])


def test_an_error_of_the_engine_is_an_error_of_whole_responses(server):
    host = server("gpt_oss")
    for size in (0, 1, 3):
        host.play(ids_of(host.family, CALL, stops=False)[:size], finish="error")
        with pytest.raises(openai.InternalServerError):
            responses(host, streams=False)


@pytest.mark.parametrize("kind", ["names", "frames"])
def test_the_texts_of_two_messages_are_parted_alike_streamed_and_whole(server, kind):
    host = server("gpt_oss", kind)
    for size in (1, 5):
        host.play(ids_of(host.family, HARMONY, stops=True), at_once=size)
        for said in (chat_stream(host)[0], chat(host)[0]):
            assert (said.reasoning, said.content) == ("Hm.", "Pre.\n\nFin.")
        assert messages(host, streams=False).content == "Pre.\n\nFin."


@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("family", ["qwen3", "glm45", "gpt_oss"])
def test_the_log_probabilities_of_each_token_are_in_one_chunk(server, family, size):
    host = server(family, "frames")
    ids = ids_of(family, write(host.format, SCENARIOS[CALLING]), stops=True)
    host.play(ids, at_once=size)
    for more in ({"tools": TOOLS}, {"tools": TOOLS, "tool_choice": "none"}, {}, {"tools": TOOLS, "stop": ["moment"]}):
        chunks = raw(host, logprobs=True, top_logprobs=1, **more)
        entries = [
            entry
            for chunk in chunks
            for choice in chunk["choices"]
            if choice["logprobs"]
            for entry in choice["logprobs"]["content"]
        ]
        assert entries == chunks_of_vllm(host, top_logprobs=1, **more)


NO_TOOLS = {"qwen3": "hermes", "kimi_k2": "kimi_k2", "glm45": "glm", "gpt_oss": "harmony"}


@pytest.mark.parametrize("kind", ["names", "frames"])
@pytest.mark.parametrize("family", NO_TOOLS)
def test_a_call_in_a_request_without_tools_is_not_shown(server, family, kind):
    host = server(family, kind)
    host.play(ids_of(family, write(host.format, SCENARIOS[CALLING]), stops=True))
    for said in (
        chat_stream(host, tools=openai.omit)[0],
        chat(host, tools=openai.omit)[0],
        messages(host, tools=[]),
        *(responses(host, streams=streams, tools=[]) for streams in (True, False) if family != "gpt_oss"),
    ):
        assert (said.content.strip(), said.calls) == ("One moment.", ())


def test_json_in_a_request_without_tools_is_an_answer(server):
    host = server("qwen3")
    text = '{"name": "f", "arguments": {"i": 1}}'
    host.play(ids_of(host.family, text, stops=True))
    more = {"extra_body": {"chat_template_kwargs": {"enable_thinking": False}}, "tools": openai.omit}
    assert chat(host, **more)[0].content == chat_stream(host, **more)[0].content == text


def test_a_format_that_does_not_fit_the_model_is_refused_at_the_start(tmp_path):
    from vllm_servers import Server

    with pytest.raises(RuntimeError, match=r"has none of the tokens at which .+llama3.+ stops"):
        Server(tmp_path, "qwen3", "names", parsers="harmonystream_llama3")
