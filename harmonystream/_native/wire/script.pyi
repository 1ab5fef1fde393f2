from collections.abc import Iterable
from typing import final

DEBUG: bool

_Parts = tuple[Iterable[bytes], str]

@final
class Script:
    def __new__(
        cls,
        frames: dict[tuple[str, str, int], _Parts],
        opening: _Parts,
        head: _Parts,
        finish: _Parts,
        *,
        fields: dict[tuple[str, int], int] | None = None,
        shown: int | None = None,
        filtered: bool = False,
        signed: bool = False,
        no_blank: bool = False,
        functions: bool = False,
    ) -> Script: ...
