"""The application: the endpoints of the three APIs, and which models there are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..emit import new_id
from .answering import APIS, Api, Gateway, refusal
from .demo import demo_model
from .model import Model, served
from .refused import Refused

__all__ = ["app"]


def app(models: Sequence[Model] | None = None) -> Starlette:
    """An ASGI application that serves these models; without any, a recorded conversation.

    Raises ValueError for models that cannot be served.
    """
    gateway = Gateway(served([demo_model()] if models is None else models))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for model in {id(one): one for one in gateway.models.values()}.values():
                for engine in model.engines:
                    context: Any = engine
                    if hasattr(context, "__aenter__"):  # it keeps connections
                        await stack.enter_async_context(context)
            yield

    routes = [_route(gateway, api) for api in APIS]
    routes += [
        Route("/v1/messages/count_tokens", gateway.count, methods=["POST"]),
        Route("/v1/responses/{id}", _stored_response, methods=["GET", "DELETE"]),
        Route("/v1/models", _list_models, methods=["GET"]),
        Route("/v1/models/{name:path}", _show_model, methods=["GET"]),
    ]
    made = Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: _no_route, 405: _no_method})
    made.state.gateway = gateway
    return made


def _route(gateway: Gateway, api: Api) -> Route:
    async def respond(request: Request) -> Response:
        return await gateway.answer(request, api)

    return Route(api.path, respond, methods=["POST"])


def _described(name: str, request: Request) -> dict[str, Any]:
    """A model, with the fields of both OpenAI's and Anthropic's lists."""
    both = {"id": name, "object": "model", "created": 0, "owned_by": "harmonystream"}
    return {**both, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}


async def _list_models(request: Request) -> Response:
    names = list(request.app.state.gateway.models)
    more = {"has_more": False, "first_id": names[0], "last_id": names[-1]}
    return JSONResponse({"object": "list", "data": [_described(name, request) for name in names], **more})


async def _show_model(request: Request) -> Response:
    try:
        request.app.state.gateway.served(request.path_params["name"])
    except Refused as refused:
        return refusal(refused, "chat", new_id("req"))
    return JSONResponse(_described(request.path_params["name"], request))


async def _stored_response(request: Request) -> Response:
    store, id = request.app.state.gateway.store, request.path_params["id"]
    try:
        response = store.response("", id)
    except Refused as refused:
        return refusal(refused, "responses", new_id("req"))
    if request.method == "DELETE":
        store.delete("", id)
        return JSONResponse({"id": id, "object": "response", "deleted": True})
    return JSONResponse(response)


def _api_of(request: Request) -> str:
    return "messages" if request.url.path.startswith("/v1/messages") else "chat"


async def _no_route(request: Request, _: Exception) -> Response:
    return refusal(Refused(404, "There is nothing at this path.", code="not_found"), _api_of(request), new_id("req"))


async def _no_method(request: Request, _: Exception) -> Response:
    return refusal(Refused(405, "This path does not take this method."), _api_of(request), new_id("req"))
