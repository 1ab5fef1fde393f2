"""Our parsers by name in SGLang's own application, before the official client."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("sglang")

import openai
from asgi_clients import chat, chat_stream, chunks, messages, responses
from host_scenarios import FORMATS, Contents, ids_of, played, scenarios, wrong
from request_grammars import asks_of, body, responses_body
from request_grammars import wrong as wrong_grammar
from sglang_answers import expected
from wire_scenarios import SCENARIOS, write

import harmonystream as hs

CASES = [(format, name) for format in FORMATS for name in scenarios(format)]


@pytest.mark.parametrize(("format", "name"), CASES)
def test_chat_says_what_the_parser_says(server, format, name):
    host, scenario = server(FORMATS[format]), scenarios(format)[name]
    play = played(format, scenario)
    for size in (1, 3):
        host.play(play.ids, finish=play.finish, at_once=size)
        said = chat_stream(host, extra_body=play.more)
        assert said == expected(host, play.ids, reason=play.finish)
        assert not wrong(said, format, scenario)
    whole = chat(host, extra_body=play.more)
    assert (whole.reasoning, whole.calls, whole.reason) == (said.reasoning, said.calls, said.reason)
    assert whole.content == (said.content if said.content.strip() or not said.calls else "")


WHOLE = [("qwen3", "hermes"), ("qwen3_coder", "qwen3_coder"), ("deepseek_v31", "deepseek"), ("gpt_oss", "harmony")]
CALLING = "preamble and three calls"
NAMED = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(("family", "format"), WHOLE)
def test_every_tool_choice(server, family, format):
    """The model's own format is read whatever is asked, and a call that must be is constrained by a grammar of it."""
    host = server(family)
    ids = ids_of(family, write(format, SCENARIOS[CALLING]), stops=True)
    host.play(ids, at_once=2)
    for choice in ("auto", "required", NAMED, "none"):
        for ask in (chat_stream, chat):
            said = ask(host, tool_choice=choice)
            want = expected(host, ids)
            if choice == "none":
                want = want._replace(calls=(), reason="stop")
            assert (said.reasoning, said.calls, said.reason) == (want.reasoning, want.calls, want.reason)
            if choice == "none":
                assert said.content == want.content
        tag = host.manager.asked.sampling_params.get("structural_tag")
        assert (tag is not None) == (choice in ("required", NAMED))
        assert tag is None or re.search(r"\bf\b|begin\\uff5c>f|=f>", tag)
        assert host.manager.asked.sampling_params.get("json_schema") is None


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("family", "format"), WHOLE)
def test_the_grammar_of_a_request_has_what_the_request_asks_for(server, family, format, api):
    """Of a form of the answer with tools, too: calls, or an answer of this form."""
    if (family, api) == ("gpt_oss", "responses"):
        pytest.skip("SGLang's own, without grammars")
    from sglang.srt.sampling.sampling_params import get_request_reasoning_in_grammar

    host = server(family)
    host.play(ids_of(family, write(format, SCENARIOS["a call alone"]), stops=True))
    tokenizer = host.manager.tokenizer
    stops = [200002, 199999, 200012] if family == "gpt_oss" else [tokenizer.eos_token_id]
    for ask in asks_of(format):
        said = chat(host, **body(ask)) if api == "chat" else responses(host, streams=False, **responses_body(ask))
        assert bool(said.calls) == (ask.choice not in ("none", None))
        params = host.manager.asked.sampling_params
        assert params.get("json_schema") is None
        from_start = family == "gpt_oss" and ask.constrained  # the reasoning of gpt-oss is a part of the grammar
        assert get_request_reasoning_in_grammar(params.get("custom_params")) == from_start
        assert not wrong_grammar(ask, format, params.get("structural_tag"), tokenizer, stops), ask


@pytest.mark.parametrize("name", ["reasoning and content", CALLING, "empty arguments", "cut in arguments"])
@pytest.mark.parametrize(("family", "format"), WHOLE[:3])
@pytest.mark.parametrize("streams", [True, False], ids=["stream", "whole"])
def test_responses_say_what_the_parser_says(server, family, format, name, streams):
    host, scenario = server(family), SCENARIOS[name]
    ids = ids_of(family, write(format, scenario), stops=scenario.cut == "")
    host.play(ids, finish=scenario.reason)
    said = responses(host, streams=streams)
    want = expected(host, ids, reason=scenario.reason)
    assert (said.reasoning, said.content.strip(), said.calls) == (want.reasoning, want.content.strip(), want.calls)


@pytest.mark.parametrize("kind", ["ours", "frames"])
@pytest.mark.parametrize("family", ["qwen3", "kimi_k2", "glm45", "gpt_oss"])
def test_a_call_in_a_request_without_tools_is_not_shown(server, family, kind):
    host = server(family, kind)
    host.play(ids_of(family, write(host.format, SCENARIOS[CALLING]), stops=True))
    for more in ({"tools": openai.omit}, {"tool_choice": "none"}):
        for ask in (chat_stream, chat):
            said = ask(host, **more)
            assert (said.content, said.calls, said.reason) == ("One moment.", (), "stop")
    if family != "gpt_oss":  # whose Responses are SGLang's own
        for streams in (True, False):
            said = responses(host, streams=streams, tools=[])
            assert (said.content, said.calls) == ("One moment.", ())


@pytest.mark.parametrize("kind", ["ours", "frames"])
def test_a_call_that_a_stop_string_has_cut_is_not_for_the_client_to_run(server, kind):
    host = server("qwen3", kind)
    host.play(ids_of("qwen3", write("hermes", SCENARIOS[CALLING]), stops=True))
    for ask in (chat_stream, chat):
        said = ask(host, stop=['": 1'])
        assert (said.calls, said.reason) == ((("f", '{"i'),), "stop")


@pytest.mark.parametrize("kind", ["ours", "frames"])
def test_a_stop_string_in_a_marker_leaves_no_part_of_it_in_the_arguments(server, kind):
    """The anthropic client raises ValueError for arguments that are not the beginning of JSON."""
    host = server("gpt_oss", kind)
    host.play(ids_of("gpt_oss", write("harmony", SCENARIOS[CALLING]), stops=True))
    for streams in (True, False):
        said = messages(host, streams=streams, stop_sequences=["constrain"])
        assert (said.content, said.reason) == ("One moment.", "end_turn")


TEXT = "<think>\nHm.\n</think>\n\nOne, two. STOP here"


@pytest.mark.parametrize("size", [1, 4])
def test_a_stop_string_is_not_sent(server, size):
    host = server("qwen3")
    host.play(ids_of("qwen3", TEXT, stops=False), at_once=size)
    for ask in (chat_stream, chat):
        said = ask(host, stop=["STOP"], tools=[])
        assert (said.reasoning, said.content, said.reason) == ("Hm.", "One, two. ", "stop")


def test_reasoning_that_is_not_asked_for_apart(server):
    host = server("qwen3")
    host.play(ids_of("qwen3", TEXT, stops=True))
    for ask in (chat_stream, chat):
        said = ask(host, extra_body={"separate_reasoning": False})
        assert (said.reasoning, said.content) == ("", "<think>Hm.</think>One, two. STOP here")
    whole = [c.choices[0].delta.reasoning_content for c in chunks(host, extra_body={"stream_reasoning": False})]
    assert [each for each in whole if each] == ["Hm."]


def test_thinking_that_the_prompt_has_closed(server):
    host = server("qwen3")
    ids = ids_of("qwen3", "Hi <think> there.", stops=True)
    host.play(ids)
    for ask in (chat_stream, chat):
        said = ask(host, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
        assert said == Contents("", "Hi <think> there.", (), "stop")


def test_chunks_have_the_shape_of_sglangs(server):
    """Field by field, so that a client of SGLang's reads ours."""
    ids = ids_of("qwen3", write("hermes", SCENARIOS[CALLING]), stops=True)
    shapes = []
    for kind in ("stock", "ours"):
        host = server("qwen3", kind)
        host.play(ids, at_once=2)
        made = chunks(host, stream_options={"include_usage": True, "continuous_usage_stats": True})
        assert len({chunk.id for chunk in made}) == 1 and made[-1].usage.completion_tokens == len(ids)
        shapes.append({(kind_of(chunk), *sorted(chunk.model_dump(exclude_unset=True))) for chunk in made})
        assert all(chunk.usage for chunk in made[1:-2])
    assert shapes[0] == shapes[1]


def kind_of(chunk):
    if not chunk.choices:
        return "usage"
    delta = chunk.choices[0].delta.model_dump(exclude_unset=True)
    return ",".join(sorted(key for key, value in delta.items() if value is not None)) or "end"


def test_two_choices(server):
    host = server("qwen3")
    host.play(ids_of("qwen3", write("hermes", SCENARIOS[CALLING]), stops=True))
    made = chunks(host, n=2)
    for index in (0, 1):
        deltas = [c.delta for chunk in made for c in chunk.choices if c.index == index]
        names = [call.function.name for delta in deltas for call in delta.tool_calls or () if call.function.name]
        assert len(names) == 3
    ids = [call.id for k in made for c in k.choices for call in c.delta.tool_calls or () if call.id]
    assert len(set(ids)) == 6


def test_a_format_that_does_not_fit_the_model_is_refused_at_the_start(server, tmp_path):
    made = type(server("qwen3"))
    with pytest.raises(hs.errors.VocabError, match=r"has none of the tokens at which .+llama3.+ stops"):
        made(tmp_path, "qwen3", parsers="harmonystream_llama3")
    server("kimi_k2")  # the configuration is the process's


def test_two_kinds_of_parsers_are_refused(server):
    from harmonystream.integrations.sglang.adapter import adapter_for

    serving = server("qwen3").app.state.openai_serving_chat
    reasoning = serving.reasoning_parser
    try:
        serving.reasoning_parser = "qwen3"
        with pytest.raises(TypeError, match="must have the same name, and they are harmonystream and qwen3"):
            adapter_for(serving)
    finally:
        serving.reasoning_parser = reasoning
