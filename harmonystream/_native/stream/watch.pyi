from collections.abc import Iterable
from types import EllipsisType
from typing import TypeAlias, final

from typing_extensions import Self

DEBUG: bool
__pyx_capi__: dict[str, object]

_Paths: TypeAlias = Iterable[Iterable[str | int | EllipsisType]]

@final
class Watch:
    """The paths that a parser watches. Raises TypeError or ValueError for anything else."""
    def __new__(cls, paths: _Paths) -> Self: ...
    @property
    def paths(self) -> tuple[tuple[str | int | EllipsisType, ...], ...]: ...
    @property
    def fingerprint(self) -> int: ...

@final
class Watcher:
    """How far the arguments of one stream have been read."""
    @property
    def watch(self) -> Watch: ...
    def __sizeof__(self) -> int: ...
