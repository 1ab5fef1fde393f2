from ._parser import _Ids
from ._tools import _Tools
from ._vocab import Vocab
from .formats.spec import Format, HeaderFormat

DEBUG: bool

def label(
    ids: _Ids,
    format: str | Format | HeaderFormat = "harmony",
    *,
    vocab: Vocab | None = None,
    tools: _Tools | None = None,
    start: str = "auto",
    prompt: str | bytes | _Ids | None = None,
) -> bytes: ...
