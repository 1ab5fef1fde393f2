"""Imports modules of an engine's wheel without what the engine needs to run: a placeholder takes the place of each.

The request models of an engine are pydantic and plain Python, but the modules around them import torch and some twenty
other packages. Only modules of the engine itself get placeholders; where the engine computes with one while it is
imported, the placeholder is false, empty and zero.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["Placeholders"]

VERSION = "99.0.0"


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class _Falsy:
    """What classes and objects of absent packages have in common."""

    def __getattr__(self, name: str) -> Any:
        if _is_special(name):
            raise AttributeError(name)
        return Absent

    def __getitem__(self, key: object) -> Any:
        return Absent

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __contains__(self, item: object) -> bool:
        return False

    def __index__(self) -> int:
        return 0

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__

    def __add__(self, other: object) -> Any:
        return Absent

    __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = __or__ = __ror__ = __add__


class _AbsentType(_Falsy, type):
    def __call__(cls, *args: Any, **options: Any) -> Any:
        return _decorated(args, options) or type.__call__(cls)


class Absent(_Falsy, metaclass=_AbsentType):
    """A class, function or object of a package that is not there."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return _decorated(args, options) or Absent

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> Any:
        from pydantic_core import core_schema

        return core_schema.any_schema()


def _decorated(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function that an absent decorator is given stays as it is."""
    return args[0] if len(args) == 1 and not options and isinstance(args[0], types.FunctionType) else None


class _AbsentModule(types.ModuleType):
    __version__ = VERSION

    def __getattr__(self, name: str) -> Any:
        if _is_special(name):
            raise AttributeError(name)
        return Absent


class Placeholders(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for what `package` imports and cannot have, and for modules of its own that are named.

    `absent` collects the packages that were replaced.
    """

    def __init__(self, package: str, own: Sequence[str] = ()) -> None:
        self.absent: set[str] = set()
        self._package = package
        self._own = frozenset(own)
        self._version = importlib.metadata.version

    def __enter__(self) -> Placeholders:
        sys.meta_path.insert(0, _First(self, self._own))
        sys.meta_path.append(self)
        importlib.metadata.version = self._any_version
        return self

    def __exit__(self, *error: object) -> None:
        del sys.meta_path[0]
        sys.meta_path.remove(self)
        importlib.metadata.version = self._version

    def _any_version(self, name: str) -> str:
        try:
            return self._version(name)
        except importlib.metadata.PackageNotFoundError:
            return VERSION

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        top = name.partition(".")[0]
        if top == self._package and not name.endswith(("._C", "._version")):
            return None
        frame = sys._getframe(1)
        while "importlib" in frame.f_code.co_filename and frame.f_back is not None:
            frame = frame.f_back
        importer = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if importer != self._package and importer not in self.absent:
            return None
        self.absent.add(top)
        return self.placeholder(name)

    def placeholder(self, name: str) -> importlib.machinery.ModuleSpec:
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


class _First(importlib.abc.MetaPathFinder):
    def __init__(self, owner: Placeholders, names: frozenset[str]) -> None:
        self._owner, self._names = owner, names

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        return self._owner.placeholder(name) if name in self._names else None
