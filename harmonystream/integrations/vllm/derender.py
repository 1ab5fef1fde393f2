"""A plug-in for vLLM's derender route. It reads each chunk from the end of the last one, not from the beginning.

vLLM's own route cannot store a parser's state, so it reads all earlier chunks again at each chunk. Here the client
sends our parser's state back, signed, in an additional field of `stream_state`.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import secrets
import time
from typing import Any, NamedTuple

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from vllm.entrypoints.generate.base.protocol import DeltaMessage
from vllm.entrypoints.openai.chat_completion.protocol import (
    ChatCompletionRequest,
    ChatCompletionResponseStreamChoice,
    ChatCompletionStreamResponse,
)
from vllm.entrypoints.openai.chat_completion.stream_processor import ChatStreamProcessor
from vllm.entrypoints.scale_out.derender.api_router import derender_chat_completion
from vllm.entrypoints.scale_out.token_in_token_out.protocol import (
    DerenderChatRequest,
    DerenderChatStreamRequest,
    DerenderStreamState,
)
from vllm.entrypoints.serve.engine.protocol import ErrorResponse, UsageInfo
from vllm.entrypoints.serve.utils.api_utils import validate_json_request
from vllm.parser.utils import count_history_tool_calls
from vllm.renderers import online_derenderer as stock
from vllm.renderers.chat_utils import get_tool_call_id_type, make_tool_call_id

from ..._native.stream.parser import Parser
from ...completion import CallDelta
from ...emit.common.envelope import Saved, pack, unpack
from ...emit.common.payload import to_json
from ...emit.common.state import State, json_object
from ..model import parser_for
from .output import Output
from .unified import HarmonystreamParser

__all__ = ["KEY", "attach_router", "install"]

KEY = "HARMONYSTREAM_DERENDER_KEY"
"""The environment variable of the key that signs states: text of 32 bytes or more, the same in all servers."""
PATH = "/v1/chat/completions/derender"
_API = b"D"

_log = logging.getLogger("vllm.harmonystream")


class StreamState(DerenderStreamState):  # type: ignore[misc]
    """vLLM's own class, whose fields for a parser stay empty, with our field."""

    harmonystream: str | None = None


class StreamRequest(DerenderChatStreamRequest):  # type: ignore[misc]
    """vLLM's own class. `prompt_token_ids` is only needed for the first chunk."""

    stream_state: StreamState | None = None


def attach_router(app: FastAPI) -> None:
    """Put our route before vLLM's."""
    router = APIRouter()
    router.add_api_route(PATH, _route, methods=["POST"], dependencies=[Depends(validate_json_request)])
    app.include_router(router)


def install(state: Any) -> None:
    """Put our reader of chunks into vLLM's derenderer. state: that of vLLM's application."""
    handler = getattr(state, "serving_derender", None)
    if handler is None:
        return
    derenderer = handler.online_derenderer
    if derenderer.parser is None or not issubclass(derenderer.parser, HarmonystreamParser):
        _log.warning("harmonystream_derender: the parsers of this server are not harmonystream's; vLLM derenders")
        return
    derenderer._derender_chat_stream_parsed_async = _Derenderer(derenderer, _key()).chunk


def _key() -> bytes:
    given = os.environ.get(KEY, "").encode()
    if not given:
        _log.warning("%s is not set: the states of this server are of no use to another one, or after a restart", KEY)
        return secrets.token_bytes(32)
    if len(given) < 32:
        raise ValueError(f"{KEY} has {len(given)} bytes, and needs 32 or more")
    return given


async def _route(request: DerenderChatRequest | StreamRequest, raw_request: Request) -> Response:
    if not isinstance(request, StreamRequest):
        whole: Response = await derender_chat_completion(request, raw_request)
        return whole
    handler = getattr(raw_request.app.state, "serving_derender", None)
    if handler is None:
        raise NotImplementedError("The model does not support Chat Completions Derender API")
    if request.stream_state is not None and request.stream_state.harmonystream and request.prompt_token_ids is None:
        request.prompt_token_ids = []
    result = await handler.derender_chat_stream_response(request)
    if isinstance(result, ErrorResponse):
        return JSONResponse(result.model_dump(), result.error.code)
    chunk, state = result
    return Response(
        f'{{"chunk":{chunk.model_dump_json()},"stream_state":{state.model_dump_json()}}}', media_type="application/json"
    )


class _Stream(NamedTuple):
    """The state of a stream between two chunks."""

    request: str
    choice: int
    created: int
    role: bool
    """Has it been sent?"""
    calls: bool
    """Has any?"""
    seen: int
    """That of the deltas."""
    parser: Parser | None


class _Derenderer:
    """Replaces one method of vLLM's derenderer, which still validates requests and resolves logprobs."""

    def __init__(self, derenderer: Any, key: bytes) -> None:
        self._derenderer, self._key = derenderer, key

    async def chunk(
        self,
        parser_cls: type[HarmonystreamParser],
        model: str,
        generate_chunk: Any,
        state: StreamState,
        chat_request: ChatCompletionRequest,
        prompt_tokens: int | None,
        prompt_token_ids: list[int] | None,
    ) -> tuple[ChatCompletionStreamResponse, StreamState]:
        """One chunk, and the state for the next one. Raises ValueError, which becomes a 400, if the state is
        not ours.
        """
        choice = generate_chunk.choices[0] if generate_chunk.choices else None
        parser = parser_cls(
            self._derenderer.renderer.get_tokenizer(),
            chat_request.tools,
            chat_template_kwargs=self._derenderer._resolve_chat_template_kwargs(chat_request),
            model_config=self._derenderer.model_config,
        )
        stream = self._stream(parser, generate_chunk, choice, state)
        read = stream.parser or parser_for(parser.model, parser.tools, prompt_token_ids)
        reason = None if choice is None else choice.finish_reason
        parser.output = Output(parser.model, read, None, stream.seen, reason)
        self._check_length(read, choice, prompt_token_ids)
        made, stream = self._choice(parser, stream, choice, state, chat_request)
        chunk = ChatCompletionStreamResponse(
            id=generate_chunk.request_id,
            created=stream.created,
            model=model,
            choices=made,
            usage=_usage(generate_chunk.usage, prompt_tokens),
            metrics=generate_chunk.metrics,
        )
        context = stock._logprob_context_tail(state.logprob_context_token_ids, choice.token_ids or [] if choice else [])
        signed = self._signed(stream._replace(seen=parser.output.deltas.seen), read)
        return chunk, StreamState(logprob_context_token_ids=context, role_sent=stream.role, harmonystream=signed)

    def _choice(
        self,
        parser: HarmonystreamParser,
        stream: _Stream,
        choice: Any,
        state: StreamState,
        request: ChatCompletionRequest,
    ) -> tuple[list[ChatCompletionResponseStreamChoice], _Stream]:
        if choice is None:
            return [], stream
        processor = ChatStreamProcessor(
            request, parser, enable_auto_tools=self._derenderer.enable_auto_tools, parser_cls=type(parser)
        )
        processor.tools_streamed = stream.calls
        self._name_calls(parser, stream, request)
        ids = choice.token_ids or []
        kept, stop_reason = self._derenderer._drop_stop_token(ids, choice.finish_reason, choice.stop_reason, request)
        if ids and ids[-1] in parser.model.markup.stops:
            kept = ids  # a marker of the format, which shows how a message ends
        delta, reason = None, None
        if ids or choice.finish_reason is not None:
            delta, reason = processor.step("", kept, choice.finish_reason, None)
        delta = DeltaMessage() if delta is None else delta
        if not stream.role:
            delta.role = "assistant"
        logprobs = None
        if choice.logprobs is not None and not processor.hide_metadata:
            logprobs = stock._resolve_logprobs(
                choice.logprobs,
                parser.model_tokenizer,
                initial_context_token_ids=state.logprob_context_token_ids,
                top_limit=stock._chat_top_logprobs_limit(request),
            )
        made = ChatCompletionResponseStreamChoice(
            index=choice.index,
            delta=delta,
            logprobs=logprobs,
            finish_reason=reason,
            stop_reason=stop_reason,
            token_ids=ids if request.return_token_ids and not processor.hide_metadata else None,
        )
        return [made], stream._replace(choice=choice.index, role=True, calls=processor.tools_streamed)

    def _name_calls(self, parser: HarmonystreamParser, stream: _Stream, request: ChatCompletionRequest) -> None:
        """Set ids that a repeated chunk gets again."""
        kind = get_tool_call_id_type(self._derenderer.model_config)

        def call_id(call: CallDelta) -> str:
            if kind == "kimi_k2":
                before = count_history_tool_calls(request)
                return str(make_tool_call_id(kind, func_name=call.name, idx=before + call.index))
            digest = hashlib.sha256(f"{stream.request}\0{stream.choice}\0{call.index}".encode())
            return f"chatcmpl-tool-{digest.hexdigest()[:16]}"

        parser.call_id = call_id  # type: ignore[method-assign]

    def _check_length(self, parser: Parser, choice: Any, prompt: list[int] | None) -> None:
        length = parser.usage.total + len(prompt or ()) + len(choice.token_ids or () if choice else ())
        limit = self._derenderer.model_config.max_model_len
        if length > limit:
            raise ValueError(f"the prompt and the output are longer than max_model_len ({length} of {limit} tokens)")

    # --- the state ---

    def _stream(self, parser: HarmonystreamParser, generate_chunk: Any, choice: Any, state: StreamState) -> _Stream:
        request, index = generate_chunk.request_id, 0 if choice is None else choice.index
        if not isinstance(state, StreamState) or not state.harmonystream:
            if isinstance(state, StreamState) and (state.output_token_ids or state.role_sent):
                raise ValueError("stream_state is not harmonystream's: the stream has begun on another kind of server")
            return _Stream(request, index, int(time.time()), False, False, 0, None)
        saved = unpack(base64.b64decode(state.harmonystream, validate=True), self._key)
        if saved.api != _API:
            raise ValueError("stream_state is that of another kind of stream")
        fields = State(json_object(saved.state))
        model = parser.model
        read = Parser.from_bytes(saved.parser, model.vocab, format=model.format, tools=parser.tools)
        counts, flags = (fields.count("choice"), fields.count("created")), (fields.flag("role"), fields.flag("calls"))
        stream = _Stream(fields.text("request"), *counts, *flags, fields.count("seen"), read)
        if (stream.request, stream.choice) != (request, index if choice is not None else stream.choice):
            raise ValueError("stream_state is that of another request, or of another choice")
        return stream

    def _signed(self, stream: _Stream, parser: Parser) -> str:
        fields = stream._asdict()
        del fields["parser"]
        text = to_json(fields).encode()
        data = pack(Saved(_API, False, 0, parser.to_bytes(), b"", text, b"", b""), self._key)
        return base64.b64encode(data).decode()


def _usage(usage: Any, prompt_tokens: int | None) -> UsageInfo | None:
    if usage is None:
        return None
    prompt = prompt_tokens if prompt_tokens is not None else usage.prompt_tokens or 0
    output = usage.completion_tokens or 0
    return UsageInfo(prompt_tokens=prompt, completion_tokens=output, total_tokens=prompt + output)
