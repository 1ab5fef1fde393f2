"""SGLang's streams of Chat Completions, with frames that our emitter writes from the engine's outputs.

It replaces one method of SGLang, which makes the stream of a request. Everything before is SGLang's: the request, the
prompt, the engine. If a request asks for something that our emitter does not write, SGLang answers it, and each reason
is logged once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus
from typing import Any

from fastapi.responses import StreamingResponse
from sglang.srt.entrypoints.openai.usage_processor import UsageProcessor
from sglang.srt.entrypoints.openai.utils import should_include_usage
from sglang.srt.runtime_context import get_serving

from ...emit import ChatStream
from ..chunk_logprobs import ChunkLogprobs
from ..counters import count_repairs, count_stream
from .adapter import Adapter

__all__ = ["Frames"]

_log = logging.getLogger("sglang.harmonystream")

_UNSAID = (
    *("return_hidden_states", "return_routed_experts", "return_cached_tokens_details"),
    *("return_spec_tokens_details", "return_prompt_token_ids", "return_token_ids", "return_meta_info"),
    *("return_input_ids_in_sglext", "return_output_ids_in_sglext", "return_sampling_mask"),
    *("return_flat_raw_output_top_logprobs", "continue_final_message"),
)
"""Fields that ask for something that our emitter does not write."""


class Frames:
    """The frames of one SGLang serving object."""

    def __init__(self, serving: Any, adapter: Adapter) -> None:
        self._serving, self._adapter = serving, adapter
        self._logged: set[str] = set()

    def can_write(self, request: Any) -> bool:
        """Do we write the stream of this request?"""
        reason = _left_to_sglang(request)
        if reason is not None:
            count_stream("stock")
        if reason is not None and reason not in self._logged:
            self._logged.add(reason)
            _log.info("harmonystream_frames: SGLang streams requests with %s", reason)
        return reason is None

    async def response(self, adapted_request: Any, request: Any, raw_request: Any) -> Any:
        """SGLang's own response. It has the status 400 if the engine refuses the request before its first output."""
        manager = self._serving.tokenizer_manager
        frames = self.frames(manager.generate_request(adapted_request, raw_request), request)
        try:
            first = await anext(frames)
        except ValueError as error:
            return self._serving.create_error_response(str(error))
        return StreamingResponse(
            _from(first, frames),
            media_type="text/event-stream",
            background=manager.create_abort_task(adapted_request),
        )

    async def frames(self, outputs: AsyncIterator[dict[str, Any]], request: Any) -> AsyncIterator[bytes]:
        """outputs: the engine's. Exceptions before the first output are raised."""
        response: _Response | None = None
        try:
            async for content in outputs:
                if response is None:
                    response = _Response(self._serving, self._adapter, request, content["meta_info"]["id"])
                    yield response.start()
                    count_stream("frames")
                if made := response.take(content):
                    yield made
                if response.failed:
                    return
        except ValueError as error:
            if response is None:
                raise
            yield response.error(str(error), "BadRequestError")


async def _from(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for frames in rest:
        yield frames


def _left_to_sglang(request: Any) -> str | None:
    """The reason why SGLang answers this request."""
    for name in _UNSAID:
        if getattr(request, name, None):
            return name
    for name in ("separate_reasoning", "stream_reasoning"):
        if not getattr(request, name):
            return f"{name}=false"
    serving = get_serving()
    if serving.return_input_ids or serving.return_output_ids:
        return "--return-input-ids or --return-output-ids"
    continuous = should_include_usage(request.stream_options, serving.stream_response_default_include_usage)[1]
    return "continuous_usage_stats" if continuous else None


class _Response:
    """All choices of one response."""

    failed = False
    """Has the engine ended it by an error?"""

    def __init__(self, serving: Any, adapter: Adapter, request: Any, id: str) -> None:
        self._serving, self._count = serving, request.n
        self._readers = [adapter.chat_reader(request) for _ in range(request.n)]
        self._last: dict[int, dict[str, Any]] = {}  # the engine's last output of each choice that has ended
        self._logprobs = [_Logprobs(serving) for _ in range(request.n)] if request.logprobs else None
        default = get_serving().stream_response_default_include_usage
        self._streams = ChatStream.several(
            [reader.parser for reader in self._readers],
            id=id,
            model=request.model,
            created=int(time.time()),
            reasoning_field="reasoning_content",
            tool_choice="auto" if serving._tool_call_parsing_active(request) else "none",
            parallel_tool_calls=request.parallel_tool_calls,
            include_usage=should_include_usage(request.stream_options, default)[0],
        )

    def start(self) -> bytes:
        return b"".join([stream.start() for stream in self._streams])

    def take(self, content: dict[str, Any]) -> bytes:
        """The frames of one output of the engine."""
        index, about = content.get("index", 0), content["meta_info"]
        finish = about.get("finish_reason")
        if not finish:
            return self._feed(content, index, None)
        reason = finish["type"]
        if reason == "abort" and isinstance(finish.get("status_code"), HTTPStatus):
            return self.error(finish.get("message", "Generation aborted."), finish["status_code"].name)
        self._last[index] = about
        frames: bytes = self._feed(content, index, reason)
        usage = self._usage() if len(self._last) == self._count else None
        ends: bytes = self._streams[index].finish(reason, usage, stop_reason=finish.get("matched"))
        count_repairs(self._readers[index].parser)
        return frames + (ends if self._logprobs is None else self._logprobs[index].rest(ends))

    def _feed(self, content: dict[str, Any], index: int, finish_reason_type: str | None) -> bytes:
        stream, ids = self._streams[index], self._readers[index].take(content, finish_reason_type)
        if self._logprobs is not None:
            return self._logprobs[index].feed(stream, ids, content)
        frames: bytes = stream.feed(ids) if ids else b""
        return frames

    def error(self, message: str, kind: str) -> bytes:
        self.failed = True
        for stream in self._streams:
            if not stream.ended:
                return stream.error(message, type=kind)
        return b""

    def _usage(self) -> dict[str, Any]:
        def of(name: str) -> dict[int, int]:
            return {index: about.get(name, 0) for index, about in self._last.items()}

        prompt = {index: self._serving._reported_prompt_tokens(about) for index, about in self._last.items()}
        info = UsageProcessor.calculate_streaming_usage(
            prompt,
            of("reasoning_tokens"),
            of("completion_tokens"),
            cached_tokens=of("cached_tokens"),
            n_choices=self._count,
            enable_cache_report=get_serving().enable_cache_report,
            **{f"{kind}_tokens": self._first(f"{kind}_tokens") for kind in ("image", "audio", "video")},
        )
        usage: dict[str, Any] = info.model_dump(exclude_none=True)
        return usage

    def _first(self, name: str) -> int:
        """A count for the prompt, which all choices share."""
        tokens: int = self._last[0].get(name, 0)
        return tokens


class _Logprobs:
    """The log probabilities of one choice."""

    def __init__(self, serving: Any) -> None:
        self._serving, self._held = serving, ChunkLogprobs()
        self._count = 0  # how many the engine has returned

    def feed(self, stream: ChatStream, ids: Sequence[int], content: dict[str, Any]) -> bytes:
        """The result of `stream.feed(ids)`, with log probabilities. `content` has the next ones."""
        about, before = content["meta_info"], self._count
        self._count = about["output_token_logprobs_length"]
        if before < self._count:
            entries = about["output_token_logprobs"]  # (log probability, id, text)
            if not get_serving().incremental_streaming_output:
                entries = entries[before:]
            new = self._count - before  # the lists may be longer by now, because they belong to the request
            logprobs = self._serving._process_streaming_logprobs(content, before, self._count).content
            self._held.add([tid for _, tid, _ in entries[:new]], logprobs[:new])
        return self._held.feed(stream, ids)

    def rest(self, frames: bytes) -> bytes:
        """The last frames, with the log probabilities that no chunk has."""
        return self._held.rest(frames)
