"""Valid requests with something wrong in them, at any depth: no 500, no hang, and errors in form.

HYPOTHESIS_PROFILE=deep tries many more, which `make fuzz` does.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from gateways import ADD, ASKED
from hypothesis import settings
from test_app_fuzzed import Gateway, check_error

TRIES = settings.default.max_examples * 4

SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
CHAT = {
    "messages": [
        {"role": "system", "content": [{"type": "text", "text": "S"}]},
        {"role": "user", "name": "u", "content": [{"type": "text", "text": "?"}, {"type": "text", "text": "!"}]},
        {"role": "assistant", "content": None, "reasoning": "r", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "name": "add", "content": [{"type": "text", "text": "2"}]},
        {"role": "assistant", "content": "4", "refusal": None},
        {"role": "user", "content": "And?"},
    ],
    "tools": [
        {"type": "function", "function": {"name": "add", "description": "d", "parameters": ADD, "strict": True}},
        {"type": "custom", "custom": {"name": "patch", "description": "p", "format": {"type": "text"}}},
    ],
    "tool_choice": {"type": "function", "function": {"name": "add"}},
    "stream_options": {"include_usage": True},
    "reasoning": {"effort": "low", "max_tokens": 5},
    "temperature": 0.5,
    "max_tokens": 9,
    "stop": ["x"],
    "logit_bias": {"1": 2},
    "metadata": {"a": "b"},
    "chat_template_kwargs": {"reasoning_effort": "low"},
    "n": 1,
}
RESPONSES = {
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "S"}]},
        {"role": "user", "content": "?"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "r"}], "content": []},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "add", "namespace": "n", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "2"}]},
        {"type": "custom_tool_call", "call_id": "d", "name": "patch", "input": "raw"},
        {"type": "custom_tool_call_output", "call_id": "d", "output": "done"},
        {"type": "mcp_call", "id": "m", "server_label": "gateway", "name": "add", "arguments": "{}", "output": "3"},
        {"type": "item_reference", "id": "rs_1"},
        {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "4"}]},
        {"role": "user", "content": [{"type": "input_text", "text": "And?"}]},
    ],
    "tools": [
        {"type": "function", "name": "add", "parameters": ADD, "strict": False},
        {
            "type": "custom",
            "name": "patch",
            "description": "p",
            "format": {"type": "grammar", "syntax": "lark", "definition": "x"},
        },
        {"type": "namespace", "name": "n", "description": "", "tools": [{"type": "function", "name": "add"}]},
        {"type": "web_search"},
    ],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "add"}]},
    "text": {"format": {"type": "text"}, "verbosity": "low"},
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "instructions": "I",
    "top_logprobs": 0,
    "metadata": {"a": "b"},
}
MESSAGES = {
    "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t_1", "name": "add", "input": {"a": 1}},
                {"type": "mcp_tool_use", "id": "m_1", "name": "add", "server_name": "gateway", "input": {"a": 1}},
                {"type": "mcp_tool_result", "tool_use_id": "m_1", "content": [{"type": "text", "text": "2"}]},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t_1", "content": [{"type": "text", "text": "2"}]}],
        },
    ],
    "max_tokens": 9,
    "tools": [{"name": "add", "description": "d", "input_schema": ADD, "strict": True}],
    "tool_choice": {"type": "tool", "name": "add", "disable_parallel_tool_use": True},
    "thinking": {"type": "enabled", "budget_tokens": 5, "display": "omitted"},
    "output_config": {"effort": "low"},
    "stop_sequences": ["x"],
    "metadata": {"user_id": "u"},
    "temperature": 1,
}
WHOLE = {"chat": CHAT, "responses": RESPONSES, "messages": MESSAGES, "count": MESSAGES}
PATHS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "count": "/v1/messages/count_tokens",
}
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 10**400, -(10**400), 1e308, 0.5, "", "x", "\ud800", "\x00", "<|im_end|>", "auto"),
    *([], {}, [[]], [{}], {"type": []}, {"type": {}}, {"a": {"b": [1]}}, [None], ["x", 1], "9" * 400, {"": 1}),
    *("function", "custom", {"type": "text", "text": 3}, {"type": "text"}, [{"type": {"a": 1}}], {"name": {}}),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something is."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))] if path or inner else [path]


def values(value: Any) -> list[Any]:
    """All that is in a value, and itself."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(one for each in inner for one in values(each))]


def mutated(rng: random.Random, body: dict[str, Any]) -> dict[str, Any]:
    """The body after one to three changes: a value is odd, gone, twice, or stands elsewhere."""
    body = copy.deepcopy(body)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        found = [place for place in places(body) if place]
        if not found:
            break
        *way, key = rng.choice(found)
        at: Any = body
        for step in way:
            at = at[step]
        change = rng.randrange(6)
        if change == 0:
            del at[key]
        elif change == 1 and isinstance(at, list):
            at.insert(key, copy.deepcopy(at[key]))
        elif change == 2:
            at[key] = copy.deepcopy(rng.choice(values(body)))
        elif change == 3 and isinstance(at, dict):
            at[rng.choice(["type", "role", "content", "id", "name", "sparkle"])] = copy.deepcopy(rng.choice(ODD))
        else:
            at[key] = copy.deepcopy(rng.choice(ODD))
    return body


@pytest.fixture(scope="module")
def made():
    gateway = Gateway()
    yield gateway
    gateway.close()


@pytest.mark.parametrize("api", WHOLE)
def test_no_mutated_request_gives_500(made, api):
    rng = random.Random(f"mutated {api}" if settings.default.derandomize else None)  # `make fuzz` tries others
    statuses = set()
    names = [*made.gateway.models]
    for number in range(TRIES):
        kept = {name: value for name, value in WHOLE[api].items() if rng.random() < 0.6}
        body = {"model": rng.choice(names), **ASKED[api if api != "count" else "messages"], **kept}
        body |= {"stream": True} if rng.random() < 0.5 else {}
        if api == "count":
            body.pop("max_tokens", None)
        body = mutated(rng, body)
        answer = made.call("POST", PATHS[api], json.dumps(body).encode())
        statuses.add(answer.status)
        assert answer.status in (200, 400, 404), (number, answer.status, body)
        assert b"internal_error" not in answer.body, (number, body)
        if answer.status != 200:
            check_error("messages" if api == "count" else api, answer)
    assert {200, 400} <= statuses
    assert made.gateway.admission.open == 0
