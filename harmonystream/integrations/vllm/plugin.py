"""The endpoint plug-ins for VLLM_PLUGINS. They import their modules only if vLLM fits."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from .fits import HOST, fits

__all__ = ["DerenderPlugin", "FramesPlugin"]


class FramesPlugin:
    """The entry point `harmonystream_frames`. It needs one of our parsers. For other models, it does nothing."""

    name = "harmonystream_frames"
    required_tasks = ("generate",)

    def attach_router(self, app: Any) -> None:
        """The routes are vLLM's own."""

    async def init_state(self, engine_client: Any, state: Any, args: Namespace) -> None:
        if fits("parsers") and fits("frames"):
            try:
                from . import frames

                frames.install(state)
            except Exception as error:
                HOST.gives_up("frames", repr(error))


class DerenderPlugin:
    """The entry point `harmonystream_derender`. It needs one of our parsers. For other models, it does nothing."""

    name = "harmonystream_derender"
    required_tasks = ("render", "generate")

    def __init__(self) -> None:
        self._derender: Any = None

    def attach_router(self, app: Any) -> None:
        if fits("parsers") and fits("derender"):
            try:
                from . import derender

                derender.attach_router(app)
                self._derender = derender
            except Exception as error:
                HOST.gives_up("derender", repr(error))

    async def init_state(self, engine_client: Any, state: Any, args: Namespace) -> None:
        if self._derender is not None:
            self._derender.install(state)
