"""vLLM's parsers at work, as its chat server calls them: `parse_delta` of the class that `ParserManager` composes.

Runs in the rivals' environment. Nothing is started: no engine, no model, no server.
"""

from __future__ import annotations

import base64
from functools import cache
from importlib.metadata import version
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser import ParserManager
from vllm.tokenizers.hf import get_cached_tokenizer

from bench.clock import now
from bench.rivals.families import ADDED, FIRST_ADDED, OF_FORMAT, TOOL
from bench.rivals.frames_vllm import Framer as FramerOf
from bench.rivals.said import Said

NAME, VERSION = "vLLM", version("vllm")


@cache
def tokenizer(ranks: str) -> Any:
    """A tokenizer of transformers that knows each token and can decode; it has no merges, so it cannot encode text."""
    with open(ranks, "rb") as file:
        pairs = [line.split() for line in file]
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + at) for at, byte in enumerate(others)}
    vocab = {"".join(letters[byte] for byte in base64.b64decode(token)): int(rank) for token, rank in pairs}
    assert len(vocab) == FIRST_ADDED
    inner = Tokenizer(models.BPE(vocab, []))
    inner.decoder = decoders.ByteLevel()
    inner.add_tokens([AddedToken(marker, special=special, normalized=False) for marker, special in ADDED.items()])
    return get_cached_tokenizer(PreTrainedTokenizerFast(tokenizer_object=inner))


@cache
def parser_class(format: str) -> Any:
    names = OF_FORMAT[format].vllm
    return ParserManager.get_parser(
        tool_parser_name=names.tools, reasoning_parser_name=names.reasoning, enable_auto_tools=names.tools is not None
    )


@cache
def request() -> Any:
    return ChatCompletionRequest(
        model="model", messages=[{"role": "user", "content": "Go!"}], tools=[TOOL], tool_choice="auto", stream=True
    )


def Framer(stream: dict[str, Any], ranks: str) -> FramerOf:  # noqa: N802 - a side's other reader
    if stream["format"] == "harmony":
        names = {"tool_parser_name": "openai", "reasoning_parser_name": "openai_gptoss", "is_harmony": True}
        served = ParserManager.get_parser(**names, enable_auto_tools=True)
    else:
        served = parser_class(stream["format"])
    return FramerOf(stream, served, tokenizer(ranks), request())


class Reader:
    """Reads one stream, again and again. `ranks` is the file of o200k_base."""

    def __init__(self, stream: dict[str, Any], ranks: str) -> None:
        self._make = lambda: parser_class(stream["format"])(tokenizer(ranks), request().tools, chat_template_kwargs={})
        self._deltas = list(zip(stream["texts"], ([tid] for tid in stream["ids"])))
        self._prompt = stream["prompt"]

    def read(self) -> float:
        """Nanoseconds per token."""
        asked, prompt, step = request(), self._prompt, self._make().parse_delta
        *deltas, (text, ids) = self._deltas
        started = now()
        for delta, tid in deltas:
            step(delta, tid, asked, prompt, finished=False)
        step(text, ids, asked, prompt, finished=True)
        return (now() - started) / len(self._deltas)

    def check(self) -> tuple[Said, float]:
        """The same, noting what is said."""
        asked, prompt, step = request(), self._prompt, self._make().parse_delta
        said = Said()
        last = len(self._deltas) - 1
        started = now()
        for at, (delta, tid) in enumerate(self._deltas):
            message = step(delta, tid, asked, prompt, finished=at == last)
            if message is not None:
                said.text(message.reasoning, message.content)
                for call in message.tool_calls or ():
                    said.call(
                        call.index, call.function and call.function.name, call.function and call.function.arguments
                    )
        return said, (now() - started) / len(self._deltas)
