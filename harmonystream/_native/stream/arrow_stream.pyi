from collections.abc import Iterator
from typing import Any, final

DEBUG: bool

@final
class Chunks:
    """What a stream's callbacks need."""

def stream_of(kind: Any, chunks: Iterator[Any]) -> object:
    """An "arrow_array_stream" capsule: the arrays that the iterator `chunks` gives, of the type of `kind`.

    What the iterator raises becomes the error of the reader's call, and ends the stream.
    """
