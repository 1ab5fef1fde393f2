from typing import final

from typing_extensions import Self

DEBUG: bool

@final
class JsonScanner:
    """Follows a JSON value piece by piece, in constant memory, without looking back. It knows whether the value is
    complete, and where it ended.

    It tracks strings, nesting depth and bare scalars; a value that it calls balanced may still be invalid JSON inside.
    """
    def __new__(cls) -> Self: ...
    def feed(self, data: str | bytes, /) -> None:
        """Read on: str or bytes, cut anywhere between bytes. Raises TypeError for anything else."""
    def reset(self) -> None:
        """Forget everything."""
    @property
    def balanced(self) -> bool:
        """Is what was read one whole value, with nothing but whitespace around it? A bare scalar may still go on."""
    @property
    def complete(self) -> bool:
        """Has the first value ended for certain?"""
    @property
    def end(self) -> int | None:
        """Bytes up to the end of the first value; None while it is open."""
    @property
    def depth(self) -> int:
        """Open objects and arrays."""
