"""A stream, put together as clients do it, is the whole answer: random requests of three APIs, with a fixed seed."""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

import harmonystream as hs
from harmonystream.gateway import Model, app

NAME = "Qwen/Qwen3-8B"
ADD = {"name": "add", "parameters": {"type": "object", "properties": {"a": {}}, "required": ["a"]}}


def call(arguments: str = '{"a": 1}', name: str = "add") -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


OUTPUTS = (
    *("", "   ", "Hello there. STOP and more", "<think>Hm.</think>Hi 雨 STOP x", "<think>only thoughts", "x</think>y"),
    *(
        f"<think>Hm</think>\nText\n{call()}",
        call() + call('{"a": 2}'),
        f"{call()}\n\n{call()}\nDone.",
        call() + "after",
    ),
    *(
        call('{"a": "STOP"}'),
        call(name="nope"),
        call('{"a": ')[:-13],
        "<tool_call>{",
        '{"a": 1}',
        call('"+x"', "patch"),
    ),
    *(call('{"input": "diff STOP\\n+x"}', "patch"), "a<|im_end|>b", "é" * 50 + "STOP"),
    "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
)


class Pieces(hs.engines.Engine):
    """Gives `text` in pieces of `size`."""

    text, size, reason = "", 1, "stop"

    async def generate(self, prompt: Any, sampling: Any) -> AsyncIterator[Any]:
        for i in range(0, len(self.text), self.size):
            yield self.text[i : i + self.size]
        yield hs.engines.Finished(self.reason, {"prompt_tokens": 5, "completion_tokens": 7})


THOUGHTS = "<|channel|>analysis<|message|>Hm STOP<|end|><|start|>assistant"
FINAL = "<|channel|>final<|message|>"
HEADER = "<|channel|>commentary to=functions.add <|constrain|>json<|message|>"
OF_IDS = (
    *("", f"{FINAL}Hello there. STOP and more<|return|>", f"{THOUGHTS}{FINAL}Hi 雨 STOP x<|return|>", THOUGHTS[:30]),
    *(f'{THOUGHTS}{HEADER}{{"a": 1}}<|call|>', f'{HEADER}{{"a": "STOP"}}<|call|>', f'{HEADER}{{"a": ', f"{FINAL}a ST"),
    f'<|channel|>commentary<|message|>Text\n<|end|><|start|>assistant{HEADER}{{"a": 2}}<|call|>',
    f"{FINAL}a\nSTO<|return|>",
)


class Ids(hs.engines.Engine):
    """Gives the ids of `text`, `size` at a time, with log probabilities if they are asked for."""

    text, size, reason = "", 1, "stop"
    gives_logprobs = True

    async def generate(self, prompt: Any, sampling: Any) -> AsyncIterator[Any]:
        ids = hs.vocab.o200k_harmony().encode(self.text, control=True)
        for i in range(0, len(ids), self.size):
            part = ids[i : i + self.size]
            entries = [{"token": f"t{tid}", "logprob": -tid / 7, "bytes": None, "top_logprobs": []} for tid in part]
            yield part if sampling.logprobs is None else hs.engines.Sampled(part, entries)
        yield hs.engines.Finished(self.reason, {"prompt_tokens": 5, "completion_tokens": 7})


def chat(rng: random.Random) -> dict[str, Any]:
    asked = {"role": "user", "content": "?"}
    calls = [{"id": f"c{i}", "type": "function", "function": {"name": "add", "arguments": "{}"}} for i in (1, 2)]
    results = [{"role": "tool", "tool_call_id": tid, "content": "2"} for tid in ("c2", "c1")]
    developer = {"role": "developer", "content": "D"}
    histories = [[asked], [developer, asked, {"role": "assistant", "content": None, "tool_calls": calls}, *results]]
    histories += [[asked, {"role": "assistant", "content": "Begun"}]]
    given: dict[str, Any] = {"messages": rng.choice(histories)}
    if rng.random() < 0.7:
        tools = [{"type": "function", "function": ADD}, {"type": "custom", "custom": {"name": "patch"}}]
        given["tools"] = tools[: rng.choice([1, 2])]
        one = {"type": "function", "function": {"name": "add"}}
        given["tool_choice"] = rng.choice(["auto", "auto", "none", "required", one])
    options = {"stop": ["STOP", ["</think>"], ["\n", "x"]], "n": [1, 3], "parallel_tool_calls": [True, False]}
    return given | {name: rng.choice(values) for name, values in options.items() if rng.random() < 0.3}


def responses(rng: random.Random) -> dict[str, Any]:
    asked = {"role": "user", "content": [{"type": "input_text", "text": "?"}]}
    items: list[dict[str, Any]] = [{"role": "developer", "content": "D"}, asked]
    items += [{"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "r"}]}]
    items += [{"type": "function_call", "call_id": tid, "name": "add", "arguments": "{}"} for tid in ("c1", "c2")]
    items += [{"type": "function_call_output", "call_id": tid, "output": "2"} for tid in ("c2", "c1")]
    given: dict[str, Any] = {"input": rng.choice(["?", items])}
    if rng.random() < 0.7:
        given["tools"] = [{"type": "function", **ADD}, {"type": "custom", "name": "patch"}][: rng.choice([1, 2])]
        given["tool_choice"] = rng.choice(["auto", "auto", "none", "required", {"type": "function", "name": "add"}])
    options: dict[str, list[Any]] = {"store": [True, False], "include": [["reasoning.encrypted_content"]]}
    options |= {"reasoning": [{"summary": "auto"}, {"effort": "low"}], "parallel_tool_calls": [True, False]}
    return given | {name: rng.choice(values) for name, values in options.items() if rng.random() < 0.3}


def messages(rng: random.Random) -> dict[str, Any]:
    asked = {"role": "user", "content": "?"}
    uses = [{"type": "tool_use", "id": tid, "name": "add", "input": {"a": 1}} for tid in ("t1", "t2")]
    blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": "t", "signature": "s"}, *uses]
    results = [{"type": "tool_result", "tool_use_id": tid, "content": "2"} for tid in ("t2", "t1")]
    histories: list[list[Any]] = [[asked], [asked, {"role": "assistant", "content": "Begun"}]]
    histories += [[asked, {"role": "assistant", "content": blocks}, {"role": "user", "content": results}]]
    given: dict[str, Any] = {"messages": rng.choice(histories), "max_tokens": 99}
    if rng.random() < 0.7:
        given["tools"] = [{"name": "add", "input_schema": ADD["parameters"]}]
        given["tool_choice"] = {"type": rng.choice(["auto", "auto", "any", "none"])}
    if rng.random() < 0.4:
        given["stop_sequences"] = rng.choice([["STOP"], ["x", "STOP"], ["</think>"]])
    return given


def events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line[6:])


def choices_of_stream(text: str) -> Any:
    made: dict[int, dict[str, Any]] = {}
    for event in events(text):
        for choice in event["choices"]:
            one = made.setdefault(
                choice["index"], {"content": "", "reasoning": "", "calls": [], "logprobs": [], "end": None}
            )
            delta = choice["delta"]
            for name in ("content", "reasoning"):
                one[name] += delta.get(name) or ""
            for part in delta.get("tool_calls") or ():
                body = part.get("function") or part.get("custom")
                if part.get("id"):
                    one["calls"].append([part["id"], body["name"], ""])
                one["calls"][part["index"]][2] += body.get("arguments") or body.get("input") or ""
            one["logprobs"] += (choice.get("logprobs") or {}).get("content") or []
            one["end"] = choice["finish_reason"] or one["end"]
    return made


def choices_of(whole: dict[str, Any]) -> Any:
    made = {}
    for choice in whole["choices"]:
        said = choice["message"]
        bodies = [(part["id"], part.get("function") or part.get("custom")) for part in said.get("tool_calls") or ()]
        calls = [[tid, body["name"], body.get("arguments", body.get("input"))] for tid, body in bodies]
        made[choice["index"]] = {
            **{name: said.get(name) or "" for name in ("content", "reasoning")},
            **{"calls": calls, "logprobs": (choice.get("logprobs") or {}).get("content") or []},
            "end": choice["finish_reason"],
        }
    return made


def response_of_stream(text: str) -> Any:
    found = list(events(text))
    response = found[-1]["response"]
    assert response["output"] == [one["item"] for one in found if one["type"] == "response.output_item.done"]
    return response


def message_of_stream(text: str) -> Any:
    message: dict[str, Any] = {}
    written: dict[int, str] = {}
    for event in events(text):
        kind = event["type"]
        if kind == "message_start":
            message = event["message"]
        elif kind == "content_block_start":
            message["content"].append(event["content_block"])
        elif kind == "content_block_delta":
            block, delta = message["content"][event["index"]], event["delta"]
            if delta["type"] == "input_json_delta":
                written[event["index"]] = written.get(event["index"], "") + delta["partial_json"]
            elif delta["type"] == "signature_delta":
                block["signature"] = delta["signature"]
            else:
                name = delta["type"].removesuffix("_delta")
                block[name] += delta[name]
        elif kind == "message_delta":
            message |= event["delta"]
            message["usage"] |= event["usage"]
    for index, text_of_input in written.items():
        # the whole answer has what is complete of an object that is cut, and of these outputs that is nothing
        message["content"][index]["input"] = json.loads(text_of_input) if text_of_input.endswith("}") else {}
    return message


def same(made: Any) -> str:
    """Without what differs in any two answers: ids, times, signatures."""
    text = re.sub(r"\b(chatcmpl-|resp_|msg_|call_|fc_|rs_|ctc_|toolu_)[0-9a-zA-Z]{8,}", r"\1", json.dumps(made))
    text = re.sub(r'"(created_at|completed_at)": [\d.]+', "", text)
    return re.sub(r'"(signature|encrypted_content)": "[^"]+"', "", text)


APIS: dict[str, tuple[Callable[[random.Random], dict[str, Any]], Callable[[str], Any], Callable[[Any], Any]]] = {
    "/v1/chat/completions": (chat, choices_of_stream, choices_of),
    "/v1/responses": (responses, response_of_stream, lambda whole: whole),
    "/v1/messages": (messages, message_of_stream, lambda whole: whole),
}


@pytest.mark.parametrize("kind", [Pieces, Ids])
@pytest.mark.parametrize("path", APIS)
def test_a_stream_is_the_whole_answer(path: str, kind: type[Pieces | Ids]) -> None:
    made, of_stream, of_whole = APIS[path]
    rng, engine, answered = random.Random(f"{path} {kind.__name__}"), kind(), 0
    name = NAME if kind is Pieces else "gpt-oss-20b"
    with TestClient(app([Model(name, engine)]), base_url="http://localhost") as client:
        for _ in range(80):
            body = {"model": name, **made(rng)}
            if kind is Ids and path == "/v1/chat/completions":
                body |= rng.choice([{}, {"logprobs": True}, {"logprobs": True, "top_logprobs": 2}])
            elif kind is Ids and path == "/v1/responses":
                body |= rng.choice([{}, {"include": ["message.output_text.logprobs"]}])
            engine.text = rng.choice(OUTPUTS if kind is Pieces else OF_IDS)
            engine.size = rng.choice([1, 2, 5, 1000])
            engine.reason = rng.choice(["stop", "stop", "length"])
            whole, stream = client.post(path, json=body), client.post(path, json=body | {"stream": True})
            assert whole.status_code == stream.status_code, (body, engine.text)
            if whole.status_code == 200:
                answered += 1
                about = (body, engine.text, engine.size)
                assert same(of_stream(stream.text)) == same(of_whole(whole.json())), about
            else:
                assert whole.status_code == 400 and same(whole.json()["error"]) == same(stream.json()["error"])
    assert answered >= 50
