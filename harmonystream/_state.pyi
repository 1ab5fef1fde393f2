from typing import NamedTuple

DEBUG: bool
VERSION: int
__pyx_capi__: dict[str, object]

class Blob(NamedTuple):
    format: str
    vocab: int
    tools: int
    no_trim: int
    empty_args: str
    origin: bytes | None
    state: bytes
