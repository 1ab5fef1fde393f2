"""Token id -> SSE bytes with vLLM: `chat_completion_stream_generator` of its chat server, as it stands.

It takes the engine's outputs and yields frames: `parse_delta`, pydantic models of the delta, the choice and the chunk,
`model_dump_json`. The outputs are there before the clock starts. Runs in the rivals' environment; nothing is started.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from vllm.entrypoints.openai.chat_completion.serving import OpenAIServingChat
from vllm.outputs import CompletionOutput, RequestOutput

from bench.clock import now
from bench.rivals.said import Said, said_in


def server(parser_class: Any) -> Any:
    """vLLM's, with what its generator reads, as it is by default; the engine and the renderer it does without."""
    chat = object.__new__(OpenAIServingChat)
    chat.parser_cls, chat.model_config, chat.response_role = parser_class, None, "assistant"
    chat.enable_auto_tools = chat._include_reasoning_tokens_details = True
    chat.enable_force_include_usage = chat.enable_prompt_tokens_details = chat.enable_per_request_metrics = False
    chat.enable_log_outputs, chat.request_logger, chat.system_fingerprint = False, None, None
    return chat


def output(text: str, tid: int, prompt: list[int], last: bool) -> Any:
    said = CompletionOutput(0, text, [tid], None, None, finish_reason="stop" if last else None)
    return RequestOutput("1", None, prompt, None, [said], last)


class Framer:
    """Makes the response of one stream, again and again."""

    def __init__(self, stream: dict[str, Any], parser_class: Any, tokenizer: Any, request: Any) -> None:
        self._server, self._tokenizer, self._request = server(parser_class), tokenizer, request
        texts, ids, prompt = stream["texts"], stream["ids"], stream["prompt"]
        self._body, self._whole = stream["body"], stream["whole"]
        self._outputs = [output(text, tid, prompt, at == len(ids)) for at, (text, tid) in enumerate(zip(texts, ids), 1)]

    async def _engine(self) -> AsyncIterator[Any]:
        """Notes when it is asked for the first token of the body, and for the one behind it."""
        begin, end = self._body
        for made in self._outputs[:begin]:
            yield made
        self._started = now()
        for made in self._outputs[begin:end]:
            yield made
        self._ended = now()
        for made in self._outputs[end:]:
            yield made

    async def _answer(self, kept: list[bytes] | None) -> None:
        frames = self._server.chat_completion_stream_generator(
            self._request,
            self._engine(),
            "chatcmpl-1",
            "model",
            [],
            self._tokenizer,
            SimpleNamespace(final_usage_info=None),
            chat_template_kwargs={},
        )
        async for frame in frames:
            data = frame.encode()
            if kept is not None:
                kept.append(data)

    def read(self, kept: list[bytes] | None = None) -> float:
        """Nanoseconds per token. Nothing in it waits, so it needs no event loop."""
        begin, end = self._body
        started = now()
        try:
            self._answer(kept).send(None)
        except StopIteration:
            took = now() - started
            return took / len(self._outputs) if self._whole else (self._ended - self._started) / (end - begin)
        raise RuntimeError("it waits for something")

    def check(self) -> tuple[Said, float]:
        """The same, noting what is said."""
        frames: list[bytes] = []
        took = self.read(frames)
        return said_in(frames), took
