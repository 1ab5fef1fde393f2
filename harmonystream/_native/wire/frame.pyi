from collections.abc import Iterable
from typing import final

DEBUG: bool

@final
class Frame:
    def __new__(cls, parts: Iterable[bytes], holes: str) -> Frame: ...
