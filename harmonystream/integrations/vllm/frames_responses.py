"""vLLM's streams of Responses, with frames that our emitter writes from vLLM's outputs.

vLLM's generator of Responses returns event objects, which its route turns into frames. Each object has a type, and
writes itself as JSON. Ours have the same interface, and contain one or more frames.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from vllm.entrypoints.openai.responses.context import SimpleContext
from vllm.entrypoints.openai.responses.protocol import ResponsesResponse

from ...emit import ResponsesStream
from ..counters import count_error, count_repairs, count_stream
from ..held_logprobs import HeldLogprobs
from ..model import parser_for
from .direct import Begin, Direct, begin
from .output import Feed
from .unified import HarmonystreamParser

__all__ = ["ResponsesFrames"]

_log = logging.getLogger("vllm.harmonystream")


class ResponsesFrames:
    """The frames of the serving object of Responses."""

    def __init__(self, serving: Any) -> None:
        self._serving, self._stock = serving, serving.responses_stream_generator
        self._logged: set[str] = set()

    def generate(
        self,
        request: Any,
        sampling_params: Any,
        results: AsyncIterator[Any],
        context: Any,
        model: str,
        tokenizer: Any,
        *args: Any,
        **more: Any,
    ) -> AsyncIterator[Any]:
        """The signature is vLLM's, which continues with (metadata, created_time)."""
        try:
            reason = _left_to_vllm(self._serving, request, context)
            if reason is None:
                response = _Response(self._serving, request, sampling_params, context, model, tokenizer)
                return self._frames(response, results, begin(self._serving))
        except Exception as error:  # an error of ours, before anything is sent
            count_error("frames of Responses")
            reason = f"an error of harmonystream's: {error!r}"
        count_stream("stock")
        if reason not in self._logged:
            self._logged.add(reason)
            _log.info("harmonystream_frames: vLLM streams Responses with %s", reason)
        stock: AsyncIterator[Any] = self._stock(
            request, sampling_params, results, context, model, tokenizer, *args, **more
        )
        return stock

    async def _frames(
        self, response: _Response, results: AsyncIterator[Any], begin_direct: Begin
    ) -> AsyncIterator[_Events]:
        direct, begun = None, False
        yield _Events(response.stream.start())
        try:
            async for step in results:
                if step.last_output is None or not step.last_output.outputs:
                    continue
                if direct is not None:
                    await direct.settle()
                elif not begun:
                    direct, begun = response.direct(begin_direct, step.last_output), True
                    count_stream("frames" if direct is None else "direct")
                if frames := response.take(step.last_output.outputs[0]):
                    yield _Events(frames)
                if direct is not None:
                    direct.resume()
        except Exception as error:
            _log.exception("harmonystream_frames: a stream has ended with an error")
            if direct is not None:
                await direct.settle(raises=False)
            refusal = self._serving.create_error_response(error).error
            if frames := response.stream.error(refusal.message, type=refusal.type):
                yield _Events(frames)
        finally:
            if direct is not None:
                direct.close()


class _Response:
    """One response: reads its outputs, and writes their frames."""

    def __init__(
        self, serving: Any, request: Any, sampling_params: Any, context: Any, model: str, tokenizer: Any
    ) -> None:
        self._serving, self._request, self._context, self._tokenizer = serving, request, context, tokenizer
        ours: HarmonystreamParser = context.response_parser
        created = int(time.time())
        begun = ResponsesResponse.from_request(request, sampling_params, model, created, [], "in_progress")
        asked = begun.model_dump(mode="json", by_alias=True)
        self.stream = ResponsesStream(
            parser_for(ours.model, ours.tools, ours.prompt),
            id=request.request_id,
            model=model,
            created=created,
            request=asked if request.tools else {**asked, "tool_choice": "none"},  # so that no call is shown
            reasoning="text" if request.include_reasoning else False,
        )
        self._feed = Feed(ours.model, request)
        self._logprobs = HeldLogprobs() if request.is_include_output_logprobs() else None

    def direct(self, begin_direct: Begin, result: Any) -> Direct | None:
        """Reads and sends the outputs after the first one, unless they must go the usual way."""
        return begin_direct(result, self._read, not self._feed.reads_all) if self._logprobs is None else None

    def _read(self, _: int, ids: Sequence[int], text: str) -> bytes:
        """The frames of an output that the context does not see."""
        self._context.num_output_tokens += len(ids)
        kept = ids if self._feed.reads_all else self._feed.take(ids, text, last=False)
        return self.stream.feed(kept[0] if len(kept) == 1 else kept)

    def take(self, output: Any) -> bytes:
        """The frames of an output that the context has counted."""
        self._serving._raise_if_error(output.finish_reason, self._request.request_id)
        last = output.finish_reason is not None
        ids = list(output.token_ids)
        kept = self._feed.take(ids, output.text, last=last)
        if self._logprobs is not None:
            top = self._request.top_logprobs
            self._logprobs.add(ids, self._serving._create_response_logprobs(ids, output.logprobs, self._tokenizer, top))
            frames = self._logprobs.feed(self.stream, kept)
        else:
            frames = self.stream.feed(kept) if kept else b""
        if last:
            count_repairs(self.stream.parser)
            frames += self.stream.finish(output.finish_reason, _usage(self._context))
        return frames


class _Events:
    """vLLM's route writes `event: {type}` and `data: {model_dump_json()}`. Here they contain finished frames."""

    def __init__(self, frames: bytes) -> None:
        head, _, rest = frames.decode().partition("\ndata: ")
        self.type = head.removeprefix("event: ")
        self._rest = rest.removesuffix("\n\n")

    def model_dump_json(self, **_: Any) -> str:
        return self._rest


def _left_to_vllm(serving: Any, request: Any, context: Any) -> str | None:
    """The reason why vLLM answers this request."""
    if not isinstance(context, SimpleContext):
        return "a context that runs tools"
    if not isinstance(context.response_parser, HarmonystreamParser):
        return "another parser"
    for name in ("store", "background", "enable_response_messages", "kv_transfer_params"):
        if getattr(request, name, None):
            return name
    if any(tool.type != "function" for tool in request.tools):
        return "tools that are not functions"
    if serving.enable_log_outputs and serving.request_logger:
        return "--enable-log-outputs"
    return "--enable-per-request-metrics" if serving.enable_per_request_metrics else None


def _usage(context: Any) -> dict[str, Any]:
    prompt, output = context.num_prompt_tokens, context.num_output_tokens
    details = {"cached_tokens": context.num_cached_tokens}
    return {
        "input_tokens": prompt,
        "output_tokens": output,
        "total_tokens": prompt + output,
        "input_tokens_details": details,
    }
