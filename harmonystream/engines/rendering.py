"""Engines that write prompts themselves, with the model's own template and with pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from ..checks import check_text
from ..errors import EngineError
from .base import are_ids
from .http import HttpEngine

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RenderingEngine", "pictures_of"]

MOST = 1 << 28
"""The limit for the bytes of a rendered prompt, which contains the values of pictures."""


class RenderingEngine(HttpEngine):
    """An engine with a server that writes prompts, often the engine itself.

    render: the URL of that server. None: prompts are written elsewhere, and the engine takes no pictures. The other
    options are those of `HttpEngine`.
    """

    def __init__(self, url: str, *, render: str | None, headers: Mapping[str, str] | None, **options: Any) -> None:
        check_text("render", render)
        super().__init__(url, headers=headers, **options)
        where = None if render is None else render.rstrip("/").removesuffix("/v1")
        self._renderer = None if where is None else HttpEngine(where, headers=headers, **options)
        self._entered = AsyncExitStack()

    @property
    def renders(self) -> bool:
        """Does it write prompts with `rendered`?"""
        return self._renderer is not None

    async def __aenter__(self) -> Self:
        if self._renderer is not None:
            await self._entered.enter_async_context(self._renderer)
        return await super().__aenter__()

    async def __aexit__(self, *exc_info: object) -> None:
        await self._entered.aclose()
        await super().__aexit__(*exc_info)

    async def _written(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """What the server that writes prompts answers. Raises EngineError."""
        if self._renderer is None:
            raise EngineError(f"{self.url} writes no prompts: pass render=", "protocol")
        return await self._renderer._posted(path, body, headers, MOST)

    def _ids_of(self, answer: Mapping[str, Any], name: str) -> list[int]:
        """The prompt's ids in the answer of that server. Raises EngineError."""
        ids: Any = answer.get(name)
        if not ids or not are_ids(ids):
            raise EngineError(f"{self._renderer}: the answer has no {name}: {str(answer)[:200]}", "protocol")
        return ids


def pictures_of(request: Mapping[str, Any]) -> Iterator[str]:
    """The URLs of the pictures in a request of Chat Completions, in their order."""
    for message in request.get("messages") or ():
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "image_url":
                yield part["image_url"]["url"]
