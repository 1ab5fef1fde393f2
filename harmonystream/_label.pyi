from collections.abc import Iterable

from ._parser import _Ids, _Tool
from ._vocab import Vocab
from .formats.spec import Format, HeaderFormat

DEBUG: bool

def label(
    ids: _Ids,
    format: str | Format | HeaderFormat = "harmony",
    *,
    vocab: Vocab | None = None,
    tools: Iterable[_Tool] | None = None,
    start: str = "auto",
    prompt: str | bytes | _Ids | None = None,
) -> bytes: ...
