"""With a real nginx in front that keeps its connections: streams that fail do no harm to others."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

from nginx import needs_nginx, nginx_before
from wire_server import PATHS, SHORT, app_of, serving

CLIENTS, REQUESTS = 8, 40  # of each; one in ten fails


async def short() -> AsyncIterator[Any]:
    for token in SHORT:
        yield token
        await asyncio.sleep(0)


async def failing() -> AsyncIterator[Any]:
    yield SHORT[:4]
    raise ConnectionError("the engine is gone")


def converse(address: str, client: int, bad: list[str]) -> None:
    """Streams one after the other, as fast as they end."""
    connection = http.client.HTTPConnection(address, timeout=30)
    for turn in range(REQUESTS):
        model = "failing" if (turn + client) % 10 == 0 else "short"
        try:
            connection.request("POST", PATHS["chat"], json.dumps({"model": model, "stream": True}))
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            bad.append(f"{model}: {error!r}")
            connection.close()
            continue
        whole = text.endswith("data: [DONE]\n\n") and ("internal error" in text) == (model == "failing")
        if response.status != 200 or not whole:
            bad.append(f"{model}: {response.status} {text[-200:]!r}")
    connection.close()


@needs_nginx
def test_no_innocent_request_fails_behind_nginx(tmp_path):
    """When errors were raised again, uvicorn closed connections that nginx had in use: 60 of 1,085 requests failed."""
    bad: list[str] = []
    errors: list[BaseException] = []
    app = app_of({"short": short, "failing": failing}, on_error=errors.append)
    with serving(app) as url, nginx_before(url.removeprefix("http://"), tmp_path) as address:
        threads = [threading.Thread(target=converse, args=(address, client, bad)) for client in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert bad == []
    assert len(errors) == CLIENTS * REQUESTS // 10
