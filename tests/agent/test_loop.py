"""The loop over scripted engines: rounds, limits, order, history, usage."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from loops import TEXT, USER, end_of, events_of, of_kind, run, shape
from scripted import STOP, Scripted, call, gate

import harmonystream as hs
from harmonystream.agent import LoopEnd, RoundEnd, ToolRunEnd, ToolRunStart, agent_loop
from harmonystream.engines import Finished, Recorded, Sampling
from harmonystream.tools import Tool, Tools

WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def weather(**options: Any) -> Tool:
    async def get_weather(city: str) -> dict[str, Any]:
        return {"city": city, "low": 11}

    return Tool("get_weather", "The weather.", WEATHER, get_weather, **options)


def tool(name: str, function: Any, **options: Any) -> Tool:
    return Tool(name, name, {"type": "object"}, function, **options)


def paris() -> Scripted:
    return Scripted(
        ["<think>They ask.</think>", "I look. ", call("get_weather", '{"city": "Paris"}'), STOP], ["It is 11 °C.", STOP]
    )


# --- rounds -------------------------------------------------------------------------------------------------------


def test_calls_run_and_their_results_come_back_until_the_model_answers():
    events = run(paris(), Tools(weather()))
    end = end_of(events)
    assert (end.reason, end.text, end.rounds, end.called) == ("answer", "It is 11 °C.", 2, ("get_weather",))
    assert end.outcome == "text"
    assert shape(events) == [
        "MessageStart",
        "ReasoningDelta",
        "ContentDelta",
        "ToolCallStart",
        "ToolCallDelta",
        "ToolCallEnd",
        "MessageEnd",
        "StreamEnd",
        "ToolRunStart get_weather",
        "ToolRunEnd get_weather",
        "RoundEnd",
        "MessageStart",
        "ContentDelta",
        "MessageEnd",
        "StreamEnd",
        "RoundEnd",
        "LoopEnd",
    ]


@pytest.mark.parametrize("begun", ["I ", ""])
def test_a_message_that_the_model_continues_is_one_message_in_the_next_round(begun):
    """The first prompt ends inside the last message. The next ones have results after it."""
    source = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    engine = Scripted(["look. ", call("get_weather", '{"city": "Paris"}'), STOP], ["It is 11 °C.", STOP])
    chat = [*USER, {"role": "assistant", "content": begun}]
    events = run(engine, Tools(weather()), chat, template=source + "{{ tools and '' }}", continue_final=True)
    first, second = (prompt.text for prompt in engine.prompts)
    assert first.endswith(f"[assistant]{begun}")
    assert second.startswith(f"{first}look. [tool]") and second.count("[assistant]") == 1
    assert (end_of(events).text, end_of(events).messages[0]["content"]) == ("It is 11 °C.", "look. ")


def test_the_history_has_the_assistant_s_message_and_then_the_results():
    end = end_of(run(paris(), Tools(weather())))
    assert list(end.messages) == [
        {
            "role": "assistant",
            "content": "I look. ",
            "reasoning": "They ask.",
            "tool_calls": [
                {
                    "id": "call_0",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_0", "name": "get_weather", "content": '{"city": "Paris", "low": 11}'},
        {"role": "assistant", "content": "It is 11 °C."},
    ]


def test_the_next_prompt_has_the_answer_and_the_results():
    engine = paris()
    run(engine, Tools(weather()))
    first, second = (prompt.text for prompt in engine.prompts)
    assert "get_weather" in first
    assert "They ask." not in first
    assert "They ask." in second
    assert "call_0" in second


def test_the_loop_ends_with_the_rounds_and_the_last_one_answers_without_tools():
    engine = Scripted([call("get_weather", '{"city": "A"}')], [call("get_weather", '{"city": "B"}')], ["So be it."])
    events = run(engine, Tools(weather()), max_rounds=2)
    end = end_of(events)
    assert (end.reason, end.text, end.rounds) == ("rounds", "So be it.", 3)
    assert ["The weather." in prompt.text for prompt in engine.prompts] == [True, True, False]


LAST = {
    "hermes": ("", call("get_weather", '{"city": "A"}')),
    "harmony": (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant",
        '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "A"}<|call|>',
    ),
    "kimi_k2": (
        "",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
        '{"city": "A"}<|tool_call_end|><|tool_calls_section_end|>',
    ),
    "glm": ("", "<tool_call>get_weather\n<arg_key>city</arg_key><arg_value>A</arg_value></tool_call>"),
}


@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("limit", [{"max_rounds": 0}, {"max_rounds": 1}, {"max_repeats": 0}])
def test_a_model_that_calls_where_it_is_to_answer_gives_neither_text_nor_a_run(name, limit):
    """What is offered and what is read are two things: markup never becomes an answer, nor a part of the history."""
    before, written = LAST[name]
    template = None if name == "harmony" else TEXT["template"]
    events = run(Scripted([before + written]), Tools(weather()), format=name, template=template, **limit)
    end = end_of(events)
    assert (end.reason, end.text, end.outcome) == ("repeated" if "max_repeats" in limit else "rounds", "", "neither")
    assert [(one.name, one.arguments.replace(" ", "")) for one in end.unanswered] == [("get_weather", '{"city":"A"}')]
    assert len(of_kind(events, ToolRunStart)) == limit.get("max_rounds", 1)
    said = [message.get("content") for message in end.messages if message["role"] == "assistant"]
    assert not any(said)
    calls = [one for message in end.messages for one in message.get("tool_calls", ())]
    answers = [message for message in end.messages if message["role"] == "tool"]
    assert len(calls) == len(answers)  # a conversation may have no call without its result


def test_text_beside_such_a_call_is_kept_and_is_not_an_answer():
    events = run(Scripted(["I look. " + call("get_weather", '{"city": "A"}')]), Tools(weather()), max_rounds=0)
    end = end_of(events)
    assert (end.text, end.outcome, end.called) == ("I look. ", "neither", ())
    assert list(end.messages) == [{"role": "assistant", "content": "I look. "}]


def test_without_tools_nothing_is_a_call():
    """2.1: calling is allowed by passing tools, and only so."""
    events = run(Scripted([call("get_weather"), STOP]))
    assert end_of(events).reason == "answer"
    assert of_kind(events, hs.ToolCallStart) == []


def test_the_conversation_is_not_changed():
    messages = [dict(message) for message in USER]
    run(paris(), Tools(weather()), messages)
    assert messages == USER


def test_ids_go_on_from_those_of_the_conversation():
    before = end_of(run(paris(), Tools(weather()))).messages
    again = end_of(run(paris(), Tools(weather()), [*USER, *before, *USER]))
    assert again.messages[0]["tool_calls"][0]["id"] == "call_1"


def test_ids_that_the_model_writes_are_kept():
    inner = '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "A"}<|tool_call_end|>'
    kimi = f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"
    end = end_of(run(Scripted([kimi], ["Done."]), Tools(weather()), format="kimi_k2"))
    assert end.messages[1]["tool_call_id"] == "functions.get_weather:0"


def test_the_bundled_recording_is_a_whole_conversation():
    async def get_forecast(city: str, day: str, hourly: bool) -> str:
        return f"{city} {day} {hourly}"

    forecast = tool("get_forecast", get_forecast)
    end = end_of(run(Recorded(), Tools(forecast), format="harmony", template=None))
    assert end.text.startswith("要带伞")
    assert end.messages[1]["content"] == "成都 tomorrow False"


# --- limits -------------------------------------------------------------------------------------------------------


def test_tokens_are_counted_over_all_rounds():
    engine = Scripted([call("get_weather", '{"city": "A"}'), STOP], [call("get_weather", '{"city": "B"}'), STOP])
    end = end_of(run(engine, Tools(weather()), max_tokens=12, sampling=Sampling(max_tokens=9)))
    assert (end.reason, end.rounds) == ("tokens", 3)
    assert [sampling.max_tokens for sampling in engine.samplings] == [9, 7, 2]
    assert end.messages[-1]["role"] == "tool"  # nothing is left without its result


def test_a_generation_that_the_budget_cuts_is_over_for_the_tokens_and_else_for_its_length():
    cut = ["Once upon", Finished("length", {"completion_tokens": 5})]
    assert end_of(run(Scripted(cut), max_tokens=5)).reason == "tokens"
    assert end_of(run(Scripted(cut))).reason == "length"
    assert end_of(run(Scripted(cut))).text == "Once upon"


def test_tokens_are_counted_where_the_engine_does_not():
    ids = [200005, 17196, 200008, 12194, 200002]
    end = end_of(run(Scripted([ids[:2], ids[2:]]), format="harmony", template=None))
    assert end.usage["completion_tokens"] == 5
    assert end.usage["prompt_tokens"] > 0


def test_usage_is_summed():
    assert end_of(run(paris(), Tools(weather()))).usage == {
        "prompt_tokens": 20,
        "completion_tokens": 10,
        "total_tokens": 30,
    }


def test_a_call_that_was_cut_never_runs_and_is_not_in_the_history():
    ran = []
    tools = Tools(tool("f", lambda **given: ran.append(given), early=True))
    whole, cut = call("f", '{"x": 1}'), '<tool_call>\n{"name": "f", "arguments": {"x": 2'
    end = end_of(run(Scripted(["Wait. ", whole, cut, Finished("length")], ["Done."]), tools))
    assert ran == [{"x": 1}]
    assert len(end.messages[0]["tool_calls"]) == 1
    alone = end_of(run(Scripted(["Wait. ", cut, Finished("length")]), tools))
    assert (alone.reason, list(alone.messages)) == ("length", [{"role": "assistant", "content": "Wait. "}])


def test_identical_calls_are_noticed_and_a_loop_of_them_ends_with_an_answer():
    ran = []
    tools = Tools(tool("f", lambda **given: ran.append(given)))
    same = [call("f", '{"a": 1, "b": 2}')], [call("f", '{"b": 2, "a": 1}')], [call("f", '{"a": 1,"b": 2}')]
    events = run(Scripted(*same, ["I give up."]), tools, max_repeats=1)
    end = end_of(events)
    assert (len(ran), end.reason, end.text) == (2, "repeated", "I give up.")
    assert [one.result.error for one in of_kind(events, ToolRunEnd)] == [None, None, "refused"]


@pytest.mark.parametrize("options", [{"max_rounds": -1}, {"max_tokens": 0}, {"max_repeats": -1}])
def test_limits_that_cannot_be_are_refused(options):
    with pytest.raises(ValueError, match=r"or more"):
        run(paris(), **options)


# --- early starts and order ---------------------------------------------------------------------------------------


def test_an_early_tool_runs_while_the_model_writes_and_others_wait():
    async def main() -> list[Any]:
        pause, begun = gate()
        done = asyncio.Event()

        async def early() -> str:
            begun.set()
            return "early"

        async def late() -> str:
            assert done.is_set()
            return "late"

        async def wait_for_the_result() -> None:
            await answered.wait()
            for _ in range(20):  # until the loop can know of it
                await asyncio.sleep(0)

        async def mark() -> None:
            done.set()

        answered = asyncio.Event()
        tools = Tools(tool("early", early, early=True), tool("late", late))
        tools.once("answered", lambda _: answered.set())
        script = [call("late"), call("early"), pause, wait_for_the_result, "more", mark, STOP]
        return await events_of(Scripted(script, ["Done."]), tools)

    events = asyncio.run(asyncio.wait_for(main(), 30))
    end = end_of(events)
    starts = {one.call.name: one.early for one in of_kind(events, ToolRunStart)}
    assert starts == {"early": True, "late": False}
    assert [message["content"] for message in end.messages if message["role"] == "tool"] == ["late", "early"]
    names = shape(events)
    assert names.index("ToolRunEnd early") < names.index("StreamEnd") < names.index("ToolRunStart late")


def test_ends_come_as_the_tools_end_and_results_in_the_order_of_the_calls():
    async def main() -> list[Any]:
        second_done = asyncio.Event()

        async def first() -> str:
            await second_done.wait()
            return "1"

        async def second() -> str:
            second_done.set()
            return "2"

        tools = Tools(tool("first", first), tool("second", second))
        return await events_of(Scripted([call("first"), call("second")], ["Done."]), tools)

    events = asyncio.run(asyncio.wait_for(main(), 30))
    assert [one.result.text for one in of_kind(events, ToolRunEnd)] == ["2", "1"]
    results = [message["content"] for message in end_of(events).messages if message["role"] == "tool"]
    assert results == ["1", "2"]


# --- what ends a loop ---------------------------------------------------------------------------------------------


def test_a_tool_without_a_function_is_the_caller_s_to_run():
    events = run(Scripted([call("mine"), call("get_weather", '{"city": "A"}')]), Tools("mine", weather()))
    end = end_of(events)
    assert (end.reason, end.outcome, [one.name for one in end.calls]) == ("calls", "calls", ["mine"])
    said, result = end.messages
    assert [one["function"]["name"] for one in said["tool_calls"]] == ["mine", "get_weather"]
    assert result["tool_call_id"] == said["tool_calls"][1]["id"]
    assert end.calls[0].id == said["tool_calls"][0]["id"]


def test_a_stealth_tool_ends_the_loop_and_leaves_no_trace():
    ran = []
    tools = Tools(tool("draw", lambda: ran.append(1), stealth=True), weather())
    end = end_of(run(Scripted([call("draw")]), tools))
    assert (end.reason, end.outcome, end.called, end.messages, ran) == ("stealth", "neither", ("draw",), (), [1])
    both = end_of(run(Scripted(["Here. ", call("draw"), call("get_weather", '{"city": "A"}')]), tools))
    assert [one["function"]["name"] for one in both.messages[0]["tool_calls"]] == ["get_weather"]
    assert (len(both.messages), both.outcome) == (2, "text")


@pytest.mark.parametrize(
    ("script", "outcome", "called"),
    [(["Hello."], "text", ()), ([call("mine")], "calls", ("mine",)), (["<think>Hm.</think>"], "neither", ())],
)
def test_the_result_is_text_calls_or_neither(script, outcome, called):
    end = end_of(run(Scripted(script), Tools("mine")))
    assert (end.outcome, end.called) == (outcome, called)


def test_what_the_user_may_read_while_a_tool_runs():
    tools = Tools(weather(message=lambda given: f"Looking at {given['city']} …"))
    assert of_kind(run(paris(), tools), ToolRunStart)[0].message == "Looking at Paris …"
    broken = Tools(weather(message=lambda given: given["town"]))
    assert of_kind(run(paris(), broken), ToolRunStart)[0].message is None


def test_tools_are_offered_by_request():
    tools = Tools(weather(when=lambda request: request == "quiet"))
    assert end_of(run(paris(), tools, request="quiet")).called == ("get_weather",)
    assert end_of(run(paris(), tools, request="loud")).called == ()


def test_a_format_without_calls_takes_no_tools():
    with pytest.raises(ValueError, match="has no calls"):
        run(paris(), Tools(weather()), format="think")
    assert end_of(run(Scripted(["<think>a</think>b"]), format="think")).text == "b"


def test_what_render_refuses_is_raised_at_once():
    async def main() -> None:
        async for _ in agent_loop(Scripted(["x"]), [{"role": "nobody"}], **TEXT):
            raise AssertionError

    with pytest.raises((TypeError, ValueError)):
        asyncio.run(main())


# --- time ---------------------------------------------------------------------------------------------------------


def test_the_time_of_the_loop_ends_a_silent_engine():
    engine = Scripted(["Hel", 60.0, "lo"])
    end = end_of(run(engine, timeout=0.05))
    assert (end.reason, end.text, engine.closed) == ("timeout", "Hel", 1)


def test_the_time_of_the_loop_ends_a_tool_and_its_call_has_a_result():
    async def hang() -> None:
        await asyncio.Event().wait()

    tools = Tools(tool("hang", hang), weather())
    events = run(Scripted([call("hang"), call("get_weather", '{"city": "A"}')]), tools, timeout=0.2)
    end = end_of(events)
    assert end.reason == "timeout"
    assert [one.result.error for one in of_kind(events, ToolRunEnd)] == [None, "cancelled"]
    assert of_kind(events, ToolRunEnd)[1].result.seconds > 0
    assert [message["role"] for message in end.messages] == ["assistant", "tool", "tool"]


def test_what_the_consumer_does_is_not_cut_off():
    async def main() -> list[str]:
        seen = []
        async for event in agent_loop(Scripted(["a", "b", "c"]), USER, timeout=0.02, **TEXT):
            await asyncio.sleep(0.03)  # longer than the loop's time
            seen.append(type(event).__name__)
            if isinstance(event, LoopEnd):
                assert event.reason == "timeout"
        return seen

    assert asyncio.run(main())[-2:] == ["RoundEnd", "LoopEnd"]


def test_rounds_are_reported_with_their_usage_and_reason():
    rounds = of_kind(run(paris(), Tools(weather())), RoundEnd)
    assert [(one.round, one.reason, one.usage["completion_tokens"]) for one in rounds] == [
        (1, "tool_calls", 5),
        (2, "stop", 5),
    ]


# --- calls that could not be read ---------------------------------------------------------------------------------

UNREAD = '<tool_call>\n{"name": "f", "arguments": {"x": 1}, "only": "y"}\n</tool_call>\n'


def test_an_unreadable_call_does_not_run_and_the_model_reads_why():
    ran = []
    tools = Tools(tool("f", lambda **given: ran.append(given), early=True))
    script = Scripted(["One. ", UNREAD, call("f", '{"x": 2}'), STOP], [call("f", '{"x": 1}'), STOP], ["Done.", STOP])
    events = run(script, tools)
    end = end_of(events)
    assert ran == [{"x": 2}, {"x": 1}]
    assert (end.reason, end.text, end.rounds, end.called) == ("answer", "Done.", 3, ("f", "f", "f"))
    assert [one["id"] for one in end.messages[0]["tool_calls"]] == ["call_0", "call_1"]
    why = "the call could not be read, and did not run: its object has an unknown member, or arguments twice"
    assert json.loads(end.messages[1]["content"]) == {
        "error": f"{why}. Write the whole call again",
        "kind": "incomplete_call",
    }
    assert end.messages[2]["content"] == "null"


@pytest.mark.parametrize("options", [{"max_rounds": 2, "max_repeats": 9}, {"max_repeats": 1}])
def test_a_model_that_only_writes_unreadable_calls_is_stopped(options):
    tools = Tools(tool("f", lambda **given: pytest.fail("it ran")))
    end = end_of(run(Scripted([UNREAD, STOP]), tools, **options))
    assert (end.reason, end.rounds) == (
        "repeated" if "max_rounds" not in options else "rounds",
        3 if "max_rounds" in options else 4,
    )
    assert [one.complete for one in end.unanswered] == [False]


def test_the_result_says_what_is_wrong_with_the_arguments():
    tools = Tools(tool("f", lambda **given: pytest.fail("it ran")))
    end = end_of(run(Scripted(['<tool_call>{"name": "f", "arguments": {"x": 1', STOP], ["Done.", STOP]), tools))
    assert "the arguments are not JSON: Expecting ',' delimiter" in end.messages[1]["content"]


def test_an_unreadable_call_of_a_tool_without_a_function_is_handed_back_so_that_nobody_runs_it():
    end = end_of(run(Scripted([UNREAD, STOP]), Tools(tool("f", None))))
    (handed,) = end.calls
    assert (end.reason, handed.complete, handed.arguments) == ("calls", False, '{"x": 1}{INVALID_JSON}')
    assert end.messages[0]["tool_calls"][0]["function"]["arguments"] == handed.arguments


def test_a_call_that_a_stop_string_cuts_does_not_run():
    ran = []
    tools = Tools(tool("f", lambda **given: ran.append(given)))
    begun = "<tool_call>\n<function=f>\n<parameter=x>\n1\n</parameter>\n"
    for stop, reason in (("END", "answer"), (None, "rounds")):
        end = end_of(run(Scripted([begun, Finished("stop", stop=stop)]), tools, format="qwen3_coder", max_rounds=1))
        assert end.reason == reason
    assert ran == [{"x": "1"}]


def test_a_stealth_tool_s_unreadable_call_is_answered():
    tools = Tools(tool("f", lambda **given: pytest.fail("it ran"), stealth=True))
    end = end_of(run(Scripted([UNREAD, STOP], ["Done.", STOP]), tools))
    assert (end.reason, len(end.messages)) == ("answer", 3)
