"""The gateway that is soaked: with short limits, and a path that says what it has open."""

from __future__ import annotations

import asyncio
import sys

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from harmonystream.engines import Completions
from harmonystream.gateway import Model, app
from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating.server import serve

SHORT = Limits(
    **{"first_token": 2.0, "silence": 2.0, "retries": 1, "body_seconds": 2.0, "queue_seconds": 60.0},
    **{"stored": 200, "keep_alive": 1.0, "status_wait": 1.0, "concurrent_per_key": 100_000},
)


async def left(request: Request) -> Response:
    """What is open: tasks, requests, generations, waiting requests, and keys with requests."""
    gateway = request.app.state.gateway
    generations = sum(len(pool.open) + sum(one.open for one in pool.members) for pool in gateway.pools)
    doors = gateway.admission
    found = {
        "requests": doors.open,
        "waiting": doors.waiting,
        "generations": generations,
        "keys": len(doors.state.open()),
    }
    return JSONResponse({"tasks": len(asyncio.all_tasks()), **found})


if __name__ == "__main__":
    made = app([Model("gpt-oss", [Completions(url, "m") for url in sys.argv[2:]])], limits=SHORT)
    made.router.routes.append(Route("/left", left))
    serve(made, "127.0.0.1", int(sys.argv[1]))
