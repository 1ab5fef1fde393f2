from collections.abc import Iterable
from typing import SupportsIndex, TypeVar, overload

from typing_extensions import Buffer

from harmonystream._native.core.tools import _Tools
from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import _Ids
from harmonystream.formats.spec import Format, HeaderFormat

DEBUG: bool

_Out = TypeVar("_Out", bound=Buffer)

@overload
def label(
    ids: _Ids,
    format: str | Format | HeaderFormat = "harmony",
    *,
    vocab: Vocab | None = None,
    tools: _Tools | None = None,
    start: str = "auto",
    prompt: str | bytes | _Ids | None = None,
    conversation: bool = False,
    offsets: Iterable[SupportsIndex] | Buffer | None = None,
    out: None = None,
) -> bytes: ...
@overload
def label(
    ids: _Ids,
    format: str | Format | HeaderFormat = "harmony",
    *,
    vocab: Vocab | None = None,
    tools: _Tools | None = None,
    start: str = "auto",
    prompt: str | bytes | _Ids | None = None,
    conversation: bool = False,
    offsets: Iterable[SupportsIndex] | Buffer | None = None,
    out: _Out,
) -> _Out: ...
