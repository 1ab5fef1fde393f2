from collections.abc import Iterable
from typing import final

DEBUG: bool

@final
class Frame:
    """Bytes with holes between the parts: "t", the text of a delta, JSON-escaped; "n", the running number of the frame.
    Frame([b""], "") sends nothing: it is for deltas that are neither sent, nor numbered, nor kept.

    parts: bytes, one more than holes. Raises TypeError or ValueError for anything else.
    """
    def __new__(cls, parts: Iterable[bytes], holes: str) -> Frame: ...
