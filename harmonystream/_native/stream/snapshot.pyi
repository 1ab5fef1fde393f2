from typing import NamedTuple

DEBUG: bool
VERSION: int
__pyx_capi__: dict[str, object]

class Blob(NamedTuple):
    """What to_bytes() wrote: the state, and the options and fingerprints that it belongs to."""

    format: str
    vocab: int
    tools: int
    no_trim: int
    max_hold: int
    empty_args: str
    origin: bytes | None
    state: bytes
    watched: bytes
