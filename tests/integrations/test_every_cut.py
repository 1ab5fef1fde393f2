"""What our plug-ins make of an output that ends anywhere, without an engine: of every format that engines are tested
with, cut at each token and stopped at each place, streamed and whole, by every API.

`make engines-vllm` and its like play the same cases to the engines' own servers.
"""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from host_cases import FORMATS, Case, cases, untrue, vocab_of
from host_scenarios import TOOLS, Contents

import harmonystream as hs
from harmonystream.formats import format_of
from harmonystream.integrations.chunk_logprobs import ChunkLogprobs
from harmonystream.integrations.model import HIDDEN, Model, joined, parser_for
from harmonystream.integrations.vllm.output import Feed, Output

PROMPTS = {
    "hermes": ("<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n\n</think>\n\n"),
    "glm": ("<|assistant|>", "<|assistant|>\n<think></think>"),
    "deepseek": ("<｜Assistant｜></think>", "<｜Assistant｜><think>"),
    "llama3": ("<|start_header_id|>assistant<|end_header_id|>\n\n",) * 2,
    "mistral": ("[/INST]",) * 2,
}
"""What prompts end with: those of a request that asks the template for nothing, and of one that does."""
STOPPED = {"Chat": "stop_reason", "Messages": "stop_sequence"}
STREAMS = {"Chat": hs.ChatStream, "Messages": hs.MessagesStream, "Responses": hs.ResponsesStream}


@cache
def model(format: str) -> Model:
    row, vocab = format_of(format), vocab_of(format)
    return Model(row, vocab, hs.inside.Markup(row, vocab))


def parser_of(case: Case) -> hs.Parser:
    format = case.written.format
    prompt = PROMPTS[format][bool(case.written.more)] if format in PROMPTS else None
    return parser_for(model(format), HIDDEN if case.tools == "absent" else TOOLS, prompt)


def pieces(case: Case, size: int) -> tuple[list[tuple[list[int], str]], Any]:
    """The outputs of an engine, as vLLM makes them, and the request, with the stop string that is `found`.

    The text ends before it, and what may begin one is held back.
    """
    vocab, ids, stop = model(case.written.format).vocab, case.ids, case.stop
    asked = {"stop": [stop] if stop else None, "stop_token_ids": None, "skip_special_tokens": True}
    made, sent, found = [], 0, None
    for at in range(0, len(ids), size):
        known = [tid for tid in ids[: at + size] if not vocab.is_control(tid)]
        text = b"".join(map(vocab.token_bytes, known)).decode(errors="ignore")
        last = stop and stop in text
        end = text.index(stop) if last else len(text) - len(stop) + 1 if stop and at + size < len(ids) else len(text)
        made.append((ids[at : at + size], text[sent : max(sent, end)]))
        sent = max(sent, end)
        if last:
            found = stop
            break
    return made or [([], "")], SimpleNamespace(**asked, include_stop_str_in_output=False, found=found)


def by_names(case: Case, size: int) -> Contents:
    """By our parsers behind the engine's own frames."""
    made, asked = pieces(case, size)
    output, said = Output(model(case.written.format), parser_of(case), asked), hs.inside.Delta("", "", ())
    for at, (ids, text) in enumerate(made, 1):
        said = joined(said, output.add(ids, text, last=at == len(made)))
    calls: list[list[str]] = []
    for call in () if case.tools in ("absent", "none") else said.calls:
        if call.name is not None:
            calls.append([call.name, ""])
        calls[call.index][1] += call.arguments
    return Contents(said.reasoning, said.content, tuple((name, arguments) for name, arguments in calls), None)


def by_frames(case: Case, size: int, api: str) -> Contents:
    """By one of our emitters."""
    made, asked = pieces(case, size)
    hides = case.tools in ("absent", "none")
    feed, choice = Feed(model(case.written.format), asked), "none" if hides else "auto"
    options: dict[str, dict[str, Any]] = {
        "Chat": {"created": 0, "tool_choice": choice},
        "Messages": {"tool_choice": {"type": choice}},
        "Responses": {"created": 0, "request": {"tool_choice": choice}},
    }
    stream = STREAMS[api](parser_of(case), id="1", model="1", **options[api])
    stream.start()
    for at, (ids, text) in enumerate(made, 1):
        if kept := feed.take(ids, text, last=at == len(made)):
            stream.feed(kept)
    stream.finish(case.finish, **({STOPPED[api]: asked.found} if api in STOPPED else {}))
    return bytes_of(stream.response())


def bytes_of(response: Any) -> Contents:
    """The texts of several items, or blocks, are parted as those of one field are."""
    texts: dict[str, list[str]] = {"reasoning": [], "content": []}
    calls = []
    if "choices" in response:
        message = response["choices"][0]["message"]
        texts = {field: [message.get(field) or ""] for field in texts}
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())]
    for block in response.get("content", ()):
        if block["type"] == "tool_use":
            calls.append((block["name"], ""))
        else:
            texts["content" if block["type"] == "text" else "reasoning"].append(
                block.get("text", block.get("thinking"))
            )
    for item in response.get("output", ()):
        if item["type"] == "function_call":
            calls.append((item["name"], item["arguments"]))
        else:
            field = "content" if item["type"] == "message" else "reasoning"
            texts[field].append("".join(part["text"] for part in item["content"]))
    return Contents("\n".join(texts["reasoning"]), "\n".join(texts["content"]), tuple(calls), None)


def played(format: str) -> list[Case]:
    return [case for case in cases(format, stops=4) if case.finish != "error" and not case.logprobs and case.n == 1]


@pytest.mark.parametrize("format", FORMATS)
def test_an_answer_is_a_beginning_of_the_whole_one_and_the_same_by_every_way(format):
    found = [f"{case.name}: {problem}" for case in played(format) for problem in problems(case)]
    assert not found, "\n".join(found[:20])


def problems(case: Case) -> list[str]:
    whole = by_names(case, 10_000)
    found = [f"{field} {whole}"] if (field := untrue(whole, case)) else []
    fields = Contents._fields
    ways = {f"names by {size}": (by_names(case, size), fields) for size in (1, 3)}
    ways |= {f"Chat by {size}": (by_frames(case, size, "Chat"), fields) for size in (1, 3)}
    texts = () if case.written.format == "harmony" else ("reasoning", "content")  # its messages are items and blocks
    if not case.stop:  # Responses have none
        ways["Responses"] = by_frames(case, 1, "Responses"), (*texts, "calls")
    ways["Messages"] = by_frames(case, 1, "Messages"), texts
    for way, (said, same) in ways.items():
        found += [
            f"{field} {getattr(said, field)!r} by {way}, and {getattr(whole, field)!r} whole"
            for field in same
            if getattr(said, field) != getattr(whole, field)
        ]
    return found


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_of_a_stop_string_is_shown(format):
    for case in played(format):
        if case.stop:
            said = by_names(case, 1)
            assert case.stop not in said.reasoning + "\0" + said.content, case.name


class Entry:
    """What an engine says of a token."""

    def __init__(self, at: int) -> None:
        self._at = at

    def model_dump(self) -> dict[str, Any]:
        return {"token": str(self._at), "logprob": -0.5}


@pytest.mark.parametrize("format", FORMATS)
def test_the_log_probabilities_of_each_token_are_in_one_chunk(format):
    for case in played(format)[::3]:
        (made, asked), stream = pieces(case, 2), hs.ChatStream(parser_of(case), id="1", model="1", created=0)
        feed, held, count = Feed(model(format), asked), ChunkLogprobs(), 0
        frames = stream.start()
        for at, (ids, text) in enumerate(made, 1):
            held.add(ids, [Entry(count + number) for number in range(len(ids))])
            frames += held.feed(stream, feed.take(ids, text, last=at == len(made)))
            count += len(ids)
        frames += held.rest(stream.finish(case.finish))
        said = [entry["token"] for entry in _entries(frames)]
        assert said == [str(number) for number in range(count)], case.name


def _entries(frames: bytes) -> list[dict[str, Any]]:
    chunks = [json.loads(line[6:]) for line in frames.decode().splitlines() if line.startswith("data: {")]
    logprobs = [choice["logprobs"] for chunk in chunks for choice in chunk["choices"] if choice["logprobs"]]
    return [entry for said in logprobs for entry in said["content"]]
