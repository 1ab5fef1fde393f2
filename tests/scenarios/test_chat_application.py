"""Function calls in a chat application: a tool for some requests, wrong arguments, streams, a server of completions."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from loops import TEXT, end_of, events_of, run
from scripted import Scripted, call
from upstream import DONE, Upstream, event, serving

import harmonystream as hs
from harmonystream.engines import Completions

SCHEMA = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "type": "object",
    "properties": {"location": {"type": "string", "description": "获取天气的地点"}},
    "required": ["location"],
}
QUESTION = [{"role": "user", "content": "萨克拉门托的天气如何？"}]
CALL = call("getWeather", '{"location": "Sacramento"}')


def registered() -> tuple[hs.Tools, list[str]]:
    """A tool that is only offered for quiet generations and is required. Its argument is checked before use."""
    asked: list[str] = []

    def get_weather(location: str) -> str:
        asked.append(location)
        return f"Sunny in {location}"

    return hs.Tools(
        hs.Tool(
            "getWeather",
            "获取特定位置的天气",
            SCHEMA,
            get_weather,
            required=True,
            when=lambda request: request["type"] == "quiet",
        )
    ), asked


def test_a_weather_tool_runs_and_listeners_hear_of_it():
    assert hs.agent.supports_tools("hermes")
    tools, asked = registered()
    heard: list[Any] = []
    tools.on("called", lambda event: heard.append((event.tool.name, dict(event.arguments))))
    end = end_of(run(Scripted([CALL], ["晴天。"]), tools, QUESTION, request={"type": "quiet"}))
    assert (end.text, asked, heard) == ("晴天。", ["Sacramento"], [("getWeather", {"location": "Sacramento"})])
    assert tools.offered({"type": "quiet"}).choice("chat") == {"type": "function", "function": {"name": "getWeather"}}


def test_another_kind_of_generation_is_not_offered_the_tool():
    tools, asked = registered()
    engine = Scripted([CALL])
    end = end_of(run(engine, tools, QUESTION, request={"type": "normal"}))
    assert (asked, end.called, end.outcome) == ([], (), "text")
    assert "getWeather" not in engine.prompts[0].text


@pytest.mark.parametrize("arguments", ["{}", '{"location": 5.5.5}', '{"place": "x"}', '"Sacramento"'])
def test_arguments_that_the_model_got_wrong_are_not_used(arguments):
    tools, asked = registered()
    end = end_of(run(Scripted([call("getWeather", arguments)], ["?"]), tools, QUESTION, request={"type": "quiet"}))
    assert asked == []
    assert json.loads(end.messages[1]["content"])["kind"] in ("incomplete_call", "invalid_json", "invalid_arguments")


def test_calls_are_part_of_a_stream():
    """Streamed requests cannot call functions there. Here a call is there before the stream has ended."""
    tools, _ = registered()
    stream = hs.ChatStream("hermes", tools=tools, id="c", model="m", created=1)
    frames = stream.start() + b"".join(stream.feed_text(char) for char in CALL)
    assert b'"name":"getWeather"' in frames and b"[DONE]" not in frames
    assert b'"finish_reason":"tool_calls"' in stream.finish("stop")


def test_a_server_that_only_completes_text_calls_functions():
    script = [event({"choices": [{"index": 0, "text": char, "finish_reason": None}]}) for char in CALL]
    script += [event({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}), DONE]
    tools, asked = registered()

    async def main() -> list[Any]:
        upstream = Upstream(script)
        async with serving(upstream) as url:
            engine = Completions(url, "m", server="text")
            made = await events_of(engine, tools, QUESTION, request={"type": "quiet"}, max_rounds=1, **TEXT)
        assert [path for path, _ in upstream.requests] == ["/v1/completions"] * 2
        return made

    assert end_of(asyncio.run(main())).called == ("getWeather",)
    assert asked == ["Sacramento"]
