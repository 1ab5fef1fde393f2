"""The gateway as a process: uvicorn, which lets open answers end when it is stopped."""

from __future__ import annotations

import asyncio
import copy
import socket
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import LOGGING_CONFIG

__all__ = ["serve"]

_MARGIN = 5
"""Seconds that streams have to say that the gateway stops, after the time that open answers have."""


class _Server(uvicorn.Server):
    """A server that says before it stops that it will."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app: Any = self.config.app
        gateway = app.state.gateway
        gateway.draining = True
        last = asyncio.get_running_loop().call_later(gateway.limits.drain, gateway.stop_all)
        await super().shutdown(sockets)
        last.cancel()


def serve(made: Starlette, host: str, port: int) -> None:
    """Serves until SIGTERM or SIGINT. Open answers may then end within `Limits.drain`; new requests are refused."""
    config = uvicorn.Config(
        made,
        host=host,
        port=port,
        access_log=False,
        ws="none",
        server_header=False,
        log_config=_log_config(),
        timeout_graceful_shutdown=round(made.state.gateway.limits.drain) + _MARGIN,
    )
    _Server(config).run()


def _log_config() -> dict[str, Any]:
    """uvicorn's own, and a line of JSON for each request."""
    made: dict[str, Any] = copy.deepcopy(LOGGING_CONFIG)
    made["formatters"]["plain"] = {"format": "%(message)s"}
    made["handlers"]["plain"] = {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stderr"}
    made["loggers"]["harmonystream"] = {"handlers": ["plain"], "level": "INFO", "propagate": False}
    return made
