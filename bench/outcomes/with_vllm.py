"""vLLM reads outputs as its chat server calls its parsers, with and without streaming.

Runs in the rivals' environment. Nothing is started: no engine, no model, no server.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any

import rank_file
from transformers import PreTrainedTokenizerFast
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.parser.harmony_utils import get_encoding
from vllm.parser import ParserManager
from vllm.tokenizers.hf import get_cached_tokenizer

from bench.rivals.output import Output
from bench.rivals.with_vllm import note
from bench.rivals.with_vllm import tokenizer as tokenizer_of_gpt_oss

from .families import FAMILIES
from .tokens import deltas, guarded
from .tokens import tokenizer as tokenizer_of

logging.disable(logging.CRITICAL)


def has_own_vocabulary(name: str) -> bool:
    """vLLM reads gpt-oss with openai-harmony, which has the model's vocabulary in it."""
    return FAMILIES[name].format == "harmony"


@cache
def harmony() -> Any:
    """openai-harmony's own, which would download its vocabulary."""
    os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", rank_file.folder())
    return get_encoding()


def encoded(name: str, text: str) -> list[int]:
    if has_own_vocabulary(name):
        ids: list[int] = harmony().encode(text, allowed_special="all")
        return ids
    return tokenizer_of(name).encode(text, add_special_tokens=False).ids


@cache
def tokenizer(name: str) -> Any:
    if has_own_vocabulary(name):
        return tokenizer_of_gpt_oss()
    return get_cached_tokenizer(PreTrainedTokenizerFast(tokenizer_object=tokenizer_of(name)))


@cache
def parser_class(name: str) -> Any:
    tools, reasoning = FAMILIES[name].parsers["vLLM"]
    return ParserManager.get_parser(
        tool_parser_name=tools,
        reasoning_parser_name=reasoning,
        enable_auto_tools=True,
        is_harmony=has_own_vocabulary(name),
    )


def about() -> str:
    return version("vllm")


def read(name: str, tools: list[Any], outputs: list[list[Any]]) -> list[list[Any]]:
    """[streamed, whole] of each output, which is [text, whether the model thinks]."""
    return [[answer(name, tools, way, *output) for way in (streamed, whole)] for output in outputs]


def answer(name: str, tools: list[Any], way: Callable[..., Any], text: str, thinks: bool) -> list[Any]:
    asked = [{"role": "user", "content": "Go!"}]
    request = ChatCompletionRequest(model="m", messages=asked, tools=tools, tool_choice="auto", stream=way is streamed)
    effort = "high" if thinks else "no_think"
    given = {"thinking": thinks, "enable_thinking": thinks, "reasoning_effort": effort}
    prompt = encoded(name, FAMILIES[name].prompts[not thinks])

    def make() -> Any:
        return parser_class(name)(tokenizer(name), request.tools, chat_template_kwargs=given)

    return guarded(make, lambda parser: way(name, parser, parser.adjust_request(request), prompt, text))


def streamed(name: str, parser: Any, request: Any, prompt: list[int], text: str) -> tuple[Any, ...]:
    output = Output()
    # The parser of gpt-oss looks at no text.
    pieces = [("", [tid]) for tid in encoded(name, text)] if has_own_vocabulary(name) else deltas(name, text)
    for at, (piece, ids) in enumerate(pieces):
        note(output, parser.parse_delta(piece, ids, request, prompt, finished=at == len(pieces) - 1))
    return output.parts()


def whole(name: str, parser: Any, request: Any, prompt: list[int], text: str) -> tuple[Any, ...]:
    parser.set_prompt_token_ids(prompt)
    ids = encoded(name, text)
    reasoning, content, calls = parser.parse(text, request, enable_auto_tools=True, model_output_token_ids=ids)
    return reasoning, content, [[call.name, call.arguments] for call in calls or ()]
