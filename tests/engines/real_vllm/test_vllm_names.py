"""Our parsers by name, in vLLM's server, before the official clients."""

from __future__ import annotations

import pytest

pytest.importorskip("vllm")

import openai
from host_scenarios import FORMATS, MESSAGES, TOOLS, Contents, ids_of, played, scenarios, wrong
from request_grammars import ALLOWED, asks_of, body, responses_body
from request_grammars import wrong as wrong_grammar
from transformers import AutoTokenizer
from vllm_answers import chat, chat_stream, expected, messages, responses
from wire_scenarios import SCENARIOS, write

import harmonystream as hs

CASES = [(format, name) for format in FORMATS for name in scenarios(format)]


@pytest.mark.parametrize(("format", "name"), CASES)
def test_chat_says_what_the_parser_says(server, format, name):
    host, scenario = server(FORMATS[format]), scenarios(format)[name]
    play = played(format, scenario)
    for size in (1, 3):
        host.play(play.ids, finish=play.finish, at_once=size)
        said, usage = chat_stream(host, extra_body=play.more)
        assert said == expected(host, play.ids, reason=play.finish)
        assert not wrong(said, format, scenario)
        assert usage.completion_tokens == len(play.ids)
    whole, _ = chat(host, extra_body=play.more)
    assert (whole.reasoning, whole.calls, whole.reason) == (said.reasoning, said.calls, said.reason)
    assert whole.content == (said.content if said.content.strip() or not said.calls else "")


WHOLE = [("qwen3", "hermes"), ("gpt_oss", "harmony")]
SOME = ("reasoning and content", "preamble and three calls", "empty arguments", "a call alone", "cut in arguments")


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize(("family", "format"), WHOLE)
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "whole"])
def test_responses_say_what_the_parser_says(server, family, format, name, streams):
    host, scenario = server(family), SCENARIOS[name]
    ids = ids_of(host.family, write(format, scenario), stops=scenario.cut == "")
    host.play(ids, finish=scenario.reason)
    said = responses(host, streams=streams)
    want = expected(host, ids, reason=scenario.reason)
    assert (said.reasoning, said.content.strip(), said.calls) == (want.reasoning, want.content.strip(), want.calls)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize(("family", "format"), WHOLE)
def test_messages_say_what_the_parser_says(server, family, format, name):
    host, scenario = server(family), SCENARIOS[name]
    ids = ids_of(host.family, write(format, scenario), stops=scenario.cut == "")
    host.play(ids, finish=scenario.reason)
    said, want = messages(host), expected(host, ids)
    assert (said.reasoning, said.content.strip()) == (want.reasoning, want.content.strip())
    assert [call[0] for call in said.calls] == [call[0] for call in want.calls]


CALLING = "preamble and three calls"
NAMED = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(("family", "format"), WHOLE)
def test_every_tool_choice(server, family, format):
    """The model's own format is read whatever is asked, and a call that must be is constrained by a grammar of it."""
    host = server(family)
    ids = ids_of(host.family, write(format, SCENARIOS[CALLING]), stops=True)
    host.play(ids, at_once=2)
    for choice in ("auto", "required", NAMED, "none"):
        said, whole = chat_stream(host, tool_choice=choice)[0], chat(host, tool_choice=choice)[0]
        want = expected(host, ids)
        calls, reason = ((), "stop") if choice == "none" else (want.calls, "stop" if choice == NAMED else "tool_calls")
        for each in (said, whole):
            assert (each.reasoning, each.calls, each.reason) == (want.reasoning, calls, reason)
        tag = host.asked()["structural_tag"]
        assert (tag is not None) == (choice in ("required", NAMED))
        assert tag is None or '"f"' in tag or "functions.f" in tag or '\\"f\\"' in tag
    assert len(chat_stream(host, parallel_tool_calls=False)[0].calls) == 1


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("format", ["hermes", "qwen3_coder", "deepseek", "harmony"])
def test_the_grammar_of_a_request_has_what_the_request_asks_for(server, format, api):
    """Of a form of the answer with tools, too: calls, or an answer of this form."""
    host = server(FORMATS[format])
    host.play(ids_of(host.family, write(format, SCENARIOS["a call alone"]), stops=True))
    tokenizer = AutoTokenizer.from_pretrained(host.model)
    stops = [200002, 199999, 200012] if format == "harmony" else [tokenizer.eos_token_id]
    for ask in asks_of(format) + ALLOWED * (api == "responses"):  # Chat Completions of vLLM do not know allowed tools
        if api == "chat":
            chat(host, **body(ask))
        else:
            responses(host, streams=False, **responses_body(ask))
        asked = host.asked()
        assert asked["json"] is None
        assert not wrong_grammar(ask, format, asked["structural_tag"], tokenizer, stops), ask


@pytest.mark.parametrize(("family", "format"), WHOLE)
def test_usage_has_the_tokens_of_reasoning(server, family, format):
    host = server(family)
    ids = ids_of(host.family, write(format, SCENARIOS["reasoning and content"]), stops=True)
    host.play(ids, at_once=2)
    for said, usage in (chat_stream(host), chat(host)):
        parser = hs.Parser(host.format, host.vocab, tools=TOOLS, prompt=host.asked()["prompt"])
        parser.feed(ids)
        assert said.reasoning and usage.completion_tokens_details.reasoning_tokens == parser.usage.reasoning


def test_thinking_that_is_off_and_thoughts_that_come_back(server):
    host = server("qwen3")
    ids = ids_of(host.family, "Hi <think> there.", stops=True)
    host.play(ids)
    history = [
        {"role": "user", "content": "Go!"},
        {"role": "assistant", "reasoning": "Hm.", "content": "", "tool_calls": [_call("f", '{"i": 1}')]},
        {"role": "tool", "tool_call_id": "call_1", "content": "4"},
    ]
    said, _ = chat_stream(host, messages=history, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    assert said == Contents("", "Hi <think> there.", (), "stop")


def _call(name: str, arguments: str) -> dict[str, object]:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize(("family", "format"), WHOLE)
def test_a_stop_string_is_not_sent(server, family, format, size):
    host = server(family)
    text = {
        "hermes": "<think>\nHm.\n</think>\n\nOne, two. STOP here",
        "harmony": "<|channel|>final<|message|>One, two. STOP here",
    }
    host.play(ids_of(host.family, text[format], stops=False), at_once=size)
    for said, _ in (chat_stream(host, stop=["STOP"]), chat(host, stop=["STOP"])):
        assert (said.content.rstrip(), said.reason) == ("One, two.", "stop")


def test_two_choices(server):
    host = server("qwen3")
    ids = ids_of(host.family, write("hermes", SCENARIOS[CALLING]), stops=True)
    host.play(ids)
    with openai.OpenAI(base_url=f"{host.url}/v1", api_key="-", max_retries=0) as client:
        whole = client.chat.completions.create(model="tiny", messages=MESSAGES, tools=TOOLS, n=2)
    assert [len(choice.message.tool_calls) for choice in whole.choices] == [3, 3]
    assert len({call.id for choice in whole.choices for call in choice.message.tool_calls}) == 6
