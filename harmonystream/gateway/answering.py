"""From a request to its response: read, rendered, generated, parsed and framed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from ..emit import new_id
from ..engines import Sampling
from ..errors import EngineError
from ..integrations.starlette import EventStreamResponse, stopping, whole_response
from ..prompt import Prompt
from . import chat_api, messages_api, responses_api
from .asked import Asked
from .begun import Begun
from .bodies import read_json
from .choices import merged
from .model import Served
from .plans import plan_of
from .refused import Refused, body_of, said_later, status_of
from .steering import Plan, steered
from .store import Store

__all__ = ["APIS", "Api", "Gateway"]

_log = logging.getLogger("harmonystream.gateway")
IN_A_THREAD = 1 << 15
"""Bytes of a request from which its prompt is written in a thread, so that other streams go on meanwhile."""


class Api(NamedTuple):
    """name: in tables. path: of its endpoint. prefix: of its ids. streams: makes the emitters of a response."""

    name: str
    path: str
    prefix: str
    streams: Callable[..., Sequence[Any]]


APIS = (
    Api("chat", "/v1/chat/completions", "chatcmpl", chat_api.streams),
    Api("responses", "/v1/responses", "resp", responses_api.streams),
    Api("messages", "/v1/messages", "msg", messages_api.streams),
)


class Gateway:
    """Answers requests. models: by name."""

    def __init__(self, models: dict[str, Served]) -> None:
        self.models = models
        self.store = Store()

    async def answer(self, request: Request, api: Api) -> Response:
        """The response to a request, whatever it is."""
        request_id = new_id("req")
        try:
            return await self._answer(request, api, request_id)
        except ClientDisconnect:
            return Response(status_code=499)
        except Refused as refused:
            return refusal(refused, api.name, request_id)

    async def _answer(self, request: Request, api: Api, request_id: str) -> Response:
        body, size = await read_json(request, 1 << 25, 60)
        asked = self._read(api, body)
        served = self.served(asked.model)
        asked.model = asked.model or served.name
        if not asked.tools and asked.choice == "auto":
            asked.tools = list(served.model.tools)
        write = served.prompt
        prompt = await asyncio.to_thread(write, asked) if size >= IN_A_THREAD else write(asked)
        sampling = served.sampling(asked, len(prompt.ids or ()))
        streams = self._streams(api, served, asked, prompt)
        plan = plan_of(asked, served.row, prompt, served.engines[0])
        generations = [_generate(served, prompt, sampling, plan) for _ in range(asked.n)]
        source = Begun(stopping(merged(generations), asked.stops, streams))
        return await self._respond(request, api, asked, streams, source, request_id)

    def _read(self, api: Api, body: Any) -> Asked:
        if api.name == "chat":
            return chat_api.read(body)
        if api.name == "messages":
            return messages_api.read(body)
        return responses_api.read(body, lambda kind, id: self.store.earlier("", kind, id))

    async def count(self, request: Request) -> Response:
        """The answer to Messages' count_tokens."""
        request_id = new_id("req")
        try:
            body, _ = await read_json(request, 1 << 25, 60)
            asked = messages_api.read(body, counting=True)
            ids = self.served(asked.model).prompt(asked).ids
            if ids is None:
                raise Refused(400, "Tokens cannot be counted: this model has no vocabulary here.")
            return JSONResponse({"input_tokens": len(ids)})
        except ClientDisconnect:
            return Response(status_code=499)
        except Refused as refused:
            return refusal(refused, "messages", request_id)

    def served(self, name: str) -> Served:
        """The model of this name; of no name, the only one. Raises `Refused` if there is none."""
        if not name and len({id(one) for one in self.models.values()}) == 1:
            return next(iter(self.models.values()))
        if name not in self.models:
            short = name if len(name) <= 100 else name[:100] + "…"
            raise Refused(404, f"There is no model {short!r} here.", param="model", code="model_not_found")
        return self.models[name]

    def _streams(self, api: Api, served: Served, asked: Asked, prompt: Prompt) -> list[Any]:
        parsers = [prompt.parser() for _ in range(asked.n)]
        now = int(time.time())
        usage = {"prompt_tokens": len(prompt.ids or ())}
        try:
            made = api.streams(asked, parsers, new_id(api.prefix), now, served.model.reasoning_field, usage)
        except (TypeError, ValueError) as error:
            raise Refused(400, f"The request cannot be answered: {error}.") from None
        return list(made)

    async def _respond(
        self, request: Request, api: Api, asked: Asked, streams: list[Any], source: Begun, request_id: str
    ) -> Response:
        headers = {"x-request-id": request_id, "request-id": request_id}

        def keep(stream: Any) -> None:
            if asked.stored is not None:
                self.store.put("", asked.stored, stream.response())

        def later(error: BaseException) -> dict[str, str | None]:
            return said_later(refused_for(error), api.name)

        try:
            if not await _begins(request, source):
                return Response(status_code=499)
            if asked.stream:
                return EventStreamResponse(source, streams, on_end=keep, error_message=later, headers=headers)
            whole = await whole_response(source, streams, on_end=keep, receive=request.receive)
        except Refused:
            raise
        except Exception as error:
            raise refused_for(error) from error
        return Response(status_code=499) if whole is None else JSONResponse(whole, headers=headers)


async def _begins(request: Request, source: Begun) -> bool:
    """Waits for the first item. Is the client still there?"""
    gone = asyncio.ensure_future(_disconnected(request))
    there = False
    try:
        there = await source.wait(gone, 15.0)
    finally:
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        if not there:
            await source.aclose()
    return there


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _generate(served: Served, prompt: Prompt, sampling: Sampling, plan: Plan | None) -> AsyncIterator[Any]:
    generate = served.engines[0].generate
    return generate(prompt, sampling) if plan is None else steered(generate, prompt, sampling, plan)


def refused_for(error: BaseException) -> Refused:
    """What a client is told of an error. It says nothing of the engine's address or words."""
    if isinstance(error, Refused):
        return error
    if not isinstance(error, EngineError):
        return Refused(500, "The gateway failed to answer this request.")
    if error.kind == "status" and error.status in (400, 413, 422):
        return Refused(400, "The engine refused this request.", code="engine_refused")
    if error.kind == "timeout":
        return Refused(504, "The engine did not answer in time.", code="engine_timeout")
    if error.kind == "connection" or error.status in (429, 503):
        return Refused(
            503, "The engine cannot be reached, or has too much to do.", code="engine_unavailable", retry_after=1
        )
    return Refused(502, "The engine failed to answer this request.", code="engine_error")


def refusal(refused: Refused, api: str, request_id: str) -> Response:
    """The response that says so."""
    headers = {"x-request-id": request_id, "request-id": request_id}
    if refused.retry_after is not None:
        headers["retry-after"] = str(max(1, round(refused.retry_after)))
    return JSONResponse(body_of(refused, api, request_id), status_of(refused, api), headers=headers)
