from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex, final

from typing_extensions import Buffer

from ._arguments import Arguments
from ._parser import Parser

DEBUG: bool

@final
class Frame:
    def __new__(cls, parts: Iterable[bytes], holes: str) -> Frame: ...

@final
class SseWriter:
    number: int
    reasoning_frame: Frame | None
    content_frame: Frame | None
    arguments_frame: Frame | None
    arguments_through: Arguments | None
    def __new__(cls, parser: Parser, on_event: Callable[[Any], bytes]) -> SseWriter: ...
    @property
    def parser(self) -> Parser: ...
    def feed(self, ids: SupportsIndex | Iterable[SupportsIndex] | Buffer, /) -> bytes: ...
    def feed_text(self, text: str | bytes, /) -> bytes: ...
    def finish(self, reason: str | None = None) -> bytes: ...
    def frame(self, kind: str, text: str) -> bytes: ...
    def keep(self, kind: str, text: str) -> str: ...
    def take(self, kind: str) -> str: ...
