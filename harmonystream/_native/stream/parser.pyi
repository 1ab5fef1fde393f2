from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Literal, SupportsIndex, TypeAlias, final

from typing_extensions import Buffer, Self

from harmonystream._native.core.tools import _Tools
from harmonystream._native.core.vocab import Vocab
from harmonystream.deviations import Deviation
from harmonystream.events import Event
from harmonystream.formats.spec import Format, HeaderFormat
from harmonystream.regions import Region, Usage

DEBUG: bool
__pyx_capi__: dict[str, object]
STREAM_SIZE: int

_Ids: TypeAlias = SupportsIndex | Iterable[SupportsIndex] | Buffer

@final
class Parser:
    def __new__(
        cls,
        format: str | Format | HeaderFormat = "harmony",
        vocab: Vocab | None = None,
        *,
        tools: _Tools | None = None,
        start: str = "auto",
        prompt: str | bytes | _Ids | None = None,
        strict: bool = False,
        trim: Literal["seams", "none"] = "seams",
        empty_args: str = "{}",
        max_hold: SupportsIndex = 1048576,
        check_stops: bool = True,
    ) -> Self: ...
    def feed(self, ids: _Ids, /) -> tuple[Event, ...]: ...
    def feed_text(self, text: str | bytes, /) -> tuple[Event, ...]: ...
    def finish(self, reason: str | Mapping[str, Any] | Enum | None = None) -> tuple[Event, ...]: ...
    def reset(self) -> None: ...
    def fork(self) -> Parser: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(
        data: bytes | bytearray | memoryview,
        vocab: Vocab | None = None,
        *,
        format: str | Format | HeaderFormat | None = None,
        tools: _Tools | None = None,
    ) -> Parser: ...
    @property
    def region(self) -> Region: ...
    @property
    def position(self) -> int: ...
    @property
    def calls(self) -> int: ...
    @property
    def usage(self) -> Usage: ...
    @property
    def deviations(self) -> tuple[Deviation, ...]: ...
    @property
    def deviation_count(self) -> int: ...
    @property
    def role(self) -> str | None: ...
    @property
    def channel(self) -> str | None: ...
    @property
    def recipient(self) -> str | None: ...
    @property
    def content_type(self) -> str | None: ...
    @property
    def format(self) -> str: ...
    @property
    def vocab(self) -> Vocab: ...
    @property
    def strict(self) -> bool: ...
    @property
    def finished(self) -> bool: ...
    @property
    def stop_ids(self) -> tuple[int, ...]: ...
