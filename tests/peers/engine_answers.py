"""Holds the streaming parsers of vLLM or SGLang against the conformance cases, over the line protocol:

harmonystream conformance --against '.venv-engines-vllm/bin/python tests/peers/engine_answers.py vllm'

An engine's parsers get what its detokenizer makes of tokens. So the output is cut into the tokens of a small vocabulary
that has the family's markers, without the stop token at its end, and each case is read once, however the request cuts
it. Of the versions of a format, the parsers are those of the version whose markers the output has.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.outcomes.families import FAMILIES
from bench.outcomes.tokens import deltas
from harmonystream.formats import format_of

# What a delta says: reasoning, content, and for each call (index, name, arguments).
Delta = tuple[str | None, str | None, list[tuple[int, str | None, str | None]]]


def family_of(format: str, engine: str, text: str) -> str | None:
    """A family of this row for which the engine has parsers, and whose calls the text may have."""
    found = [name for name, form in FAMILIES.items() if form.format == format and engine in form.parsers]
    fitting = [name for name in found if (opener := FAMILIES[name].section[0].strip()) and opener in text]
    return fitting[0] if fitting else found[0] if found else None


def thinks(request: dict[str, Any]) -> bool:
    """Does the request let the model think?"""
    opener = getattr(format_of(request["format"]), "think", None)
    spelled = opener and ((opener[0],) if isinstance(opener[0], str) else opener[0])
    text = request["pieces"][0] if request["pieces"] else ""
    return request["start"] == "reasoning" or any(one in text for one in spelled or ())


def vllm(name: str, request: dict[str, Any], text: str) -> Iterator[Delta]:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    from bench.outcomes.with_vllm import encoded, has_own_vocabulary, parser_class, tokenizer

    thinking = thinks(request)
    asked = [{"role": "user", "content": "Go!"}]
    chat = ChatCompletionRequest(model="m", messages=asked, tools=request["tools"] or None, stream=True)
    given: dict[str, Any] = {"thinking": thinking, "enable_thinking": thinking}
    if name.startswith("hy_"):
        given["reasoning_effort"] = "high" if thinking else "no_think"
    parser = parser_class(name)(tokenizer(name), chat.tools, chat_template_kwargs=given)
    chat = parser.adjust_request(chat)
    prompt = encoded(name, FAMILIES[name].prompts[not thinking])
    pieces = [("", [tid]) for tid in encoded(name, text)] if has_own_vocabulary(name) else deltas(name, text)
    for at, (piece, ids) in enumerate(pieces):
        delta = parser.parse_delta(piece, ids, chat, prompt, finished=at == len(pieces) - 1)
        if delta is not None:
            calls = [(one.index, one.function and one.function.name, one.function and one.function.arguments)
                     for one in delta.tool_calls or ()]  # fmt: skip
            yield delta.reasoning, delta.content, calls


def sglang(name: str, request: dict[str, Any], text: str) -> Iterator[Delta]:
    from sglang.srt.entrypoints.openai.protocol import Tool
    from sglang.srt.function_call.function_call_parser import FunctionCallParser
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    from bench.rivals.with_sglang import chained

    calls, reasoning = FAMILIES[name].parsers["SGLang"]
    thought = reasoning and ReasoningParser(reasoning, True, thinks(request), tool_call_parser_active=True)
    declared = [Tool(**tool) for tool in request["tools"] or ()]
    step, end = chained(thought, FunctionCallParser(declared, calls))
    for thoughts, said, made in (*(step(piece) for piece, _ in deltas(name, text)), *end()):
        yield thoughts, said, [(one.tool_index, one.name, one.parameters) for one in made]


def rows_of(found: Iterable[Delta], format: str) -> list[list[Any]]:
    rows: list[list[Any]] = []
    for reasoning, content, calls in found:
        rows.append(["reasoning", reasoning or ""])
        rows.append(["content", content or "", "final" if format == "harmony" else None])
        for index, name, arguments in calls:
            if name:
                rows.append(["call", index, name])
            rows.append(["arguments", index, arguments or ""])
    return rows


ENGINES = {"vllm": ("vLLM", vllm), "sglang": ("SGLang", sglang)}


def answer(engine: str, request: dict[str, Any]) -> dict[str, Any]:
    named, read = ENGINES[engine]
    if request["input"] != "text" or len(request["pieces"]) != 1:
        return {"skip": "it reads texts, cut by its own tokens"}
    text = request["pieces"][0]
    for stop in () if request["format"] == "harmony" else format_of(request["format"]).stops:  # type: ignore[union-attr]
        text = text.removesuffix(stop)
    name = family_of(request["format"], named, text)
    if name is None:
        return {"skip": f"{named} has no parser for {request['format']}"}
    if request["start"] not in ("auto", "content", "reasoning") or request["tools"] is None:
        return {"skip": "its server always knows the tools, and begins at the end of a prompt"}
    try:
        found = list(read(name, request, text))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    return {"events": rows_of(found, request["format"]), "without": ["end", "finish", "space"]}


if __name__ == "__main__":
    # What the engine prints must not come between the answers.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        print(json.dumps(answer(sys.argv[1], json.loads(line))), file=out, flush=True)
