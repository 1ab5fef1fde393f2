"""Our parsers in LMDeploy's own application, before the official client."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("lmdeploy")

import openai
from asgi_clients import asked, chat, chat_stream, chunks, responses
from host_scenarios import FORMATS, Contents, ids_of, parsed, played, scenarios, wrong
from request_grammars import ALLOWED, asks_of, body, responses_body
from request_grammars import wrong as wrong_grammar
from wire_scenarios import SCENARIOS, write

import harmonystream as hs

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "lmdeploy_server.py"
CASES = [(format, name) for format in FORMATS for name in scenarios(format)]


def expected(host, ids, **more):
    return parsed(host.format, host.vocab, host.script.asked, ids, **more)


@pytest.mark.parametrize(("format", "name"), CASES)
def test_chat_says_what_the_parser_says(server, format, name):
    host, scenario = server(FORMATS[format]), scenarios(format)[name]
    play = played(format, scenario)
    for size in (1, 3):
        host.play(play.ids, finish=play.finish, at_once=size)
        said = chat_stream(host, extra_body=play.more)
        assert said == expected(host, host.script.ids, reason=play.finish)
        if len(host.script.ids) >= len(play.ids):  # gpt-oss stops at the first of several calls
            assert not wrong(said, format, scenario)
    assert chat(host, extra_body=play.more) == said


WHOLE = [("qwen3", "hermes"), ("qwen3_coder", "qwen3_coder"), ("deepseek_v31", "deepseek"), ("gpt_oss", "harmony")]
CALLING = "preamble and three calls"
NAMED = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(("family", "format"), WHOLE)
def test_every_tool_choice(server, family, format):
    """The model's own format is read whatever is asked, and a call that must be is constrained by a grammar of it."""
    host = server(family)
    host.play(ids_of(family, write(format, SCENARIOS["preamble and a call"]), stops=True), at_once=2)
    for choice in ("auto", "required", NAMED, "none"):
        for ask in (chat_stream, chat):
            said = ask(host, tool_choice=choice)
            want = expected(host, host.script.ids)
            assert said == (want._replace(calls=(), reason="stop") if choice == "none" else want)
        grammar = host.script.config.response_format
        constrained = choice in ("required", NAMED) or (family == "gpt_oss" and choice == "auto")
        assert "structural_tag" in str(grammar) if constrained else grammar is None


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("family", "format"), WHOLE)
def test_the_grammar_of_a_request_has_what_the_request_asks_for(server, family, format, api):
    """Of a form of the answer with tools, too: calls, or an answer of this form. LMDeploy drops `strict`, so that every
    grammar has the schemas of all tools.
    """
    host = server(family)
    host.play(ids_of(family, write(format, SCENARIOS["a call alone"]), stops=True))
    for ask in asks_of(format) + ALLOWED * (api == "chat"):  # Responses of LMDeploy do not know allowed tools
        said = chat(host, **body(ask)) if api == "chat" else responses(host, streams=False, **responses_body(ask))
        assert bool(said.calls) == (ask.choice not in ("none", None))
        grammar = host.script.config.response_format
        assert grammar is None or grammar["type"] == "structural_tag"
        tag = None if grammar is None else json.dumps(grammar)
        # In Responses, LMDeploy itself drops all calls but the first, and keeps the field from its chat request.
        ask = ask._replace(strict=grammar is not None, parallel=ask.parallel or api == "responses")
        assert not wrong_grammar(ask, format, tag, host.engine.tokenizer.model.model, host.stops), ask


@pytest.mark.parametrize("family", ["qwen3", "kimi_k2", "glm45", "gpt_oss"])
def test_a_call_in_a_request_without_tools_is_not_shown(server, family):
    host = server(family)
    host.play(ids_of(family, write(host.format, SCENARIOS["preamble and a call"]), stops=True))
    for more in ({"tools": openai.omit}, {"tool_choice": "none"}):
        for ask in (chat_stream, chat):
            said = ask(host, **more)
            assert (said.content, said.calls, said.reason) == ("One moment.", (), "stop")


@pytest.mark.parametrize("name", ["reasoning and content", CALLING, "empty arguments", "cut in arguments"])
@pytest.mark.parametrize(("family", "format"), WHOLE[:3])
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "whole"])
def test_responses_say_what_the_parser_says(server, family, format, name, streams):
    """But for reasoning, which LMDeploy's Responses do not have."""
    host, scenario = server(family), SCENARIOS[name]
    host.play(ids_of(family, write(format, scenario), stops=scenario.cut == ""), finish=scenario.reason)
    said, want = responses(host, streams=streams), expected(host, host.script.ids, reason=scenario.reason)
    assert (said.content.strip(), said.calls) == (want.content.strip(), want.calls)


def test_a_named_tool_choice_leaves_the_types_of_other_tools(server):
    """The prompt has only the named tool, but the model may call another."""
    host = server("qwen3_coder")
    host.play(ids_of("qwen3_coder", write("qwen3_coder", SCENARIOS[CALLING]), stops=True))
    for ask in (chat_stream, chat):
        assert ask(host, tool_choice=NAMED).calls[-1] == ("web-search", '{"s": "雨", "i": 2}')


def test_a_stop_word_of_gpt_oss_is_not_shown(server):
    """LMDeploy stops at words of one token. Our parser asks for this token, but shows it only if the client asks."""
    host = server("gpt_oss")
    (last,) = host.engine.tokenizer.encode("e", add_bos=False)
    host.play([*ids_of("gpt_oss", "<|channel|>final<|message|>On", stops=False), last], finish="length")
    for ask in (chat_stream, chat):
        assert ask(host) == Contents("", "One", (), "length")
    host.script.finish = "stop"
    for ask in (chat_stream, chat):
        assert ask(host, stop=["e"]) == Contents("", "On", (), "stop")
        assert ask(host, stop=["e"], extra_body={"include_stop_str_in_output": True}) == Contents("", "One", (), "stop")


def test_thinking_that_the_prompt_has_closed(server):
    host = server("qwen3")
    host.play(ids_of("qwen3", "Hi <think> there.", stops=True))
    for ask in (chat_stream, chat):
        said = ask(host, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
        assert said == Contents("", "Hi <think> there.", (), "stop")


def test_usage_has_the_tokens_of_reasoning(server):
    host = server("qwen3")
    ids = ids_of("qwen3", "<think>\nHm, so.\n</think>\n\nHi", stops=True)
    host.play(ids)
    parser = hs.Parser("hermes", host.vocab)
    parser.feed(ids)
    used = chunks(host, stream_options={"include_usage": True})[-1].usage
    assert used.completion_tokens_details.reasoning_tokens == parser.usage.reasoning > 0


def test_lmdeploys_metrics_have_ours(server):
    """By a real scrape of LMDeploy's route."""
    from lmdeploy.serve.openai.api_server import mount_metrics

    host = server("qwen3")
    mount_metrics(host.app, SimpleNamespace(enable_metrics=True))

    def counted() -> list[float]:
        async def scrape(client):
            return (await client._client.get("http://here/metrics")).text

        names = r'^harmonystream_(?:streams_total\{path="names"\}|repairs_total\{code="unfinished-header"\}) (\S+)$'
        return [float(each) for each in re.findall(names, asked(host, scrape), re.MULTILINE)]

    host.play(ids_of("qwen3", "One moment.<tool_call>", stops=False), finish="length")
    chat_stream(host)
    before = counted()
    chat_stream(host)
    assert len(before) == 2 and counted() == [each + 1 for each in before]


def test_two_choices(server):
    host = server("qwen3")
    host.play(ids_of("qwen3", write("hermes", SCENARIOS[CALLING]), stops=True))
    made = chunks(host, n=2)
    ids = [call.id for k in made for c in k.choices for call in c.delta.tool_calls or () if call.id]
    assert len(set(ids)) == 6


def test_a_prompt_that_is_refused_leaves_nothing_to_the_next(server):
    host = server("qwen3")
    host.play(ids_of("qwen3", "Hi", stops=True))
    with pytest.raises(openai.BadRequestError):
        chat(host, messages=[{"role": "user", "content": "x " * 40_000}])
    assert chat(host) == Contents("", "Hi", (), "stop")


@pytest.mark.parametrize(
    ("tools", "reasoning"),
    [("harmonystream_hermes", "harmonystream_glm"), ("qwen3", None), ("harmonystream", "default")],
)
def test_other_names_are_refused(server, tools, reasoning):
    from lmdeploy.serve.parsers.response_parser import ResponseParserManager

    server("qwen3")
    with pytest.raises(TypeError, match="must have the same of its names, and they are"):
        ResponseParserManager.get("default").set_parsers(reasoning, tools, None)


def test_a_format_that_does_not_fit_the_model_is_refused_at_the_start(server, tmp_path):
    made = type(server("qwen3"))
    with pytest.raises(hs.errors.VocabError, match=r"has none of the tokens at which .+llama3.+ stops"):
        made(tmp_path, "qwen3", parsers="harmonystream_llama3")
    server("kimi_k2")  # the parsers are the process's


def test_a_format_of_another_architecture_is_refused(server):
    from lmdeploy.serve.parsers.response_parser import ResponseParserManager

    host = server("qwen3")
    with pytest.raises(TypeError, match="does not serve this model's architecture with 'harmony'"):
        ResponseParserManager.get("default").set_parsers(
            None, "harmonystream_harmony", host.engine.tokenizer.model.model
        )


def test_the_example_names_what_lmdeploy_knows(monkeypatch):
    from lmdeploy.serve.openai import api_server
    from lmdeploy.serve.parsers.response_parser import validate_parser_names

    asked = {}
    monkeypatch.setattr(api_server, "serve", lambda model, **more: asked.update(more, model=model))
    runpy.run_path(str(EXAMPLE))["main"]("Qwen/Qwen3-8B")
    names = asked["reasoning_parser"], asked["tool_call_parser"]
    assert asked["model"] == "Qwen/Qwen3-8B" and validate_parser_names(*names) == names


def test_lmdeploys_command_takes_our_names():
    command = [sys.executable, "-m", "harmonystream.integrations.lmdeploy", "serve", "api_server", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "'harmonystream_hermes'" in "".join(done.stdout.split())
