"""What callers pass to the loop, and what they may ask of it."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from loops import TEXT, USER, end_of, of_kind, run
from pydantic import BaseModel
from scripted import STOP, Scripted, call

import harmonystream as hs
from harmonystream.agent import RoundEnd, ToolRunEnd, ToolRunStart, agent_loop, agent_loop_sync
from harmonystream.engines import EngineError, Recorded, Sampling
from harmonystream.gateway import Model
from harmonystream.tools import Context, Tool, Tools


def get_weather(city: str) -> str:
    """The weather."""
    return f"11 °C in {city}"


def paris() -> Scripted:
    return Scripted([call("get_weather", '{"city": "Paris"}')], ["Cold."])


# --- what is passed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tools", [get_weather, [get_weather], (Tool("get_weather", function=get_weather),), Tools(get_weather), None, []]
)
def test_tools_are_one_or_several_of_whatever_can_be_a_tool(tools):
    end = end_of(run(paris(), tools))
    assert end.called == (("get_weather",) if tools else ())


def test_a_definition_is_declared():
    end = end_of(run(paris(), {"type": "function", "function": {"name": "get_weather"}}))
    assert (end.reason, [one.name for one in end.calls]) == ("calls", ["get_weather"])


@pytest.mark.parametrize("engine", [None, 7, Scripted, "ftp://x"])
def test_what_is_no_engine_is_refused(engine):
    with pytest.raises((TypeError, ValueError), match=r"an engine is a URL|an engine's url"):
        run(engine)


def test_generate_is_an_async_generator():
    class Coroutine:
        async def generate(self, prompt, sampling):
            return ["Hi"]

    class Plain:
        def generate(self, prompt, sampling):
            yield "Hi"

    for engine, made in (
        (Coroutine(), "Coroutine returns a coroutine"),
        (Plain(), "returns a plain generator"),
    ):
        with pytest.raises(TypeError, match=made):
            run(engine)
        with pytest.raises(TypeError, match=made):
            Model("m", engine)


def test_a_url_is_an_engine_and_one_that_is_down_ends_the_loop():
    for options in ({}, {"format": None, "template": None}):  # without a model, it is asked which one it has
        end = end_of(run("http://127.0.0.1:1", **options))
        assert (end.reason, type(end.error)) == ("error", EngineError)


def test_sampling_is_a_dict_too():
    engine = paris()
    run(engine, sampling={"temperature": 0, "stop": "END", "max_tokens": 9})
    assert engine.samplings[0] == Sampling(9, 0, stop=("END",))


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        ({"temprature": 0}, "did you mean temperature"),
        (0.5, "not 0.5"),
        ({"max_tokens": 0}, "max_tokens is a whole number of 1 or more, not 0"),
    ],
)
def test_a_mistake_in_sampling_is_named(sampling, said):
    with pytest.raises((TypeError, ValueError), match=said):
        run(paris(), sampling=sampling)


def test_an_option_that_is_misspelt_is_named():
    with pytest.raises(hs.errors.PromptError, match="did you mean timeout"):
        run(paris(), time_limit=3)
    with pytest.raises(hs.errors.PromptError, match="did you mean max_rounds"):
        run(paris(), format="harmony", template=None, max_round=3)


def test_both_doors_have_the_same_arguments():
    one, other = inspect.signature(agent_loop), inspect.signature(agent_loop_sync)
    assert one.parameters == other.parameters
    assert not any(one.parameters[name].kind is inspect.Parameter.VAR_KEYWORD for name in ("tools", "model", "date"))


def test_the_system_comes_first_and_is_not_added_to_the_conversation():
    engine = paris()
    end = end_of(run(engine, get_weather, [{"role": "system", "content": "Be kind."}, *USER], system="Be brief."))
    assert "Be brief.\\n\\nBe kind." in engine.prompts[0].text
    assert "system" not in [message["role"] for message in end.messages]
    run(other := paris(), get_weather, system="Be brief.")
    assert other.prompts[1].text.count("Be brief.") == 1


def test_tools_get_the_context():
    def whose(context: Context[str]) -> str:
        return context.value

    events = run(Scripted([call("whose")], ["Ok."]), whose, context="Ada")
    assert of_kind(events, ToolRunEnd)[0].result.text == "Ada"


# --- tool_choice --------------------------------------------------------------------------------------------------


def look() -> str:
    return "seen"


def test_none_offers_nothing_and_runs_nothing():
    engine = Scripted([call("look")])
    end = end_of(run(engine, [look, get_weather], tool_choice="none"))
    assert (end.outcome, [one.name for one in end.unanswered], end.called) == ("neither", ["look"], ())
    assert "get_weather" not in engine.prompts[0].text


def test_required_begins_a_call_and_later_rounds_are_free():
    engine = Scripted(['{"name": "look", "arguments": {}}\n</tool_call>', STOP], ["Done.", STOP])
    events = run(engine, [look, get_weather], tool_choice="required")
    end = end_of(events)
    assert (end.reason, end.text, end.called) == ("answer", "Done.", ("look",))
    assert engine.prompts[0].text.endswith("<tool_call>")
    assert engine.prompts[0].begun == len("<tool_call>")
    assert not engine.prompts[1].text.endswith("<tool_call>")
    assert [one.steered for one in of_kind(events, RoundEnd)] == ["call_begun", None]


def test_a_round_says_that_a_grammar_kept_it():
    class Constrained(Scripted):
        def grammar_fields(self, grammar, vocab):
            return {"grammar": grammar.gbnf()}

    calls = ['<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>', STOP]
    engine = Constrained(calls, ["Done.", STOP])
    events = run(engine, [look, get_weather], tool_choice="required")
    assert [one.steered for one in of_kind(events, RoundEnd)] == ["grammar", None]
    assert [sorted(sampling.extra) for sampling in engine.samplings] == [["grammar"], []]
    assert not engine.prompts[0].text.endswith("<tool_call>")


def test_a_name_offers_this_tool_alone_in_the_first_round():
    engine = Scripted(['{"name": "look", "arguments": {}}\n</tool_call>', STOP], ["Done.", STOP])
    run(engine, [look, get_weather], tool_choice="look")
    assert ["get_weather" in prompt.text for prompt in engine.prompts] == [False, True]


def test_another_tool_than_the_named_one_does_not_run():
    ran = []

    def delete() -> str:
        ran.append(1)
        return "gone"

    for other in (Tool("delete", function=delete, early=True), Tool("delete")):  # the second is for the caller
        forced = ['{"name": "delete", "arguments": {}}\n</tool_call>', STOP]
        engine = Scripted(forced, [call("look")], [call("delete")], ["Done.", STOP])
        events = run(engine, [look, other], tool_choice="look")
        assert [(one.call.name, one.result.error) for one in of_kind(events, ToolRunEnd)][:2] == [
            ("delete", "refused"),
            ("look", None),
        ]
        assert "the tools are: look" in of_kind(events, ToolRunEnd)[0].result.text
        end = end_of(events)
        assert (end.reason, end.rounds) == (("answer", 4) if other.function else ("calls", 3))
    assert ran == [1]  # where it was offered


def test_the_recording_is_continued_where_a_call_is_forced():
    def get_forecast(city: str, day: str, hourly: bool = False) -> str:
        return "rain"

    events = run(Recorded(), get_forecast, format="harmony", template=None, tool_choice="get_forecast")
    assert [one.call.name for one in of_kind(events, ToolRunStart)] == ["get_forecast"]
    assert end_of(events).outcome == "text"


@pytest.mark.parametrize(("tools", "choice"), [(None, "required"), (get_weather, "look"), (None, "look")])
def test_a_choice_that_there_is_not_is_refused(tools, choice):
    with pytest.raises(ValueError, match="tool_choice is"):
        run(paris(), tools, tool_choice=choice)


def test_a_choice_as_an_api_has_it_is_refused():
    for choice in ({"type": "function", "function": {"name": "get_weather"}}, None):
        with pytest.raises(TypeError, match="tool_choice is 'auto', 'none', 'required' or the name of a tool, not "):
            run(paris(), get_weather, tool_choice=choice)


# --- answer -------------------------------------------------------------------------------------------------------


class Weather(BaseModel):
    city: str
    low: int


GOOD = '{"city": "Paris", "low": 11}'
SCHEMA = {"type": "object", "properties": {"low": {"type": "integer"}}, "required": ["low"]}


@pytest.mark.parametrize(
    ("declared", "text", "value"),
    [
        (Weather, GOOD, Weather(city="Paris", low=11)),
        (Weather, f"Here:\n```json\n{GOOD}\n```\n", Weather(city="Paris", low=11)),
        (Weather, '{"city": "Paris", "low": "11"}', Weather(city="Paris", low=11)),
        (SCHEMA, '{"low": "11"}', {"low": 11}),
        (list[int], " [1, 2] ", [1, 2]),
        (dict[str, Weather], '{"a": "{\\"city\\": \\"Paris\\", \\"low\\": 11}"}', {"a": Weather(city="Paris", low=11)}),
    ],
)
def test_an_answer_is_an_object(declared, text, value):
    engine = Scripted([call("get_weather", '{"city": "Paris"}')], [text])
    end = end_of(run(engine, get_weather, answer=declared))
    assert (end.reason, end.answer, end.text, end.error) == ("answer", value, text, None)
    assert "JSON Schema" in engine.prompts[0].text


@pytest.mark.parametrize("bad", ["It is 11.", "{}", '{"city": 1}', "", '{"low": NaN}', "[" * 9999])
def test_an_answer_that_does_not_fit_is_sent_back_once_with_the_reason(bad):
    engine = Scripted([bad], [GOOD])
    end = end_of(run(engine, get_weather, answer=Weather))
    assert (end.reason, end.answer, end.rounds) == ("answer", Weather(city="Paris", low=11), 2)
    assert "does not fit" in engine.prompts[1].text
    assert "The weather." not in engine.prompts[1].text  # without tools
    end = end_of(run(Scripted([bad]), get_weather, answer=Weather))
    assert (end.reason, end.answer, end.rounds, type(end.error).__name__) == ("invalid", None, 2, "AnswerError")


def test_a_call_in_place_of_the_repair_is_no_answer():
    end = end_of(run(Scripted(["?"], [call("look")]), look, answer=Weather))
    assert (end.reason, end.answer, len(end.unanswered)) == ("invalid", None, 1)
    assert [message["role"] for message in end.messages] == ["assistant", "user"]


def test_no_tokens_are_left_for_a_repair():
    end = end_of(run(Scripted(["?", STOP]), answer=Weather, max_tokens=5))
    assert (end.reason, end.rounds) == ("invalid", 1)


def test_an_engine_that_constrains_is_asked_to_from_where_the_answer_begins():
    class Constrained(Scripted):
        def form_fields(self, form: Any) -> dict[str, Any]:
            return {"response_format": form}

    engine = Constrained(["<think>Hm.</think>", GOOD, STOP], [GOOD, STOP])
    end = end_of(run(engine, answer=Weather))
    assert end.answer == Weather(city="Paris", low=11)
    assert engine.samplings[-1].extra["response_format"]["json_schema"]["schema"]["required"] == ["city", "low"]
    engine = Constrained([GOOD, STOP])
    assert end_of(run(engine, look, answer=Weather)).answer is not None
    assert engine.samplings[0].extra == {}  # it may still call a tool


@pytest.mark.parametrize("declared", [object(), {"type": "nothing"}, "Weather"])
def test_what_is_no_form_is_refused(declared):
    with pytest.raises((TypeError, ValueError)):
        run(paris(), answer=declared)


# --- ids ----------------------------------------------------------------------------------------------------------


def test_two_calls_with_one_id_become_two():
    """Kimi-K2 repeats an id now and then, and Harmony's next prompt needs each result's call."""
    one = '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "%s"}<|tool_call_end|>'
    kimi = f"<|tool_calls_section_begin|>{one % 'A'}{one % 'B'}<|tool_calls_section_end|>"
    end = end_of(run(Scripted([kimi], ["Done."]), get_weather, format="kimi_k2"))
    assert [message["content"] for message in end.messages[1:3]] == ["11 °C in A", "11 °C in B"]
    ids = [message["tool_call_id"] for message in end.messages[1:3]]
    assert len(set(ids)) == 2
    text = hs.render([*USER, *end.messages], format="harmony", date=None).text
    assert text.index('"A"') < text.index("in A") < text.index('"B"') < text.index("in B")


# --- MCP ----------------------------------------------------------------------------------------------------------


def mcp_tools() -> Tools:
    from mcp.server.mcpserver import MCPServer

    made = MCPServer("places")

    @made.tool()
    def capital(country: str) -> str:
        """The capital of a country."""
        return {"Norway": "Oslo"}[country]

    return Tools(look, mcp={"places": made})


def test_the_loop_connects_servers_that_are_not_connected():
    tools = mcp_tools()
    for _ in range(2):
        engine = Scripted([call("places_capital", '{"country": "Norway"}')], ["Oslo."])
        events = list(agent_loop_sync(engine, USER, tools=tools, **TEXT))
        assert of_kind(events, ToolRunEnd)[0].result.text == "Oslo"
        assert [tool.name for tool in tools] == ["look"]  # as before


def test_two_loops_at_once_have_connections_of_their_own():
    tools = mcp_tools()

    async def one() -> str:
        engine = Scripted([0.01, call("places_capital", '{"country": "Norway"}')], ["Oslo."])
        events = [event async for event in agent_loop(engine, USER, tools=tools, **TEXT)]
        return of_kind(events, ToolRunEnd)[0].result.text

    async def main() -> list[str]:
        return list(await asyncio.gather(one(), one(), one()))

    assert asyncio.run(main()) == ["Oslo"] * 3
