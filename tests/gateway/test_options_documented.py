"""docs/gateway.md lists every option and every limit."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import anthropic
import openai
import pytest

from harmonystream.gateway.limits import Limits
from harmonystream.gateway.requests.options import TABLES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "gateway.md").read_text("utf-8")
APIS = {"chat": "Chat Completions", "responses": "Responses", "messages": "Messages"}
WORDS = {
    "read": "acted on",
    "engine": "passed to the engine",
    "noted": "ignored",
    "passed": "passed over",
    "refused": "refused",
}


def test_every_option_is_in_the_table():
    rows = {
        (cells[0], cells[1]): re.findall(r"`(\w+)`", cells[2])
        for line in PAGE.splitlines()
        if len(cells := [cell.strip() for cell in line.split("|")[1:-1]]) == 3 and cells[0] in APIS.values()
    }
    for api, table in TABLES.items():
        for does, words in WORDS.items():
            names = sorted(name for name, option in table.items() if option.does == does)
            assert rows.get((APIS[api], words), []) == names


# Parameters of the official clients that are no fields of the body.
IN_HEADERS = {"betas", "user_profile_id", "workspace_id"}


@pytest.mark.parametrize(
    ("api", "params"),
    [
        ("chat", openai.types.chat.completion_create_params.CompletionCreateParamsBase),
        ("responses", openai.types.responses.response_create_params.ResponseCreateParamsBase),
        ("messages", anthropic.types.message_create_params.MessageCreateParamsBase),
        ("messages", anthropic.types.beta.message_create_params.MessageCreateParamsBase),
        ("messages", anthropic.types.MessageCountTokensParams),
    ],
    ids=["chat", "responses", "messages", "messages-beta", "count-tokens"],
)
def test_every_option_of_the_official_clients_is_known(api, params):
    assert set(params.__annotations__) - IN_HEADERS - set(TABLES[api]) == set()


OF_OBJECTS = [
    ("chat", "stream_options", openai.types.chat.ChatCompletionStreamOptionsParam),
    ("responses", "stream_options", openai.types.responses.response_create_params.StreamOptions),
    ("responses", "reasoning", openai.types.shared_params.Reasoning),
    ("responses", "text", openai.types.responses.ResponseTextConfigParam),
    ("messages", "thinking", anthropic.types.beta.BetaThinkingConfigEnabledParam),
    ("messages", "thinking", anthropic.types.beta.BetaThinkingConfigAdaptiveParam),
    ("messages", "thinking", anthropic.types.beta.BetaThinkingConfigDisabledParam),
    ("messages", "output_config", anthropic.types.beta.BetaOutputConfigParam),
]


@pytest.mark.parametrize(
    ("api", "name", "params"), OF_OBJECTS, ids=[f"{one[0]}-{one[2].__name__}" for one in OF_OBJECTS]
)
def test_every_field_of_an_objects_option_is_known(api, name, params):
    assert set(params.__annotations__) - set(TABLES[api][name].parts) == set()


def test_the_fields_that_are_refused_or_ignored_are_in_the_page():
    listed = set(re.findall(r"`(\w+\.\w+)`", PAGE))
    for table in TABLES.values():
        for name, option in table.items():
            for part, one in (option.parts or {}).items():
                assert one.does == "read" or f"{name}.{part}" in listed


def test_every_limit_is_in_the_table():
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)))
    assert {one.name for one in fields(Limits)} <= set(listed)
