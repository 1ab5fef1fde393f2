"""The application: the endpoints of the three APIs, which models there are, and how the gateway does.

The way of a request for an answer, of which each step is a function in `answering.py` or what it calls:

1. `Gateway.handle`: who asks (`operating/keys.py`), from which page (`requests/browsers.py`). Whatever goes wrong after
   this becomes an error of the API (`refused.py`).
2. `_answer`: the body as JSON (`requests/bodies.py`). `_prepare`: what it asks for, in words that are the same for all
   APIs (`requests/chat_api.py` and its two neighbours, by the tables in `requests/options.py`), of which model, with
   which tools, and by which prompt (`generating/model.py`).
3. `_attempt`: how to sample, what is done to the generation beyond that (`generating/plans.py`), and the emitters of
   the response. `_enter`: it waits for its turn (`operating/admission.py`).
4. `_generations`: an engine generates (`generating/pool.py`), and a plan or stop strings steer it
   (`agent/steering.py`). `_loops`: so do several rounds, if tools run here (`generating/server_tools.py`).
5. `_respond`: when the first item is there (`generating/first_item.py`), the response begins. Its task takes items,
   gives them to an emitter, and sends the frames (`integrations/starlette.py`). `RequestRecord` counts and logs all of
   it (`operating/request_record.py`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from .answering import APIS, Api, Gateway, refusal
from .generating.demo import demo_model
from .generating.model import Model
from .limits import Limits
from .operating.inspector import Inspector
from .operating.keys import Keys
from .operating.replay import replayed
from .operating.request_record import RequestRecord
from .operating.state import LocalState, State, StateError, absent
from .operating.tracing import Spans
from .refused import Refused
from .requests.bodies import Json
from .requests.unsupported import Rule, rule_of

__all__ = ["app"]


def app(
    models: Sequence[Model] | None = None,
    *,
    keys: Keys | None = None,
    limits: Limits | None = None,
    origins: Sequence[str] = (),
    inspect: bool = False,
    trace: Any = None,
    shared: str | os.PathLike[str] | None = None,
    log_contents: bool = False,
    unsupported: Rule = "auto",
    hosts: Sequence[str] = (),
    store: str | State | None = None,
) -> Starlette:
    """An ASGI application that serves these models; without any, a recorded conversation.

    keys: who may ask; None: everybody. limits: see `Limits`. origins: of pages whose scripts may ask (CORS). inspect:
    keep the last streams, prompts included, and show them at /inspect to whoever sits at this machine. trace: a
    TracerProvider of OpenTelemetry, or True for that of the process: each request has a span. shared: a folder, which
    several processes that serve the same share: what responses are stored, and what each key uses, is in a database
    there. Where it is set, set PROMETHEUS_MULTIPROC_DIR, too, before prometheus_client is imported. log_contents: the
    line of the log for each request has what was asked and answered, too.
    unsupported: what becomes of options that the gateway cannot honour. "auto": one that only adds to a request is
    passed over, and one that changes what the answer means is refused; "ignore": all are passed over; "refuse": none.
    hosts: without keys, the names with a dot by which clients may call the gateway; "*": any. Another name may be that
    of a page that drives the gateway from a user's browser.
    store: the URL of a Valkey or Redis in which several gateways keep this instead, `redis://` or another one that
    `RedisLink` reads; the environment's HARMONYSTREAM_STORE_PASSWORD and HARMONYSTREAM_STORE_SEAL are its password and
    the text of the key by which stored responses are sealed.
    Its `state.gateway` is the `Gateway`. Raises ValueError for models that cannot be served, and ImportError for spans
    without the extra `otel`.
    """
    spans = Spans(None if trace is True else trace) if trace else None
    served = [demo_model()] if models is None else models
    limits = limits or Limits()
    state = _state(store, limits) if isinstance(store, str) else store or LocalState(limits, shared)
    gateway = Gateway(served, keys, limits, spans, state, log_contents, rule_of(unsupported), hosts, origins)
    routes = _routes(gateway)
    if inspect:
        gateway.inspector = Inspector(gateway)
        routes += gateway.inspector.routes()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for each in (*_engines(gateway), *_server_tools(gateway)):
                if hasattr(each, "__aenter__"):  # it keeps connections
                    await stack.enter_async_context(each)
            await stack.enter_async_context(gateway.state)
            gateway.metrics.workers.set(1)
            await asyncio.gather(*(model.learn_context() for model in set(gateway.models.values())))
            yield
            gateway.metrics.workers.set(0)

    cors = Middleware(CORSMiddleware, allow_origins=list(origins), allow_methods=["*"], allow_headers=["*"])
    made = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[cors] if origins else [],
        exception_handlers={404: _no_route, 405: _no_method},
    )
    made.state.gateway = gateway
    return made


def _state(url: str, limits: Limits) -> State:
    from .operating.redis_state import RedisState

    said = os.environ.get
    return RedisState(url, limits, said("HARMONYSTREAM_STORE_PASSWORD"), said("HARMONYSTREAM_STORE_SEAL"))


def _engines(gateway: Gateway) -> list[Any]:
    members = [member for pool in gateway.pools.values() for member in pool.members]
    return list({id(member.engine): member.engine for member in members}.values())


def _server_tools(gateway: Gateway) -> list[Any]:
    found = [model.model.server_tools for model in gateway.models.values()]
    return list({id(tools): tools for tools in found if tools is not None}.values())


def _routes(gateway: Gateway) -> list[Route]:
    return [
        *(_route(gateway, api) for api in APIS),
        Route("/v1/messages/count_tokens", gateway.count, methods=["POST"]),
        Route("/v1/responses/input_tokens", gateway.count_input, methods=["POST"]),
        Route("/v1/responses/{id}/input_items", _input_items, methods=["GET"]),
        Route("/v1/responses/{id}", _stored_response, methods=["GET", "DELETE"]),
        Route("/v1/models", _list_models, methods=["GET"]),
        Route("/v1/models/{name:path}", _show_model, methods=["GET"]),
        Route("/health/live", _live, methods=["GET"]),
        Route("/health/ready", _ready, methods=["GET"]),
        Route("/health", _ready, methods=["GET"]),
        Route("/metrics", _metrics, methods=["GET"]),
    ]


def _route(gateway: Gateway, api: Api) -> Route:
    async def respond(request: Request) -> Response:
        return await gateway.answer(request, api)

    return Route(api.path, respond, methods=["POST"])


def _gateway(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


def _described(name: str) -> dict[str, Any]:
    """A model, with the fields of both OpenAI's and Anthropic's lists."""
    both = {"id": name, "object": "model", "created": 0, "owned_by": "harmonystream"}
    return {**both, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}


async def _list_models(request: Request) -> Response:
    async def answer(record: RequestRecord) -> Response:
        record.complete = True
        names = _gateway(request).names(record.owner)
        more = {"has_more": False, "first_id": names[0] if names else None, "last_id": names[-1] if names else None}
        return Json({"object": "list", "data": [_described(name) for name in names], **more})

    return await _gateway(request).handle(request, "models", answer)


async def _show_model(request: Request) -> Response:
    async def answer(record: RequestRecord) -> Response:
        record.complete = True
        _gateway(request).served(request.path_params["name"], record.owner)
        return Json(_described(request.path_params["name"]))

    return await _gateway(request).handle(request, "models", answer)


async def _stored_response(request: Request) -> Response:
    state, id = _gateway(request).state, request.path_params["id"]

    async def answer(record: RequestRecord) -> Response:
        record.complete = True
        stored = await state.response(record.owner, id)
        if stored is None:
            raise absent()
        _, response = stored
        if request.method == "DELETE":
            await state.delete(record.owner, id)
            return Json({"id": id, "object": "response", "deleted": True})
        if request.query_params.get("stream", "").lower() == "true":
            after = request.query_params.get("starting_after", "")
            frames = replayed(response, int(after[:9]) if after.isdecimal() else -1)
            return Response(frames, media_type="text/event-stream", headers={"cache-control": "no-cache"})
        return Json(response)

    return await _gateway(request).handle(request, "responses", answer)


async def _input_items(request: Request) -> Response:
    state, id, query = _gateway(request).state, request.path_params["id"], request.query_params

    async def answer(record: RequestRecord) -> Response:
        record.complete = True
        stored = await state.response(record.owner, id)
        if stored is None:
            raise absent()
        items = [{"id": f"item_{at}", **item} for at, item in enumerate(stored[0])]
        return Json(_page_of(items, query.get("order", "desc"), query.get("after"), query.get("limit", "20")))

    return await _gateway(request).handle(request, "responses", answer)


def _page_of(items: list[Any], order: str, after: str | None, limit: str) -> dict[str, Any]:
    """A part of a list, as the API pages it. Raises `Refused`."""
    if order not in ("asc", "desc"):
        raise Refused(400, "order must be asc or desc.", param="order", code="invalid_value")
    if not limit.isdecimal() or not 1 <= int(limit[:4]) <= 100:
        raise Refused(400, "limit must be an integer from 1 to 100.", param="limit", code="invalid_value")
    items = items if order == "asc" else items[::-1]
    if after is not None:
        found = [at for at, item in enumerate(items) if item["id"] == after]
        items = items[found[0] + 1 :] if found else []
    shown = items[: int(limit)]
    ends = {"first_id": shown[0]["id"], "last_id": shown[-1]["id"]} if shown else {"first_id": None, "last_id": None}
    return {"object": "list", "data": shown, "has_more": len(items) > len(shown), **ends}


async def _live(_: Request) -> Response:
    return Json({"status": "ok"})


async def _ready(request: Request) -> Response:
    """A gateway that can store nothing is ready: it answers, and another one would have the same disk full."""
    gateway = _gateway(request)
    ready, stores = await gateway.is_ready(), await gateway.state.is_sound()
    said: dict[str, Any] = {"status": "ok" if ready else "unavailable", "store": "ok" if stores else "unavailable"}
    if (there := await gateway.state.gateways()) > 1:
        said["gateways"] = there
    return Json(said, 200 if ready else 503)


async def _metrics(request: Request) -> Response:
    metrics, state = _gateway(request).metrics, _gateway(request).state
    with suppress(StateError):
        metrics.stored.set(await state.count())
    return Response(metrics.text(), media_type=metrics.content_type)


async def _refuse(refused: Refused, request: Request, error: Any) -> Response:
    record = RequestRecord(
        "messages" if request.url.path.startswith("/v1/messages") else "chat",
        request.headers,
        _gateway(request).metrics,
    )
    response = refusal(refused, record)
    response.headers["x-request-id"] = record.id
    response.headers.update(error.headers or {})  # such as `allow`
    record.end(response.status_code)
    return response


_PATHS = ", ".join(api.path for api in APIS)
_no_route = partial(
    _refuse, Refused(404, f"There is nothing at this path. There are {_PATHS} and /v1/models.", code="not_found")
)
_no_method = partial(
    _refuse, Refused(405, "This path does not take this method: see the header `allow`.", code="method_not_allowed")
)
