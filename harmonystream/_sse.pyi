from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, final

from typing_extensions import Buffer, Self, disjoint_base

from ._arguments import Arguments
from ._parser import Parser

DEBUG: bool

@final
class Frame:
    def __new__(cls, parts: Iterable[bytes], holes: str) -> Frame: ...

@disjoint_base
class SseWriter:
    _number: int
    _watched: bool
    _reasoning_frame: Frame | None
    _content_frame: Frame | None
    _arguments_frame: Frame | None
    _arguments_through: Arguments | None
    def __new__(cls, parser: Parser, *args: Any, **kwargs: Any) -> Self: ...
    @property
    def parser(self) -> Parser: ...
    @property
    def in_text(self) -> bool: ...
    def feed(
        self,
        ids: SupportsIndex | Iterable[SupportsIndex] | Buffer,
        /,
        logprobs: Sequence[dict[str, Any]] | None = None,
    ) -> bytes: ...
    def feed_text(self, text: str | bytes, /) -> bytes: ...
    def _end(self, reason: str | None = None) -> bytes: ...
    def _framed(self, kind: str, text: str) -> bytes: ...
    def _keep(self, kind: str, text: str) -> str: ...
    def _take(self, kind: str) -> str: ...
