"""The derender route with our state."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

pytest.importorskip("vllm")

from host_scenarios import MESSAGES, TOOLS, Contents, ids_of
from vllm_answers import expected
from wire_scenarios import SCENARIOS, write

PATH = "/v1/chat/completions/derender"
CHAT = {"model": "tiny", "messages": MESSAGES, "tools": TOOLS, "stream": True}


def post(server: Any, path: str, body: Any) -> tuple[int, bytes]:
    data = json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, data, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def rendered(server: Any, **more: Any) -> list[int]:
    status, body = post(server, "/v1/chat/completions/render", {**CHAT, **more})
    assert status == 200, body
    ids: list[int] = json.loads(body)["token_ids"]
    return ids


def body_of(ids: list[int], state: Any, prompt: list[int] | None, finish: str | None = None, **more: Any) -> Any:
    choice = {"index": 0, "token_ids": ids, "finish_reason": finish}
    made = {
        "stream": True,
        "model": "tiny",
        "generate_chunk": {"request_id": "one", "choices": [choice]},
        "stream_state": state,
        "chat_request": {**CHAT, **more},
    }
    return made if prompt is None else {**made, "prompt_token_ids": prompt}


def derendered(server: Any, ids: list[int], size: int, **more: Any) -> tuple[Contents, list[dict[str, Any]]]:
    """What a client puts together, and the states. Each chunk is sent twice, and is the same both times."""
    state, states, texts, calls = None, [], {"reasoning": "", "content": ""}, {}
    prompt: list[int] | None = rendered(server)
    reason = None
    for at in range(0, len(ids), size):
        finish = "stop" if at + size >= len(ids) else None
        body = body_of(ids[at : at + size], state, prompt, finish, **more)
        status, answer = post(server, PATH, body)
        assert status == 200, answer
        if at:
            assert post(server, PATH, body) == (status, answer)
        chunk, state = (json.loads(answer)[name] for name in ("chunk", "stream_state"))
        states.append(state)
        prompt = None
        choice = chunk["choices"][0]
        assert (choice["delta"].get("role") == "assistant") == (at == 0)
        for name in texts:
            texts[name] += choice["delta"].get(name) or ""
        for call in choice["delta"].get("tool_calls") or ():
            known = calls.setdefault(call["index"], [call["function"]["name"], ""])
            known[1] += call["function"]["arguments"] or ""
        reason = choice["finish_reason"]
    return Contents(texts["reasoning"], texts["content"], tuple((n, a) for n, a in calls.values()), reason), states


NAMES = ("preamble and three calls", "reasoning and content", "unicode split over tokens", "empty arguments")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("family", "format"), [("qwen3", "hermes"), ("gpt_oss", "harmony")])
@pytest.mark.parametrize("size", [1, 4])
def test_chunks_say_what_the_parser_says(server, family, format, name, size):
    host = server(family, "frames")
    ids = ids_of(host.family, write(format, SCENARIOS[name]), stops=True)
    said, states = derendered(host, ids, size)
    host.play([1])
    post(host, "/v1/chat/completions", {**CHAT, "stream": False})  # so that the prompt is known
    assert said == expected(host, ids)
    assert max(len(json.dumps(state)) for state in states) < 1500
    assert not any(state["output_token_ids"] or state["prev_tokens"] for state in states)


def test_calls_are_hidden_where_the_request_says_so(server):
    host = server("qwen3", "frames")
    ids = ids_of(host.family, write("hermes", SCENARIOS["preamble and three calls"]), stops=True)
    assert derendered(host, ids, 3, tool_choice="none")[0].calls == ()
    assert len(derendered(host, ids, 3, parallel_tool_calls=False)[0].calls) == 1
    assert derendered(host, ids, 3, include_reasoning=False)[0].reasoning == ""


def damaged(state: dict[str, Any]) -> dict[str, dict[str, Any]]:
    data = bytearray(base64.b64decode(state["harmonystream"]))
    made = {}
    for at in range(0, len(data), 37):
        data[at] ^= 1
        made[f"byte {at}"] = {**state, "harmonystream": base64.b64encode(data).decode()}
        data[at] ^= 1
    made["truncated"] = {**state, "harmonystream": base64.b64encode(data[:-5]).decode()}
    made["not base64"] = {**state, "harmonystream": "!"}
    made["vLLM's own"] = {"output_token_ids": [1, 2], "output_chunk_lens": [2], "role_sent": True}
    return made


def test_a_state_that_is_damaged_or_foreign_is_refused(server):
    host = server("qwen3", "frames")
    ids = ids_of(host.family, write("hermes", SCENARIOS["preamble and a call"]), stops=True)
    _, states = derendered(host, ids, 4)
    assert post(host, PATH, body_of(ids[4:8], states[0], None))[0] == 200
    for name, state in damaged(states[0]).items():
        assert post(host, PATH, body_of(ids[4:8], state, []))[0] == 400, name
    foreign = body_of(ids[4:8], states[0], None)
    foreign["generate_chunk"]["request_id"] = "two"
    other_tools = body_of(ids[4:8], states[0], None, tools=TOOLS[:1])
    without_prompt = body_of(ids[:4], None, None)
    too_long = body_of([1] * 40_000, states[0], None)
    for body in (foreign, other_tools, without_prompt, too_long):
        assert post(host, PATH, body)[0] == 400
    assert host.process.poll() is None
