"""vLLM reads outputs as its chat server calls its parsers, with and without streaming.

Runs in the rivals' environment. Nothing is started: no engine, no model, no server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

from transformers import PreTrainedTokenizerFast
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser import ParserManager
from vllm.tokenizers.hf import get_cached_tokenizer

from .families import FAMILIES
from .tokens import deltas, message, patience
from .tokens import tokenizer as tokenizer_of

logging.disable(logging.CRITICAL)


@cache
def tokenizer(name: str) -> Any:
    return get_cached_tokenizer(PreTrainedTokenizerFast(tokenizer_object=tokenizer_of(name)))


@cache
def parser_class(name: str) -> Any:
    tools, reasoning = FAMILIES[name].parsers["vLLM"]
    return ParserManager.get_parser(tool_parser_name=tools, reasoning_parser_name=reasoning, enable_auto_tools=True)


def about() -> str:
    return version("vllm")


def read(name: str, tools: list[Any], outputs: list[list[Any]]) -> list[list[Any]]:
    """[streamed, whole] of each output, which is [text, whether the model thinks]."""
    asked = [{"role": "user", "content": "Go!"}]
    found = []
    for text, thinks in outputs:
        effort = "high" if thinks else "no_think"
        given = {"thinking": thinks, "enable_thinking": thinks, "reasoning_effort": effort}
        made: list[Any] = []
        for way in (streamed, whole):
            request = ChatCompletionRequest(
                model="m", messages=asked, tools=tools, tool_choice="auto", stream=way is streamed
            )
            prompt = tokenizer_of(name).encode(FAMILIES[name].prompts[not thinks], add_special_tokens=False).ids
            made.append(guarded(way, name, request, prompt, text, given))
        found.append(made)
    return found


def guarded(way: Callable[..., Any], name: str, request: Any, *rest: Any) -> Any:
    try:
        parser = parser_class(name)(tokenizer(name), request.tools, chat_template_kwargs=rest[-1])
        with patience():
            return way(name, parser, parser.adjust_request(request), *rest[:-1])
    except Exception as error:
        return message("", "", [], f"{type(error).__name__}: {error}".splitlines()[0][:200])


def streamed(name: str, parser: Any, request: Any, prompt: list[int], text: str) -> list[Any]:
    reasoning, content, calls = "", "", dict[int, list[str]]()
    pieces = deltas(name, text)
    for at, (piece, ids) in enumerate(pieces):
        delta = parser.parse_delta(piece, ids, request, prompt, finished=at == len(pieces) - 1)
        if delta is None:
            continue
        reasoning += delta.reasoning or ""
        content += delta.content or ""
        for call in delta.tool_calls or ():
            one = calls.setdefault(call.index, ["", ""])
            one[0] += (call.function and call.function.name) or ""
            one[1] += (call.function and call.function.arguments) or ""
    return message(reasoning, content, [calls[index] for index in sorted(calls)])


def whole(name: str, parser: Any, request: Any, prompt: list[int], text: str) -> list[Any]:
    parser.set_prompt_token_ids(prompt)
    ids = tokenizer_of(name).encode(text, add_special_tokens=False).ids
    reasoning, content, calls = parser.parse(text, request, enable_auto_tools=True, model_output_token_ids=ids)
    return message(reasoning, content, [[call.name, call.arguments] for call in calls or ()])
