from typing import final

from typing_extensions import Self

DEBUG: bool

@final
class JsonScanner:
    """Follows a JSON value piece by piece, in constant memory, and knows whether the value is complete, and where it
    ended.

    It follows only strings, brackets and bare scalars. So a balanced value may still be invalid JSON inside.
    """
    def __new__(cls) -> Self: ...
    def feed(self, data: str | bytes, /) -> None:
        """Reads the next piece, str or bytes, cut anywhere. Raises TypeError for anything else."""
    def reset(self) -> None:
        """Starts over with a new value."""
    @property
    def balanced(self) -> bool:
        """Is the text so far one whole value, with only whitespace around it? A bare scalar may still go on."""
    @property
    def complete(self) -> bool:
        """Has the first value ended for certain?"""
    @property
    def end(self) -> int | None:
        """Bytes up to the end of the first value; None while it is open."""
    @property
    def depth(self) -> int:
        """Open objects and arrays."""
