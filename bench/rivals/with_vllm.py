"""vLLM's parsers at work, as its chat server calls them: `parse_delta` of the class that `ParserManager` composes.

Runs in the rivals' environment. Nothing is started: no engine, no model, no server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import rank_file
from tokenizers import AddedToken, Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.entrypoints.openai.chat_completion.serving import OpenAIServingChat
from vllm.outputs import CompletionOutput, RequestOutput
from vllm.parser import ParserManager
from vllm.tokenizers.hf import get_cached_tokenizer

from bench.clock import now
from bench.families import ADDED_IDS, FIRST_ADDED, OF_FORMAT, SPECIAL, TOOL, byte_letters
from bench.rivals.output import Output, output_of, served


@cache
def tokenizer() -> Any:
    """A tokenizer of transformers that knows each token and can decode; it has no merges, so it cannot encode text."""
    letters = byte_letters()
    vocab = {"".join(letters[byte] for byte in token): rank for rank, token in enumerate(rank_file.tokens())}
    assert len(vocab) == FIRST_ADDED
    inner = Tokenizer(models.BPE(vocab, []))
    inner.decoder = decoders.ByteLevel()
    inner.add_tokens([AddedToken(marker, special=marker in SPECIAL, normalized=False) for marker in ADDED_IDS])
    return get_cached_tokenizer(PreTrainedTokenizerFast(tokenizer_object=inner))


@cache
def parser_class(format: str) -> Any:
    if format == "harmony":
        names: dict[str, Any] = {"tool_parser_name": "openai", "reasoning_parser_name": "openai_gptoss"}
        return ParserManager.get_parser(**names, enable_auto_tools=True, is_harmony=True)
    tools, reasoning = OF_FORMAT[format].parsers["vLLM"]
    return ParserManager.get_parser(
        tool_parser_name=tools, reasoning_parser_name=reasoning, enable_auto_tools=tools is not None
    )


@cache
def request() -> Any:
    return ChatCompletionRequest(
        model="model", messages=[{"role": "user", "content": "Go!"}], tools=[TOOL], tool_choice="auto", stream=True
    )


class Reader:
    """Reads one stream, again and again."""

    def __init__(self, stream: dict[str, Any]) -> None:
        self._make = lambda: parser_class(stream["format"])(tokenizer(), request().tools, chat_template_kwargs={})
        ids = [*stream["opening"], *stream["body"], *stream["closing"]]
        self._deltas = list(zip(stream["texts"], ([tid] for tid in ids)))
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

    def check(self) -> tuple[Output, float]:
        """The same, noting the output."""
        asked, prompt, step = request(), self._prompt, self._make().parse_delta
        output = Output()
        last = len(self._deltas) - 1
        started = now()
        for at, (delta, tid) in enumerate(self._deltas):
            note(output, step(delta, tid, asked, prompt, finished=at == last))
        return output, (now() - started) / len(self._deltas)


def note(output: Output, message: Any) -> None:
    """message: what `parse_delta` returned."""
    if message is not None:
        output.text(message.reasoning, message.content)
        for call in message.tool_calls or ():
            function = call.function
            output.call(call.index, function and function.name, function and function.arguments)


def server(parser_class: Any) -> Any:
    """vLLM's server with the default settings that its generator reads; without engine and renderer."""
    chat = object.__new__(OpenAIServingChat)
    chat.parser_cls, chat.model_config, chat.response_role = parser_class, None, "assistant"
    chat.enable_auto_tools = chat._include_reasoning_tokens_details = True
    chat.enable_force_include_usage = chat.enable_prompt_tokens_details = chat.enable_per_request_metrics = False
    chat.enable_log_outputs, chat.request_logger, chat.system_fingerprint = False, None, None
    return chat


def output(text: str, tid: int, prompt: list[int], last: bool) -> Any:
    completion = CompletionOutput(0, text, [tid], None, None, finish_reason="stop" if last else None)
    return RequestOutput("1", None, prompt, None, [completion], last)


class Framer:
    """Token id -> SSE bytes: `chat_completion_stream_generator` of vLLM's chat server, unmodified.

    It takes the engine's outputs and yields frames: `parse_delta`, pydantic models of the delta, the choice and the
    chunk, `model_dump_json`. The outputs are there before the clock starts.
    """

    def __init__(self, stream: dict[str, Any]) -> None:
        self._server = server(parser_class(stream["format"]))
        self._begin, self._whole = len(stream["opening"]), stream["whole"]
        self._end = self._begin + len(stream["body"])
        ids = [*stream["opening"], *stream["body"], *stream["closing"]]
        outputs = enumerate(zip(stream["texts"], ids), 1)
        self._outputs = [output(text, tid, stream["prompt"], at == len(ids)) for at, (text, tid) in outputs]

    async def _engine(self) -> AsyncIterator[Any]:
        """Notes when it is asked for the first token of the body, and for the one after it."""
        for made in self._outputs[: self._begin]:
            yield made
        self._started = now()
        for made in self._outputs[self._begin : self._end]:
            yield made
        self._ended = now()
        for made in self._outputs[self._end :]:
            yield made

    async def _answer(self, kept: list[bytes] | None) -> None:
        frames = self._server.chat_completion_stream_generator(
            request(),
            self._engine(),
            "chatcmpl-1",
            "model",
            [],
            tokenizer(),
            SimpleNamespace(final_usage_info=None),
            chat_template_kwargs={},
        )
        async for frame in frames:
            data = frame if isinstance(frame, bytes) else frame.encode()
            if kept is not None:
                kept.append(data)

    def read(self, kept: list[bytes] | None = None) -> float:
        """Nanoseconds per token. Nothing in it waits, so it needs no event loop."""
        started = now()
        try:
            self._answer(kept).send(None)
        except StopIteration:
            took = now() - started
            return (
                took / len(self._outputs) if self._whole else (self._ended - self._started) / (self._end - self._begin)
            )
        raise RuntimeError("it waits for something")

    def check(self) -> tuple[Output, float]:
        """The same, noting the output."""
        frames: list[bytes] = []
        took = self.read(frames)
        return output_of(frames), took


about, load, again = served("vLLM", version("vllm"), lambda stream: (Framer if stream["framed"] else Reader)(stream))
