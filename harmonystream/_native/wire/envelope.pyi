from typing import final

from typing_extensions import Buffer

DEBUG: bool
__pyx_capi__: dict[str, object]

@final
class Saved:
    """What an emitter was. api: one letter. told: `said` is what a script has told; else it is the JSON of what Python
    remembers. number: of the next payload. Raises TypeError or ValueError for what does not fit.
    """
    def __init__(
        self,
        api: bytes,
        dicts: bool,
        told: bool,
        number: int,
        parser: bytes,
        options: bytes,
        id: bytes,
        created: bytes,
        said: bytes,
    ) -> None: ...
    @property
    def api(self) -> bytes: ...
    @property
    def parser(self) -> bytes: ...
    @property
    def options(self) -> bytes: ...
    @property
    def id(self) -> bytes: ...
    @property
    def created(self) -> bytes: ...
    @property
    def said(self) -> bytes: ...
    @property
    def dicts(self) -> bool: ...
    @property
    def told(self) -> bool: ...
    @property
    def number(self) -> int: ...

def pack(saved: Saved, key: bytes | None = None) -> bytes:
    """As bytes, signed if there is a key."""

def unpack(given: Buffer, key: bytes | None = None) -> Saved:
    """What pack() wrote with this key. Raises TypeError for what is not bytes, ValueError for anything else."""
