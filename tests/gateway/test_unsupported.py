"""What is passed over is said in a header and in the log; the request, its key or the gateway choose the rule."""

from __future__ import annotations

import json
import logging

import pytest
from gateways import ADD, ANSWER, ASKED, CALL, GPT_OSS, gateway, script_of

from harmonystream.gateway.operating.keys import Keys, line_of
from harmonystream.gateway.requests.unsupported import HEADER, Unsupported

APIS = tuple(ASKED)


def test_the_warning_and_the_log_name_what_was_passed_over(caplog):
    caplog.set_level(logging.INFO, "harmonystream.gateway")
    with gateway(script_of(ANSWER)) as made:
        for api in APIS:
            for stream in (False, True):
                answer = made.post(api, sparkle=1, stream=stream)
                assert answer.status_code == 200
                assert answer.headers["warning"] == '199 harmonystream "not supported, passed over: sparkle"'
        assert "warning" not in made.post("chat").headers
        assert made.settled()
    said = [json.loads(line.getMessage()) for line in caplog.records if line.getMessage().startswith("{")]
    assert [line.get("passed_over") for line in said] == [["sparkle"]] * 6 + [None]


def test_a_warning_is_a_header_whatever_the_names_are():
    passed = Unsupported(passed=['a"\\\r\nset-cookie: x', "é\ud800", *map(str, range(100))])
    assert passed.warning() == (
        '199 harmonystream "not supported, passed over: a????set-cookie: x, ??, '
        + ", ".join(map(str, range(14)))
        + ', and 86 more"'
    )


@pytest.mark.parametrize("api", APIS)
def test_the_request_the_key_and_the_gateway_choose_the_rule(api, tmp_path):
    file = tmp_path / "keys.txt"
    file.write_text(f"{line_of('lax', 'L')} unsupported=ignore\n{line_of('any', 'A')}\n")
    options = {"keys": Keys.load(file), "unsupported": "refuse"}

    def status(key, **headers):
        body = {"model": GPT_OSS, **ASKED[api], "sparkle": 1, "thread": "t"}
        path = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}[api]
        return made.http.post(path, json=body, headers={"x-api-key": key, **headers}).status_code

    with gateway(script_of(ANSWER), app_options=options) as made:
        assert status("A") == 400
        assert status("L") == 200
        assert status("A", **{HEADER: "Ignore"}) == 200
        assert status("L", **{HEADER: "auto"}) == 400  # `thread` changes what is answered
        assert status("L", **{HEADER: "perhaps"}) == 400


OF_ENGINES = {
    "guided_json": {"type": "object"},
    "structured_outputs": {"regex": "a+"},
    "guided_choice": ["a", "b"],
    "regex": "a+",
    "bad_words": ["a"],
    "stop_token_ids": [5],
    "min_tokens": 5,
    "ignore_eos": True,
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("name", OF_ENGINES)
def test_what_an_engine_would_hold_an_answer_to_is_refused_by_name(api, name):
    """Passed over, it would give a client of vLLM an answer of another form."""
    with gateway(script_of(ANSWER)) as made:
        answer = made.post(api, **{name: OF_ENGINES[name]})
        assert answer.status_code == 400
        assert f"{name} is not supported: " in answer.json()["error"]["message"]
        assert made.post(api, min_tokens=0, ignore_eos=False).status_code == 200


def test_a_rule_that_is_none_is_refused():
    with (
        pytest.raises(ValueError, match="unsupported is one of auto, ignore, refuse"),
        gateway(script_of(ANSWER), app_options={"unsupported": "perhaps"}),
    ):
        pass


CODEX = {
    "client_metadata": {"session_id": "s"},
    "include": ["reasoning.encrypted_content"],
    "tools": [
        {"type": "function", "name": "shell", "parameters": ADD, "strict": False},
        {
            "type": "namespace",
            "name": "agents",
            "description": "Agents.",
            "tools": [{"type": "function", "name": "add", "parameters": ADD}],
        },
        {"type": "web_search", "external_web_access": True},
    ],
}
"""What Codex CLI sends beside the least."""


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_of_a_tool_in_a_namespace_names_the_namespace(stream):
    with gateway(script_of(CALL)) as made, made.clients() as clients:
        if stream:
            with clients.openai.responses.stream(model=GPT_OSS, input="?", extra_body=CODEX) as events:
                whole = events.get_final_response()
        else:
            whole = clients.openai.responses.create(model=GPT_OSS, input="?", extra_body=CODEX)
        call = whole.output[-1]
        assert (call.type, call.namespace, call.name) == ("function_call", "agents", "add")
        item = call.to_dict()
        again = made.post("responses", input=[{"role": "user", "content": "?"}, item], **CODEX)
        assert again.status_code == 200


def test_what_claude_code_sends_is_answered():
    more = {
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "thinking": {"type": "adaptive"},
        "metadata": {"user_id": "u"},
        "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral", "scope": "global"}}],
    }
    with gateway(script_of(ANSWER)) as made:
        answer = made.post("messages", **more)
        assert answer.status_code == 200, answer.text
        assert "context_management" in answer.headers["warning"]
