"""Chat Completions of SGLang's own application with the frames of our emitter."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from http import HTTPStatus

import pytest

pytest.importorskip("sglang")

import openai
from asgi_clients import asked, chat_stream, chunks
from host_scenarios import FORMATS, MESSAGES, TOOLS, Contents, ids_of, played, scenarios, wrong
from sglang_answers import expected
from test_sglang_chat import CALLING, NAMED, TEXT
from wire_scenarios import SCENARIOS, write

CASES = [(format, name) for format in ("hermes", "qwen3_coder", "kimi_k2", "harmony") for name in scenarios(format)]


def joined(text):
    """Without the blank line that separates two messages in one field."""
    return text.replace("\n\n", "")


@pytest.mark.parametrize(("format", "name"), CASES)
def test_chat_says_what_the_parser_says(server, format, name):
    host, scenario = server(FORMATS[format], "frames"), scenarios(format)[name]
    play = played(format, scenario)
    for size in (1, 3):
        host.play(play.ids, finish=play.finish, at_once=size)
        said, want = chat_stream(host), expected(host, play.ids, reason=play.finish)
        assert (said.calls, said.reason) == (want.calls, want.reason)
        assert (joined(said.reasoning), joined(said.content)) == (joined(want.reasoning), joined(want.content))
        assert not wrong(said, format, scenario)


def test_the_frames_are_ours(server):
    host = server("qwen3", "frames")
    ids = ids_of("qwen3", write("hermes", SCENARIOS[CALLING]), stops=True)
    host.play(ids)
    made = chunks(host, stream_options={"include_usage": True})
    assert made[0].choices[0].delta.model_dump(exclude_unset=True) == {"role": "assistant", "content": ""}
    assert "matched_stop" not in made[1].choices[0].model_fields_set
    assert {chunk.id for chunk in made} == {"chatcmpl-1"}
    calls = [call.id for chunk in made for choice in chunk.choices for call in choice.delta.tool_calls or () if call.id]
    assert len(set(calls)) == 3 and all(id.startswith("call_") for id in calls)
    usage = made[-1].usage
    prompt = len(host.manager.asked.input_ids)
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (prompt, len(ids), prompt + len(ids))


@pytest.mark.parametrize("choice", ["auto", "required", NAMED, "none"], ids=["auto", "required", "named", "none"])
def test_every_tool_choice(server, choice):
    host = server("qwen3", "frames")
    ids = ids_of("qwen3", write("hermes", SCENARIOS[CALLING]), stops=True)
    host.play(ids, at_once=2)
    said = chat_stream(host, tool_choice=choice)
    want = expected(host, ids, tools=[] if choice == "none" else TOOLS)
    assert (said.reasoning, said.calls, said.reason) == (want.reasoning, want.calls, want.reason)


@pytest.mark.parametrize("size", [1, 4])
def test_a_stop_string_is_not_sent(server, size):
    host = server("qwen3", "frames")
    host.play(ids_of("qwen3", TEXT, stops=False), at_once=size)
    said = chat_stream(host, stop=["STOP"], tools=[])
    assert (said.reasoning, said.content, said.reason) == ("Hm.", "One, two. ", "stop")
    assert chunks(host, stop=["STOP"], tools=[])[-1].choices[0].stop_reason == "STOP"


def test_two_choices(server):
    host = server("qwen3", "frames")
    ids = ids_of("qwen3", write("hermes", SCENARIOS[CALLING]), stops=True)
    host.play(ids)
    made = chunks(host, n=2, stream_options={"include_usage": True})
    for index in (0, 1):
        deltas = [c.delta for chunk in made for c in chunk.choices if c.index == index]
        names = [call.function.name for delta in deltas for call in delta.tool_calls or () if call.function.name]
        assert len(names) == 3
    used = [call.id for k in made for c in k.choices for call in c.delta.tool_calls or () if call.id]
    assert len(set(used)) == 6
    usage = made[-1].usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (len(host.manager.asked.input_ids), 2 * len(ids))


def test_what_is_left_to_sglang_is_streamed_by_it_and_logged_once(server, caplog):
    host = server("qwen3", "frames")
    host.play(ids_of("qwen3", TEXT, stops=True))
    host.app.state.openai_serving_chat._harmonystream_frames._logged.clear()
    with caplog.at_level(logging.INFO, "sglang.harmonystream"):
        for _ in range(2):
            said = chat_stream(host, extra_body={"separate_reasoning": False})
            assert (said.reasoning, said.content) == ("", "<think>Hm.</think>One, two. STOP here")
            made = chunks(host, stream_options={"include_usage": True, "continuous_usage_stats": True})
            assert all(chunk.usage for chunk in made[1:-2])
    assert [record.getMessage() for record in caplog.records if "harmonystream_frames" in record.getMessage()] == [
        f"harmonystream_frames: SGLang streams requests with {reason}"
        for reason in ("separate_reasoning=false", "continuous_usage_stats")
    ]


@pytest.mark.parametrize("after", [0, 2])
def test_what_the_engine_raises(server, monkeypatch, after):
    host = server("qwen3", "frames")
    host.play(ids_of("qwen3", TEXT, stops=True))
    stock = host.manager.generate_request

    async def generate(*args):
        outputs = [output async for output in stock(*args)]
        for output in outputs[:after]:
            yield output
        raise ValueError("too long")

    monkeypatch.setattr(host.manager, "generate_request", generate)
    with pytest.raises(openai.APIError, match="too long") as raised:
        chunks(host)
    assert isinstance(raised.value, openai.BadRequestError) == (after == 0)


def test_an_abort_of_the_engine_ends_the_stream_with_its_error(server, monkeypatch):
    host = server("qwen3", "frames")
    host.play(ids_of("qwen3", TEXT, stops=True))
    stock = host.manager.generate_request
    reason = {"type": "abort", "status_code": HTTPStatus.SERVICE_UNAVAILABLE, "message": "no room"}

    async def generate(*args):
        async for output in stock(*args):
            yield {**output, "meta_info": {**output["meta_info"], "finish_reason": reason}}

    monkeypatch.setattr(host.manager, "generate_request", generate)
    with pytest.raises(openai.APIError, match="no room"):
        chunks(host)


def test_messages_of_anthropic_are_made_of_sglangs_chunks(server):
    """AnthropicServing reads the chunks of Chat Completions, so they stay SGLang's there."""
    host = server("qwen3", "frames")
    host.play(ids_of("qwen3", TEXT, stops=True))

    async def ask(client):
        body = {"model": "tiny", "max_tokens": 99, "stream": True, "messages": MESSAGES}
        return await client.post("/messages", body=body, cast_to=str)

    assert "One, two. STOP here" in "".join(part.split('"')[0] for part in asked(host, ask).split('"text":"')[1:])


def test_thinking_that_the_prompt_has_closed(server):
    host = server("qwen3", "frames")
    host.play(ids_of("qwen3", "Hi <think> there.", stops=True))
    said = chat_stream(host, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    assert said == Contents("", "Hi <think> there.", (), "stop")


SCRAPED = """
import os, pathlib, sys
os.environ["PROMETHEUS_MULTIPROC_DIR"] = sys.argv[1]  # SGLang sets it before anything imports prometheus_client
from scripted_sglang import Server
from sglang.srt.utils import add_prometheus_middleware
from asgi_clients import asked, chat_stream
from host_scenarios import ids_of

host = Server(pathlib.Path(sys.argv[1]) / "model", "qwen3", "frames")
add_prometheus_middleware(host.app)
host.play(ids_of("qwen3", "One moment.<tool_call>", stops=False), finish="length")
chat_stream(host)

async def scrape(client):
    return (await client._client.get("http://here/metrics")).text

print(asked(host, scrape))
"""


def test_sglangs_metrics_have_ours(tmp_path):
    """By a real scrape, as SGLang sums up the figures of its processes."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", "-c", SCRAPED, str(tmp_path)]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert 'harmonystream_streams_total{path="frames"} 1.0' in said
    assert 'harmonystream_repairs_total{code="unfinished-header"} 1.0' in said


@pytest.mark.parametrize("kind", ["ours", "frames"])
def test_what_is_repaired_at_the_end_is_counted(server, kind):
    from prometheus_client import REGISTRY

    def counted(name, label):
        label, said = label
        return REGISTRY.get_sample_value(f"harmonystream_{name}_total", {label: said}) or 0

    streams, repairs = ("streams", ("path", "frames" if kind == "frames" else "names")), ("code", "unfinished-header")
    host = server("qwen3", kind)
    before = counted(*streams), counted("repairs", repairs)
    host.play(ids_of("qwen3", "<think>Hm.</think>One moment.<tool_call>", stops=False), finish="length")
    assert chat_stream(host).content == "One moment."
    assert (counted(*streams), counted("repairs", repairs)) == (before[0] + 1, before[1] + 1)
