from collections.abc import Iterable
from typing import Any

from ._parser import _Ids
from ._vocab import Vocab
from .formats.spec import Format

DEBUG: bool

def label(
    ids: _Ids,
    format: str | Format = "harmony",
    *,
    vocab: Vocab | None = None,
    tools: Iterable[str | dict[str, Any]] | None = None,
    start: str = "auto",
    prompt: str | bytes | _Ids | None = None,
) -> bytes: ...
