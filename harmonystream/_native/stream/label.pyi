from harmonystream._native.core.tools import _Tools
from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.parser import _Ids
from harmonystream.formats.spec import Format, HeaderFormat

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
