"""The application: endpoints for the three APIs, for the list of models, and for the gateway's own status.

A request for an answer takes these steps. Each is a function in `answering.py`, or in a module that it calls:

1. `Gateway.handle` checks who sent the request (`operating/keys.py`), and from which page (`requests/browsers.py`). Any
   later failure becomes an error of the API (`refused.py`).
2. `_answer` reads the body as JSON (`requests/bodies.py`). `_prepare` translates the request into words that are the
   same for all APIs (`requests/chat_api.py` and its two neighbours, with the tables in `requests/options.py`). It finds
   the model and the tools, and writes the prompt (`generating/model.py`).
3. `_attempt` decides how to sample, and what else steers the generation (`generating/plans.py`), and makes the emitters
   of the response. `_enter` waits for the request's turn (`operating/admission.py`).
4. `_generations` runs an engine (`generating/pool.py`), which a plan or stop strings may steer (`agent/steering.py`).
   If tools run here, `_loops` does the same in several rounds (`generating/server_tools.py`).
5. `_respond` begins the response when the first item has arrived (`generating/first_item.py`). Its task passes items to
   an emitter, and sends the frames (`integrations/starlette.py`). `RequestRecord` counts and logs all of this
   (`operating/request_record.py`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

from anyio.lowlevel import checkpoint
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..checks import check_flag, check_names, shown
from .answering import APIS, Api, Gateway, refusal
from .generating.demo import demo_model
from .generating.model import Model, connected
from .limits import Limits
from .operating.inspector import Inspector
from .operating.keys import Keys
from .operating.replay import replayed
from .operating.request_record import RequestRecord
from .operating.state import LocalState, State, StateError, absent
from .operating.tracing import Spans
from .refused import Refused
from .requests.bodies import Json
from .requests.unsupported import RULES, Rule

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
    """An ASGI application that serves these models. Without models, it serves a recorded conversation.

    keys: who may use the gateway. None: any client. limits: see `Limits`. origins: pages with these origins may call
    the gateway from scripts (CORS).
    inspect: keep the last streams, including their prompts, and show them at /inspect to users of this machine.
    trace: makes a span for each request, with this TracerProvider of OpenTelemetry. True uses the process's own
    provider.
    shared: a folder for several processes that serve the same gateway. A database in it has the stored responses and
    the usage of each key. If you pass it, also set PROMETHEUS_MULTIPROC_DIR before prometheus_client is imported.
    log_contents: add the question and the answer to each request's line in the log.
    unsupported: what happens to options that the gateway cannot honour. "auto" passes over an option that only adds to
    a request, and refuses one that changes the meaning of the answer. "ignore" passes over all of them, and "refuse"
    refuses all of them.
    hosts: names with a dot under which clients may call a gateway without keys. "*" allows any name. Other names are
    refused, because a page may use its own name to drive the gateway from a user's browser.
    store: the URL of a Valkey or Redis that several gateways use instead of `shared`. It is `redis://` or another URL
    that `RedisLink` reads. The environment variables HARMONYSTREAM_STORE_PASSWORD and HARMONYSTREAM_STORE_SEAL have its
    password, and the text that becomes the key for sealing stored responses.

    The application's `state.gateway` is the `Gateway`. Raises ValueError if a model cannot be served, and ImportError
    if spans need the extra `otel`.
    """
    for name, names in (("origins", origins), ("hosts", hosts)):
        check_names(name, names)
    for name, flag in (("inspect", inspect), ("log_contents", log_contents)):
        check_flag(name, flag)
    for name, given, kind in (("limits", limits, Limits), ("keys", keys, Keys)):
        if not isinstance(given, (kind, type(None))):
            raise TypeError(f"{name} is a {kind.__name__} of {kind.__module__}, or None, not {shown(given)}")
    if trace not in (None, False, True) and not hasattr(trace, "get_tracer"):
        raise TypeError(f"trace is True, or a TracerProvider of OpenTelemetry, not {shown(trace)}")
    if unsupported not in RULES:
        raise ValueError(f"unsupported is one of {', '.join(RULES)}, not {shown(unsupported)}")
    spans = Spans(None if trace is True else trace) if trace else None
    served = [demo_model()] if models is None else models
    if not isinstance(served, Sequence) or not all(isinstance(one, Model) for one in served):
        raise TypeError(f"models is a list of Model, [Model(name, engine)], not {shown(served)}")
    limits = limits or Limits()
    state = _state(store, limits) if isinstance(store, str) else store or LocalState(limits, shared)
    gateway = Gateway(served, keys, limits, spans, state, log_contents, unsupported, hosts, origins)
    routes = _routes(gateway)
    if inspect:
        gateway.inspector = Inspector(gateway)
        routes += gateway.inspector.routes()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await checkpoint()  # anyio loads its part for this event loop at its first use, which takes 20 ms
        async with AsyncExitStack() as stack:
            stack.push_async_callback(gateway.connections.close_all)
            await gateway.connections.open(connected(gateway.models.values()))
            await stack.enter_async_context(gateway.state)
            gateway.metrics.workers.set(1)
            await asyncio.gather(*(model.learn_context() for model in set(gateway.models.values())))
            yield
            await gateway.background.finish(gateway.limits.drain)
            gateway.metrics.workers.set(0)

    cors = Middleware(CORSMiddleware, allow_origins=list(origins), allow_methods=["*"], allow_headers=["*"])
    made = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[cors] if origins else [],
        exception_handlers={404: _no_route, 405: _no_method},
    )
    made.router.redirect_slashes = False  # some clients do not follow redirects, and would read nothing
    made.state.gateway = gateway
    return made


def _state(url: str, limits: Limits) -> State:
    from .operating.redis_state import RedisState

    setting = os.environ.get
    return RedisState(url, limits, setting("HARMONYSTREAM_STORE_PASSWORD"), setting("HARMONYSTREAM_STORE_SEAL"))


def _routes(gateway: Gateway) -> list[Route]:
    return [
        *(_route(gateway, api) for api in APIS),
        Route("/v1/messages/count_tokens", gateway.count, methods=["POST"]),
        Route("/v1/responses/input_tokens", gateway.count_input, methods=["POST"]),
        Route("/v1/responses/{id}/cancel", _cancel, methods=["POST"]),
        Route("/v1/responses/{id}/input_items", _input_items, methods=["GET"]),
        Route("/v1/responses/{id}", _stored_response, methods=["GET", "DELETE"]),
        Route("/v1/models", _list_models, methods=["GET"]),
        Route("/v1/models/{name:path}", _show_model, methods=["GET"]),
        Route("/health/live", _live, methods=["GET"]),
        Route("/health/ready", _ready, methods=["GET"]),
        Route("/health", _ready, methods=["GET"]),
        Route("/metrics", _metrics, methods=["GET"]),
    ]


class _Answers:
    """An API's endpoint. Starlette passes each frame of a function's response through a function of its own."""

    def __init__(self, gateway: Gateway, api: Api) -> None:
        self._gateway, self._api = gateway, api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._gateway.answer(Request(scope, receive, send), self._api)
        await response(scope, receive, send)


def _route(gateway: Gateway, api: Api) -> Route:
    return Route(api.path, _Answers(gateway, api), methods=["POST"])


def _gateway(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


def _described(name: str) -> dict[str, Any]:
    """A model, with the fields of OpenAI's and Anthropic's lists."""
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
        if request.method == "DELETE":
            await state.delete(record.owner, id)
            return Json({"id": id, "object": "response", "deleted": True})
        response = await _gateway(request).background.shown(stored[1])
        if request.query_params.get("stream", "").lower() == "true":
            after = request.query_params.get("starting_after", "")
            frames = replayed(response, int(after[:9]) if after.isdecimal() else -1)
            return Response(frames, media_type="text/event-stream", headers={"cache-control": "no-cache"})
        return Json(response)

    return await _gateway(request).handle(request, "responses", answer)


async def _cancel(request: Request) -> Response:
    async def answer(record: RequestRecord) -> Response:
        record.complete = True
        return Json(await _gateway(request).background.cancel(record.owner, request.path_params["id"]))

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
    """One page of a list, with the API's paging. Raises `Refused`."""
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
    """A gateway that can store nothing counts as ready. It answers, and another gateway would have the same
    full disk.
    """
    gateway = _gateway(request)
    ready, stores = await gateway.is_ready(), await gateway.state.is_sound()
    report: dict[str, Any] = {"status": "ok" if ready else "unavailable", "store": "ok" if stores else "unavailable"}
    if (there := await gateway.state.gateways()) > 1:
        report["gateways"] = there
    return Json(report, 200 if ready else 503)


async def _metrics(request: Request) -> Response:
    metrics, state = _gateway(request).metrics, _gateway(request).state
    with suppress(StateError):
        metrics.stored.set(await state.count())
    return Response(metrics.text(), media_type=metrics.content_type)


async def _no_route(request: Request, error: Any) -> Response:
    what = f"There is nothing at the path {request.url.path[:64]}. There are {_PATHS} and /v1/models."
    return await _refuse(Refused(404, what, code="not_found"), request, error)


async def _no_method(request: Request, error: Any) -> Response:
    takes = (error.headers or {}).get("Allow", "another one")
    what = f"This path does not take the method {request.method[:16]}: it takes {takes}."
    return await _refuse(Refused(405, what, code="method_not_allowed"), request, error)


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
