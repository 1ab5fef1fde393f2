"""The gateway as a process: uvicorn, which lets open answers end when it is stopped."""

from __future__ import annotations

import asyncio
import copy
import gc
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.config import LOGGING_CONFIG

__all__ = ["config_of", "freeze", "freeze_again", "log_config", "run", "serve"]

_MARGIN = 5
"""Seconds that streams have to say that the gateway stops, after the time that open answers have."""


SWITCH = 0.0005
"""Seconds that a thread may keep the GIL while another one waits for it: one reads a large body, and the event loop
gives the GIL away at each of its system calls."""
_IDLE = 75
"""Seconds that an idle connection stays open: longer than the 60 of usual balancers, which would else meet its end."""


_frozen = False
"""Has `freeze` been called?"""


class _Server(uvicorn.Server):
    """A server that announces when it begins to answer, and that it will stop. SIGHUP makes it read its settings."""

    on_start: Callable[[], object] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        app: Any = self.config.app
        if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, app.state.gateway.reload)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])  # a worker begins with it blocked
        await super().startup(sockets)
        freeze()
        if self.started and self.on_start is not None:
            self.on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app: Any = self.config.app
        gateway = app.state.gateway
        gateway.draining = True
        self.config.timeout_graceful_shutdown = round(gateway.limits.drain) + _MARGIN
        last = asyncio.get_running_loop().call_later(gateway.limits.drain, gateway.stop_all)
        await super().shutdown(sockets)
        last.cancel()


def freeze() -> None:
    """Take everything that the process holds out of the garbage collector's sight.

    A full collection stops all threads for as long as it takes to visit each list, dict and object. Large requests have
    many, and those of the modules and models would be visited again with them each time.
    """
    global _frozen
    _frozen = True
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def freeze_again() -> None:
    """Free what is no longer used, although it was there when `freeze` was called. Another server of this application
    has frozen what it wanted, and that stays as it is.
    """
    if _frozen:
        freeze()


def serve(made: Starlette, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT. Then open answers may end within `Limits.drain`, and new requests are refused."""
    run(config_of(made, host, port))


def run(config: uvicorn.Config, sockets: list[socket.socket] | None = None, on_start: Any = None) -> bool:
    """Serve until SIGTERM or SIGINT. on_start: called when requests are answered. False: it could not start."""
    sys.setswitchinterval(SWITCH)
    server = _Server(config)
    server.on_start = on_start
    server.run(sockets)
    return server.started


MOST_HEAD = 1 << 18
"""The limit for the bytes of a request's line and headers, roughly. They arrive before its owner is known."""


def _bounded() -> Any:
    """uvicorn's protocol with a limit on heads. Without httptools, uvicorn's own has one already."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return "h11"

    class Bounded(HttpToolsProtocol):
        _head: int | None = 0  # bytes of the head so far; None when it is complete

        def on_message_begin(self) -> None:
            self._head = self._head or 0
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head = None
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self._head = 0
            super().on_message_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._head is not None:
                self._head += len(data)
                if self._head > MOST_HEAD and not self.transport.is_closing():
                    self.send_400_response("The request's head is too large.")

    return Bounded


def config_of(made: Starlette | None, host: str | None, port: int | None) -> uvicorn.Config:
    """uvicorn's settings. made: None only binds an address. host, port: None for sockets that are already bound."""
    app: Any = made
    return uvicorn.Config(
        app,
        host=host or "127.0.0.1",
        port=port or 0,
        access_log=False,
        ws="none",
        http=_bounded(),
        proxy_headers=False,  # headers from clients must not decide which address counts as the client's
        timeout_keep_alive=_IDLE,
        server_header=False,
        log_config=log_config(),
    )


def log_config() -> dict[str, Any]:
    """uvicorn's own configuration of logging, and a line of JSON for each request."""
    made: dict[str, Any] = copy.deepcopy(LOGGING_CONFIG)
    made["formatters"]["plain"] = {"format": "%(message)s"}
    made["handlers"]["plain"] = {"class": "logging.StreamHandler", "formatter": "plain", "stream": "ext://sys.stderr"}
    made["loggers"]["harmonystream"] = {"handlers": ["plain"], "level": "INFO", "propagate": False}
    return made
