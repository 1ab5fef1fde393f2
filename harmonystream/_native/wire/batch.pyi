from collections.abc import Iterable
from typing import Any, Literal, SupportsIndex, TypeAlias, final

from typing_extensions import Buffer, Self

from harmonystream._native.core.tools import _Tools
from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import Parser
from harmonystream._native.wire.frames import Frames
from harmonystream.emit.columns import Columns
from harmonystream.emit.stream import EventStream
from harmonystream.formats.spec import Format, HeaderFormat

DEBUG: bool

_Ids: TypeAlias = SupportsIndex | Iterable[SupportsIndex] | Buffer

@final
class Batch:
    def __new__(
        cls,
        format: str | Format | HeaderFormat = "harmony",
        vocab: Vocab | None = None,
        capacity: SupportsIndex = 1024,
        *,
        trim: Literal["seams", "none"] = "seams",
        empty_args: str = "{}",
        max_hold: SupportsIndex = 1048576,
        check_stops: bool = True,
    ) -> Self: ...
    def open(
        self,
        *,
        tools: _Tools | None = None,
        start: str = "auto",
        prompt: str | bytes | _Ids | None = None,
    ) -> int: ...
    def add(self, stream: Parser | EventStream, /) -> int: ...
    def close(self, slot: SupportsIndex, /) -> Any: ...
    def finish(self, slot: SupportsIndex, reason: str | None = None, usage: dict[str, Any] | None = None) -> Any: ...
    def feed(self, slots: _Ids, ids: _Ids, offsets: _Ids | None = None) -> Columns: ...
    def feed_sse(self, slots: _Ids, ids: _Ids, offsets: _Ids | None = None) -> Frames: ...
    def __getitem__(self, slot: SupportsIndex, /) -> Parser: ...
    def __len__(self) -> int: ...
    def __sizeof__(self) -> int: ...
    @property
    def capacity(self) -> int: ...
    @property
    def format(self) -> str: ...
    @property
    def vocab(self) -> Vocab: ...
