"""Settings that are read again while the gateway runs. No request notices: each ends with the models it began with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from .answering import Gateway
from .generating.demo import demo_model
from .generating.model import Served, connected
from .operating.request_record import log
from .operating.server import freeze_again
from .settings import Settings, in_settings

__all__ = ["Reloading"]

_AT_START = ("host", "port", "workers", "store", "origins")
"""Settings that hold as long as the process runs."""


class Reloading:
    """settings: what the gateway runs with now. read: reads them again. It gets the present ones, because a model whose
    table is the same is not made again.
    """

    def __init__(self, gateway: Gateway, settings: Settings, read: Callable[[Settings], Settings]) -> None:
        self._gateway, self._settings, self._read = gateway, settings, read
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def begin(self) -> None:
        """Reload, beside everything else."""
        self._beside(self.reload())

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def reload(self) -> None:
        """Read the settings, and go on with them. If anything in them fails, nothing changes, and the log has the
        reason.
        """
        async with self._turn:
            gateway, before = self._gateway, self._settings
            try:
                made, models = await asyncio.to_thread(self._made, before)
                await gateway.connections.open(connected(models.values()))
            except Exception as error:  # a file of tools may raise anything
                log.error("the settings stay as they were: %s", in_settings(str(error)))
                return
            await asyncio.gather(*(model.learn_context() for model in set(models.values())))
            old = set(gateway.models.values()) - set(models.values())
            gateway.change(models, made.keys, made.limits, made.log_contents, made.unsupported, made.hosts)
            self._settings = made
            self._beside(self._retire(old, models.values()))
            if waits := [name for name in _AT_START if getattr(made, name) != getattr(before, name)]:
                log.warning("these settings take effect at the next start: %s", ", ".join(waits))
            log.info("the settings were read again; the models are %s", ", ".join(sorted(models)))

    def _made(self, before: Settings) -> tuple[Settings, dict[str, Served]]:
        made = self._read(before)
        return made, self._gateway.made_ready(made.models or [demo_model()], made.limits)

    async def _retire(self, old: set[Served], kept: Iterable[Served]) -> None:
        """Close what only these models use, when the requests that may use them have ended."""
        used = {id(one) for one in connected(kept)}
        unwanted = [one for one in connected(old) if id(one) not in used]
        await self._gateway.under_way.gone()
        await self._gateway.connections.close(unwanted)
        self._gateway.retired -= old
        old.clear()
        freeze_again()  # else what these models held would never be freed
