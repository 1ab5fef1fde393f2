"""Models behind an engine of text and a template: what the prompt leaves out, errors of tools, and counts."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from gateways import serving

import harmonystream as hs
from harmonystream.engines import Finished
from harmonystream.gateway import Model, app
from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating import quotas
from harmonystream.prompt import Template

FIRST_CALL = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    "{% if m.tool_calls %}{{ m.tool_calls[0].function }}{% endif %}{% endfor %}{{ tools }}"
)
EVERYTHING = "{% for m in messages %}{{ m }}{% endfor %}{{ tools }}"
NO_REASONING = "{% for m in messages %}{{ m.role }}{{ m.content }}{{ m.tool_calls }}{% endfor %}{{ tools }}"
SAID = "Snow, and more snow."
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
CITIES = ("Rome", "Oslo")
CALLS: dict[str, dict[str, Any]] = {
    "chat": {
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "reasoning": "Two.",
                "tool_calls": [
                    {"id": city, "type": "function", "function": {"name": "w", "arguments": json.dumps({"c": city})}}
                    for city in CITIES
                ],
            },
            *({"role": "tool", "tool_call_id": city, "content": "cold"} for city in CITIES),
        ]
    },
    "responses": {
        "input": [
            {"role": "user", "content": "Weather?"},
            *(
                {"type": "function_call", "call_id": city, "name": "w", "arguments": json.dumps({"c": city})}
                for city in CITIES
            ),
            *({"type": "function_call_output", "call_id": city, "output": "cold"} for city in CITIES),
        ]
    },
    "messages": {
        "max_tokens": 99,
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Two.", "signature": ""},
                    *({"type": "tool_use", "id": city, "name": "w", "input": {"c": city}} for city in CITIES),
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": city, "content": "cold"} for city in CITIES],
            },
        ],
    },
}


class Says:
    """An engine that says one sentence as text, and counts nothing."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def generate(self, prompt: Any, sampling: Any) -> Any:
        self.prompts.append(prompt.text)
        for at in range(0, len(SAID), 3):
            yield SAID[at : at + 3]
        yield Finished("stop")


@contextmanager
def gateway(template: str, format: str = "hermes") -> Iterator[tuple[httpx2.Client, Says]]:
    engine = Says()
    made = app([Model("m", engine, format=format, template=Template(template))])
    with serving(made) as url, httpx2.Client(base_url=url, timeout=60) as http:
        yield http, engine


def post(http: httpx2.Client, api: str, headers: dict[str, str] | None = None, **more: Any) -> httpx2.Response:
    return http.post(PATHS[api], json={"model": "m", **CALLS[api], **more}, headers=headers)


@pytest.mark.parametrize("api", PATHS)
def test_what_a_template_leaves_out_is_named_in_the_warning_and_the_log(api, caplog):
    caplog.set_level(logging.INFO, "harmonystream.gateway")
    lost = "message 1: tool_calls[1]"
    with gateway(FIRST_CALL) as (http, engine):
        for stream in (False, True):
            answer = post(http, api, stream=stream)
            assert answer.status_code == 200
            assert answer.headers["warning"] == f'199 harmonystream "not supported, passed over: {lost}"'
        refused = post(http, api, {"x-unsupported": "refuse"})
        assert refused.status_code == 400 and lost in refused.text
        assert len(engine.prompts) == 2
    said = [json.loads(line.getMessage()) for line in caplog.records if line.getMessage().startswith("{")]
    assert [line.get("passed_over") for line in said] == [[lost], [lost], None]


@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize("template", [EVERYTHING, NO_REASONING])
def test_a_template_that_leaves_out_earlier_reasoning_alone_has_no_warning(api, template):
    with gateway(template) as (http, _):
        answer = post(http, api, {"x-unsupported": "refuse"})
        assert (answer.status_code, "warning" in answer.headers) == (200, False)


BARE = {"name": "w", "parameters": {"type": "object"}}
TOOL = {
    "chat": {"type": "function", "function": BARE},
    "responses": {"type": "function", **BARE},
    "messages": {"name": "w", "input_schema": {"type": "object"}},
}


@pytest.mark.parametrize("api", PATHS)
@pytest.mark.parametrize(
    ("template", "format", "why"),
    [("{{ messages }}", "hermes", "its chat template does not write tools"), (EVERYTHING, "think", "has no calls")],
)
def test_tools_of_a_model_that_cannot_call_are_refused_unless_they_may_be_ignored(api, template, format, why):
    with gateway(template, format) as (http, engine):
        refused = post(http, api, tools=[TOOL[api]])
        assert refused.status_code == 400 and why in refused.text and not engine.prompts
        if api != "messages":
            error = refused.json()["error"]
            assert (error["param"], error["code"]) == ("tools", "unsupported_parameter")
        ignored = post(http, api, {"x-unsupported": "ignore"}, tools=[TOOL[api]])
        assert ignored.status_code == 200 and ignored.headers["warning"].endswith('over: tools"')
        assert "parameters" not in engine.prompts[0]
        choice = {"type": "any"} if api == "messages" else "required"
        assert post(http, api, {"x-unsupported": "ignore"}, tools=[TOOL[api]], tool_choice=choice).status_code == 400


@pytest.mark.parametrize("api", PATHS)
def test_tools_that_a_template_reads_and_does_not_write_are_named(api):
    with gateway("{{ messages }}{% if messages[0].role == 'system' %}{{ tools }}{% endif %}") as (http, _):
        answer = post(http, api, tools=[TOOL[api]])
        assert (answer.status_code, answer.headers["warning"][-11:]) == (200, 'the tool w"')


def test_a_model_with_tools_that_it_cannot_call_is_not_served():
    with pytest.raises(ValueError, match="the model m has tools, and it cannot call them: its chat template does not"):
        app([Model("m", Says(), format="hermes", template=Template("{{ messages }}"), tools=[TOOL["chat"]])])


@pytest.mark.parametrize("api", PATHS)
def test_two_tools_of_one_name_are_refused(api):
    bare = {"name": "w", "parameters": {"type": "object"}}
    tool = {
        "chat": {"type": "function", "function": bare},
        "responses": {"type": "function", **bare},
        "messages": {"name": "w", "input_schema": {"type": "object"}},
    }[api]
    with gateway(EVERYTHING) as (http, engine):
        answer = post(http, api, tools=[tool, tool])
        assert answer.status_code == 400
        assert "tools[1] has the name of an earlier tool, 'w'" in answer.json()["error"]["message"]
        assert not engine.prompts
        assert post(http, api, tools=[tool]).status_code == 200


@pytest.mark.parametrize(
    ("content", "read"),
    [
        ("no such city", "Error: no such city"),
        ("TypeError: c", "TypeError: c"),
        ('{"error": "c"}', '{"error": "c"}'),
        ([{"type": "text", "text": "no such city"}], "Error: no such city"),
        (None, "Error:"),
    ],
)
def test_a_model_reads_that_a_result_is_an_error(content, read):
    with gateway("{% for m in messages %}[{{ m.content }}]{% endfor %}{{ messages[1] }}{{ tools }}") as (http, engine):
        for failed in (True, False):
            result = {"type": "tool_result", "tool_use_id": "Rome", "is_error": failed, "content": content}
            call = {"type": "tool_use", "id": "Rome", "name": "w", "input": {}}
            messages = [*CALLS["messages"]["messages"][:1], {"role": "assistant", "content": [call]}]
            assert post(http, "messages", messages=[*messages, {"role": "user", "content": [result]}]).is_success
    assert f"[{read}]" in engine.prompts[0]
    assert "[Error" not in engine.prompts[1]


@pytest.mark.parametrize("stream", [False, True])
def test_text_that_the_engine_does_not_count_counts_four_characters_as_a_token(stream):
    with gateway(EVERYTHING) as (http, engine):
        for api, names in {
            "chat": ("prompt_tokens", "completion_tokens"),
            "responses": ("input_tokens", "output_tokens"),
            "messages": ("input_tokens", "output_tokens"),
        }.items():
            more = {"stream_options": {"include_usage": True}} if stream and api == "chat" else {}
            answer = post(http, api, stream=stream, **more)
            assert answer.status_code == 200
            if stream:
                frames = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
                found: dict[str, Any] = {}
                for frame in map(json.loads, frames):
                    found |= (frame.get("response") or frame).get("usage") or {}
            else:
                found = answer.json()["usage"]
            assert [found[name] for name in names] == [len(engine.prompts[-1]) // 4, len(SAID) // 4], api


class Speaks:
    """An engine of text. turns: the pieces of each generation; the last one is repeated. usage: what it counts."""

    def __init__(self, usage: dict[str, int] | None, *turns: tuple[str, ...]) -> None:
        self.usage, self.turns, self.count = usage, turns, 0

    async def generate(self, prompt: Any, sampling: Any) -> Any:
        pieces = self.turns[min(self.count, len(self.turns) - 1)]
        self.count += 1
        for piece in pieces:
            yield piece
        yield Finished("stop", self.usage)


def weather(city: str) -> str:
    """The weather."""
    return "cold"


CALLED = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
HELD = ("Hi", " you</", "x><|im_", "end|>")  # the parser counts a stop only at the end
REQUESTS: dict[str, tuple[tuple[tuple[str, ...], ...], dict[str, Any], dict[str, Any]]] = {
    "plain": ((HELD,), {}, {}),
    "several choices": ((HELD,), {"n": 3}, {}),
    "a stop string": ((("Hi ", "you", " there"),), {"stop": "there"}, {}),
    "tools": (((CALLED,), ("It is", " cold.")), {}, {"server_tools": hs.Tools(weather)}),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}])
@pytest.mark.parametrize("kind", REQUESTS)
def test_the_log_and_the_limits_count_as_the_response_does(kind, usage, stream, caplog, monkeypatch):
    monkeypatch.setattr(quotas, "time", lambda: 1000.0)  # nothing is filled up meanwhile
    caplog.set_level(logging.INFO, "harmonystream.gateway")
    turns, asked, options = REQUESTS[kind]
    model = Model("Qwen/Qwen3-8B", Speaks(usage, *turns), template=EVERYTHING, **options)
    made = app([model], limits=Limits(tokens_per_minute=6000))
    with serving(made) as url, httpx2.Client(base_url=url) as http:
        body = {"model": "Qwen/Qwen3-8B", "messages": [{"role": "user", "content": "Weather?"}], "stream": stream}
        body |= asked | ({"stream_options": {"include_usage": True}} if stream else {})
        answer = http.post(PATHS["chat"], json=body)
        chunks = [line[6:] for line in answer.text.splitlines() if line.startswith("data: {")]
        found = json.loads(chunks[-1] if stream else answer.text)["usage"]
        until = time.monotonic() + 20
        while not (lines := [json.loads(one) for one in caplog.messages if "completion_tokens" in one]):
            assert time.monotonic() < until
            time.sleep(0.01)
        (line,) = lines
        assert min(found["prompt_tokens"], found["completion_tokens"]) > 0
        assert [line[name] for name in ("prompt_tokens", "completion_tokens")] == [
            found[name] for name in ("prompt_tokens", "completion_tokens")
        ]
        (left,) = made.state.gateway.state.quotas._database.execute("SELECT left FROM tokens").fetchone()
        assert 6000 - left == found["total_tokens"]
