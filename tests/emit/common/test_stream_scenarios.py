"""Every scenario in every format under every API: the frames, and the official clients over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anthropic
import openai
import pytest
import wire_messages
import wire_responses
from pydantic import BaseModel
from wire_chat import SPARE
from wire_chat import plain as plain_completion
from wire_frames import as_bytes, as_dicts, payloads_of, validated
from wire_scenarios import FORMS, ISSUE, SCENARIOS, SPELLINGS, SPOKEN, expected_items, parser_of, pieces_of, streams
from wire_server import (
    APIS,
    ASKED,
    Clients,
    clients_of,
    routed,
    scenario,
    scenarios_app,
    serving,
    stream_over,
)

import harmonystream as hs


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    with clients_of(scenarios_app()) as clients:
        yield clients


def expected(api: str, name: str) -> dict[str, Any]:
    """The final object, as the scenario has it: by hand."""
    format, form, scenario = streams()[name]
    made: dict[str, Any] = APIS[api].expected(format, expected_items(format, scenario, form), scenario.reason)
    return made


# --- the table ---


def test_no_scenario_is_missing_in_any_format():
    assert set(ISSUE) <= set(SCENARIOS)
    assert {"harmony", *SPELLINGS} == set(SPOKEN) <= set(hs.formats.names())
    for name, one in SCENARIOS.items():
        assert set(one.where) <= set(SPOKEN), name
        assert bool(one.why) is (set(one.where) != set(SPOKEN)), f"{name}: who cannot express it says why"
        for format in one.where:
            for form in FORMS:
                assert f"{format}/{form}/{name}" in streams()
    counted = [len(SCENARIOS[name].where) for name in ISSUE]
    assert counted == [11, 11, 10, 10, 10, 5, 5, 11, 10, 10, 10, 11, 11, 1, 1, 10], (
        "of eleven formats; one has no calls"
    )


@pytest.mark.parametrize("name", [name for name in streams() if "/ids/10,000" in name])
def test_long_arguments_are_long(name):
    assert sum(map(len, pieces_of(name))) > 10_000


# --- the frames ---


@pytest.mark.parametrize("name", streams())
def test_frames(name):
    """Bytes are dicts, every payload is the client's model's, and joined they are what the scenario says."""
    reason = streams()[name][2].reason
    for api, module in APIS.items():
        emitter, twin = (stream_over(parser_of(name), api) for _ in range(2))
        payloads = payloads_of(b"".join(as_bytes(emitter, pieces_of(name), reason, module.USAGE)))
        dicts = as_dicts(twin, pieces_of(name), reason, module.USAGE)
        assert payloads == ([*dicts, "[DONE]"] if api == "chat" else dicts)
        for payload in dicts:
            module.validate(payload)
        validated(module.WHOLE, emitter.response(), SPARE)
        assert module.assembled(payloads) == emitter.response() == twin.response() == expected(api, name)


# --- the official clients ---


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", streams())
def test_official_clients(clients, name, api):
    wanted = expected(api, name)
    assert clients.assembled(api, name) == wanted
    if "/ids/" in name:
        events = clients.events(api, name)
        assert APIS[api].assembled(events) == wanted
        assert clients.at_once(api, name) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("api", APIS)
def test_long_arguments_token_by_token(api):
    """The first 2,000: the clients themselves take milliseconds for each."""
    name = "harmony/ids/10,000 tokens of arguments"
    ids = [token for piece in pieces_of(name) for token in piece]

    async def source() -> AsyncIterator[Any]:
        for token in ids[:2000]:
            yield token
        yield ids[2000:]

    with clients_of(routed(lambda api, body: (source(), stream_over(parser_of(name), api)))) as clients:
        assert clients.assembled(api, "m") == expected(api, name)


@pytest.mark.parametrize("format", ["harmony", "hermes"])
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("shown", [0, 1], ids=["tool_choice none", "parallel_tool_calls False"])
def test_hidden_calls(api, format, shown):
    name = f"{format}/ids/preamble and three calls"
    choice: dict[str, Any] = {"parallel_tool_calls": False} if shown else {"tool_choice": "none"}
    if shown and api == "messages":
        choice = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    options = {"request": choice} if api == "responses" else choice
    if api == "messages" and shown:
        options = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    said = expected_items(format, SCENARIOS["preamble and three calls"])
    wanted = APIS[api].expected(format, said[: len(said) - 3 + shown], "stop")
    wanted |= choice if api == "responses" else {}
    app = routed(lambda api, body: (scenario(name), stream_over(parser_of(name), api, **options)))
    with clients_of(app) as clients:
        assert clients.assembled(api, "m") == wanted
        assert APIS[api].assembled(clients.events(api, "m")) == wanted
        assert clients.at_once(api, "m") == wanted


@pytest.mark.slow
def test_two_hundred_streams_at_a_time():
    """Of all APIs and formats, through official clients. None ends before all have begun."""
    names = [name for name in streams() if "10,000" not in name]
    chosen = [(api, names[(7 * at) % len(names)]) for at in range(67) for api in APIS][:200]
    assert {name.split("/")[0] for _, name in chosen} == set(SPOKEN)
    begun = 0
    all_begun = asyncio.Event()

    async def waiting(name: str) -> AsyncIterator[Any]:
        nonlocal begun
        begun += 1
        if begun == len(chosen):
            all_begun.set()
        await all_begun.wait()
        async for piece in scenario(name):
            yield piece
            await asyncio.sleep(0)

    app = routed(lambda api, body: (waiting(body["model"]), stream_over(parser_of(body["model"]), api)))
    with serving(app) as url:
        found = asyncio.run(all_of(url, chosen))
    for (api, name), one in zip(chosen, found, strict=True):
        assert one == expected(api, name)


async def all_of(url: str, chosen: list[tuple[str, str]]) -> list[dict[str, Any]]:
    options: Any = {"api_key": "none", "max_retries": 0, "timeout": 60}
    async with (
        openai.AsyncOpenAI(base_url=f"{url}/v1", **options) as gpt,
        anthropic.AsyncAnthropic(base_url=url, **options) as claude,
    ):

        async def ask(api: str, name: str) -> dict[str, Any]:
            asked: Any = {"model": name, **ASKED[api]}
            if api == "messages":
                async with claude.messages.stream(**asked) as events:
                    return wire_messages.plain(await events.get_final_message())
            if api == "responses":
                async with gpt.responses.stream(**asked) as parts:
                    return wire_responses.plain([part async for part in parts][-1].response)
            async with gpt.chat.completions.stream(**asked) as chunks:
                await chunks.until_done()
                return plain_completion(chunks.current_completion_snapshot)

        return await asyncio.gather(*(ask(api, name) for api, name in chosen))


# --- structured output ---


class Weather(BaseModel):
    city: str


ROME = Weather(city="Rom 雨")


@pytest.mark.parametrize("format", SPOKEN)
def test_structured_output_is_parsed(clients, format):
    model = f"{format}/ids/structured output"
    with clients.openai.responses.stream(model=model, text_format=Weather, **ASKED["responses"]) as parts:
        assert parts.get_final_response().output_parsed == ROME
    with clients.openai.chat.completions.stream(model=model, response_format=Weather, **ASKED["chat"]) as chunks:
        assert chunks.get_final_completion().choices[0].message.parsed == ROME


def test_structured_output_is_read_from_the_answer_and_not_from_the_preamble(clients):
    model = "harmony/ids/structured output after a preamble"
    with clients.openai.responses.stream(model=model, text_format=Weather, **ASKED["responses"]) as parts:
        response = parts.get_final_response()
    assert response.output_parsed == ROME
    assert response.output_text == 'One moment.{"city": "Rom 雨"}'
