"""A plug-in for vLLM's streams: our emitters write the frames from vLLM's outputs.

It replaces one method on each of three serving objects, which turns outputs into frames. Everything before is vLLM's:
the request, the prompt, the engine. If a request asks for something that our emitters do not write, the original method
answers it, and each reason is logged once. Responses are in `frames_responses`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple, Protocol

from vllm.entrypoints.anthropic.protocol import translate_error_type
from vllm.entrypoints.openai.chat_completion.message_assembly import keeps_tool_calls
from vllm.entrypoints.serve.engine.protocol import CompletionTokenUsageInfo, UsageInfo
from vllm.entrypoints.serve.utils.api_utils import should_include_usage
from vllm.renderers.chat_utils import get_tool_call_id_type

from ...emit import ChatStream, MessagesStream, call_ids_of
from ..chunk_logprobs import ChunkLogprobs
from ..counters import count_error, count_repairs, count_stream
from ..model import parser_for
from .direct import Begin, Direct, begin, is_direct, note_requests
from .fits import fits
from .output import Feed
from .unified import HarmonystreamParser

__all__ = ["install"]

_log = logging.getLogger("vllm.harmonystream")


def install(state: Any) -> None:
    """Put our generators into the serving objects. state: that of vLLM's application."""
    for name, writer in (("openai_serving_chat", _ChatWriter), ("anthropic_serving_messages", _MessagesWriter)):
        serving = getattr(state, name, None)
        if serving is None:
            continue
        if serving.parser_cls is None or not issubclass(serving.parser_cls, HarmonystreamParser):
            _log.warning("harmonystream_frames: the parsers of this server are not harmonystream's; vLLM streams")
            return
        serving.chat_completion_stream_generator = _Frames(serving, writer).generate
        if is_direct():
            note_requests(serving, "create_chat_completion")
    responses = getattr(state, "openai_serving_responses", None)
    if responses is not None and fits("frames of Responses"):
        from .frames_responses import ResponsesFrames

        responses.responses_stream_generator = ResponsesFrames(responses).generate
        if is_direct():
            note_requests(responses, "create_responses")


class _Answer(NamedTuple):
    """The arguments of a writer. `taken`: the call ids that the conversation already has."""

    id: str
    model: str
    prompt_tokens: int
    shows_calls: bool
    taken: Any = ()


class _Writer(Protocol):
    """The streams of one response, for all of its choices."""

    choices: list[Any]

    def __init__(self, serving: Any, request: Any, parsers: list[Any], answer: _Answer) -> None: ...
    def start(self) -> bytes: ...
    def finish(self, index: int, output: Any, usage: dict[str, Any] | None) -> bytes: ...
    def error(self, info: Any) -> bytes:
        """info: vLLM's ErrorInfo."""

    @staticmethod
    def refusal(id: str, model: str, info: Any) -> bytes:
        """All frames of a stream that the engine refused before its first output."""


class _Frames:
    """The frames of one vLLM serving object."""

    def __init__(self, serving: Any, writer: type[_Writer]) -> None:
        self._serving, self._writer = serving, writer
        self._stock = serving.chat_completion_stream_generator
        self._logged: set[str] = set()

    def generate(self, request: Any, results: AsyncIterator[Any], *args: Any, **more: Any) -> AsyncIterator[Any]:
        """The signature is vLLM's: (request, results, request_id, model, conversation, tokenizer, metadata)."""
        try:
            reason = _left_to_vllm(self._serving, request, messages=self._writer is _MessagesWriter)
            if reason is None:
                return self._frames(request, results, args, more, begin(self._serving))
        except Exception as error:  # an error of ours, before anything is sent
            count_error("frames")
            reason = f"an error of harmonystream's: {error!r}"
        return self._left(request, results, args, more, reason)

    def _left(
        self, request: Any, results: AsyncIterator[Any], args: tuple[Any, ...], more: dict[str, Any], reason: str
    ) -> AsyncIterator[Any]:
        """vLLM's own frames. Each reason is logged once."""
        count_stream("stock")
        if reason not in self._logged:
            self._logged.add(reason)
            _log.info("harmonystream_frames: vLLM streams requests with %s", reason)
        stock: AsyncIterator[Any] = self._stock(request, results, *args, **more)
        return stock

    async def _frames(
        self,
        request: Any,
        results: AsyncIterator[Any],
        args: tuple[Any, ...],
        more: dict[str, Any],
        begin_direct: Begin,
    ) -> AsyncIterator[bytes]:
        request_id, model, _, tokenizer, metadata = args[:5]
        serving, response, direct = self._serving, None, None
        try:
            async for result in results:
                if response is None:
                    try:
                        response = _Response(serving, request, result, request_id, model, tokenizer, self._writer)
                        opening = response.writer.start()
                    except Exception as error:  # an error of ours, before anything was sent
                        count_error("frames")
                        reason = f"an error of harmonystream's: {error!r}"
                        async for frame in self._left(request, _again(result, results), args, more, reason):
                            yield frame
                        return
                    yield opening
                    plain, counts = response.plain, response.counts
                    direct = response.direct(begin_direct, result)
                    count_stream("frames" if direct is None else "direct")
                elif direct is not None:
                    await direct.settle()
                for output in result.outputs:
                    index, ids = output.index, output.token_ids
                    # the usual output of a stream; calling a function would cost as much as reading it
                    if output.finish_reason is None and len(ids) == 1 and (feed := plain[index]) is not None:
                        counts[index] += 1
                        frames = feed(ids[0])
                    else:
                        frames = response.take(output)
                    if frames:
                        yield frames
                if direct is not None:
                    direct.resume()
            if response is not None:
                metadata.final_usage_info = response.usage_info()
        except Exception as error:
            _log.exception("harmonystream_frames: a stream has ended with an error")
            if direct is not None:
                await direct.settle(raises=False)
            info = serving.create_error_response(error).error
            yield response.writer.error(info) if response is not None else self._writer.refusal(request_id, model, info)
        finally:
            if direct is not None:
                direct.close()


async def _again(first: Any, rest: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The item that was taken from an iterator, and the rest of it."""
    yield first
    async for each in rest:
        yield each


_UNSAID = (
    *("echo", "return_token_ids", "return_prompt_text", "return_weight_versions", "logprob_token_ids"),
    *("kv_transfer_params", "use_beam_search"),
)
"""Fields that ask for something that our emitters do not write."""


def _left_to_vllm(serving: Any, request: Any, *, messages: bool) -> str | None:
    """The reason why vLLM answers this request."""
    for name in _UNSAID:
        if getattr(request, name, None):
            return name
    if not request.add_generation_prompt:
        return "add_generation_prompt=false"
    if serving.enable_log_outputs and serving.request_logger:
        return "--enable-log-outputs"
    if serving.enable_per_request_metrics:
        return "--enable-per-request-metrics"
    continuous = should_include_usage(request.stream_options, serving.enable_force_include_usage)[1]
    return "continuous_usage_stats" if continuous and not messages else None


class _Response:
    """One response: its feeds, which end at stop strings, and the writer of its frames."""

    def __init__(
        self,
        serving: Any,
        request: Any,
        first: Any,
        id: str,
        model: str,
        tokenizer: Any,
        writer: type[_Writer],
    ) -> None:
        self._serving = serving
        ours: HarmonystreamParser = serving.parser_cls(tokenizer, request.tools)
        self._prompt = first.prompt_token_ids or []
        self._cached = first.num_cached_tokens
        count = request.n or 1
        self.counts = [0] * count
        self._open = count
        self._feeds = [Feed(ours.model, request) for _ in range(count)]
        self._request, self._tokenizer = request, tokenizer
        # Logprobs of hidden reasoning would reveal it. So vLLM sends none then, and neither do we.
        logprobs = request.logprobs and request.include_reasoning
        self._logprobs = [ChunkLogprobs() for _ in range(count)] if logprobs else None
        parsers = [parser_for(ours.model, ours.tools, self._prompt) for _ in range(count)]
        self.parsers = parsers
        shown = keeps_tool_calls(request, enable_auto_tools=serving.enable_auto_tools, parser_cls=serving.parser_cls)
        answer = _Answer(id, model, len(self._prompt), shown)
        if get_tool_call_id_type(serving.model_config) == "kimi_k2":  # its ids count from 0 in each turn
            answer = answer._replace(taken=call_ids_of([dict(message) for message in request.messages]))
        self.writer = writer(serving, request, parsers, answer)
        # The functions that read a single id of each choice, where nothing else needs to be done for it.
        plain = [self._logprobs is None and feed.reads_all for feed in self._feeds]
        self.plain: list[Callable[[Any], bytes] | None] = [
            stream.feed if all_ids else None for stream, all_ids in zip(self.writer.choices, plain)
        ]

    def direct(self, begin_direct: Begin, result: Any) -> Direct | None:
        """Reads and sends the outputs after the first one, unless they must go the usual way."""
        texts = not self._feeds[0].reads_all
        return begin_direct(result, self._read, texts) if self._logprobs is None else None

    def _read(self, index: int, ids: Sequence[int], text: str) -> bytes:
        """The frames of an output that is not the last one, and has no log probabilities."""
        count = len(ids)
        self.counts[index] += count
        if (feed := self.plain[index]) is not None:
            return feed(ids[0] if count == 1 else ids)
        kept = self._feeds[index].take(ids, text, last=False)
        return self.writer.choices[index].feed(kept) if kept else b""

    def take(self, output: Any) -> bytes:
        """The frames of any output."""
        index, ids = output.index, list(output.token_ids)
        last = output.finish_reason is not None
        self._serving._raise_if_error(output.finish_reason, None)
        self.counts[index] += len(ids)
        kept = self._feeds[index].take(ids, output.text, last=last)
        if self._logprobs is None:
            frames = self.writer.choices[index].feed(kept) if kept else b""
        else:
            self._logprobs[index].add(ids, self._objects_of(ids, output.logprobs))
            frames = self._logprobs[index].feed(self.writer.choices[index], kept)
        if last:
            self._open -= 1
            ends = self.writer.finish(index, output, None if self._open else self._usage())
            count_repairs(self.parsers[index])
            frames += ends if self._logprobs is None else self._logprobs[index].rest(ends)
        return frames

    def _objects_of(self, ids: list[int], logprobs: Any) -> Sequence[Any]:
        """The API's objects, one for each id, as vLLM makes them."""
        if logprobs is None:
            raise ValueError("the engine has returned no log probabilities, though the request asks for them")
        request = self._request
        made: Sequence[Any] = self._serving._create_chat_logprobs(
            token_ids=ids,
            top_logprobs=logprobs,
            tokenizer=self._tokenizer,
            num_output_top_logprobs=request.top_logprobs,
            return_as_token_id=request.return_tokens_as_token_ids,
        ).content
        return made

    def _usage(self) -> dict[str, Any]:
        total = sum(self.counts)
        prompt = len(self._prompt)
        usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": total, "total_tokens": prompt + total}
        if self._serving.enable_prompt_tokens_details and self._cached is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": self._cached}
        return usage

    def usage_info(self) -> UsageInfo:
        """The usage that vLLM's middleware reports for the request."""
        reasoning = sum(parser.usage.reasoning for parser in self.parsers)
        return UsageInfo(
            **self._usage(), completion_tokens_details=CompletionTokenUsageInfo(reasoning_tokens=reasoning)
        )


class _ChatWriter:
    def __init__(self, serving: Any, request: Any, parsers: list[Any], answer: _Answer) -> None:
        usage = should_include_usage(request.stream_options, serving.enable_force_include_usage)[0]
        choice = request.tool_choice
        fingerprint = serving.system_fingerprint
        self.choices = ChatStream.several(
            parsers,
            id=answer.id,
            model=answer.model,
            created=int(time.time()),
            reasoning_field="reasoning" if request.include_reasoning else None,
            tool_choice=choice if answer.shows_calls else "none",
            parallel_tool_calls=request.parallel_tool_calls,
            include_usage=usage,
            taken=answer.taken,
            extra=None if fingerprint is None else {"system_fingerprint": fingerprint},
        )

    def start(self) -> bytes:
        return b"".join([stream.start() for stream in self.choices])

    def finish(self, index: int, output: Any, usage: dict[str, Any] | None) -> bytes:
        return self.choices[index].finish(output.finish_reason, usage, stop_reason=output.stop_reason)

    def error(self, info: Any) -> bytes:
        return next((s.error(info.message, type=info.type) for s in self.choices if not s.ended), b"")

    @staticmethod
    def refusal(id: str, model: str, info: Any) -> bytes:
        return ChatStream(id=id, model=model, created=int(time.time())).error(info.message, type=info.type)


class _MessagesWriter:
    """The writer for Messages, which has one choice."""

    def __init__(self, serving: Any, request: Any, parsers: list[Any], answer: _Answer) -> None:
        choice: dict[str, Any] = {"type": "auto"} if answer.shows_calls else {"type": "none"}
        if request.parallel_tool_calls is False:
            choice["disable_parallel_tool_use"] = True
        self.choices = [
            MessagesStream(
                parsers[0],
                id=answer.id,
                model=answer.model,
                usage={"input_tokens": answer.prompt_tokens},
                thinking=request.include_reasoning,
                tool_choice=choice,
                taken=answer.taken,
            )
        ]

    def start(self) -> bytes:
        return self.choices[0].start()

    def finish(self, index: int, output: Any, usage: dict[str, Any] | None) -> bytes:
        stop = output.stop_reason if isinstance(output.stop_reason, str) else None
        return self.choices[0].finish(output.finish_reason, usage, stop_sequence=stop)

    def error(self, info: Any) -> bytes:
        return self.choices[0].error(info.message, type=translate_error_type(info.code))

    @staticmethod
    def refusal(id: str, model: str, info: Any) -> bytes:
        return MessagesStream(id=id, model=model).error(info.message, type=translate_error_type(info.code))
