"""The regular expression that finds the spellings of markers in text."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["any_of"]

_DEEPEST = 50
"""How often a name may branch off another one. Python compiles a group inside a group by recursion."""


def any_of(names: Iterable[str]) -> str:
    """A pattern that matches the longest of these names that begins at a place, or nothing if there are none.

    What several names begin with is written once: a vocabulary may have thousands of markers, and Python takes 0.2 s to
    compile them if they stand side by side.
    """
    return _any_of(sorted(set(names) - {""}), _DEEPEST) or "(?!)"


def _any_of(names: list[str], levels: int) -> str:
    """The pattern of sorted names."""
    if levels == 0:
        return _group(map(re.escape, sorted(names, key=len, reverse=True)))
    starts: dict[str, list[str]] = {}
    for name in names:
        starts.setdefault(name[:1], []).append(name)
    ends_here = starts.pop("", [])
    found = []
    for some in starts.values():
        size = _alike(some[0], some[-1])
        rest = _any_of([name[size:] for name in some], levels - 1) if len(some) > 1 else ""
        found.append(re.escape(some[0][:size]) + rest)
    return _group(found) + ("?" if ends_here and found else "") if found else ""


def _group(choices: Iterable[str]) -> str:
    joined = "|".join(choices)
    return f"(?:{joined})" if joined else ""


def _alike(first: str, last: str) -> int:
    """How many characters two names begin with alike. All names that are sorted between them begin with these, too."""
    return next((at for at, (one, other) in enumerate(zip(first, last)) if one != other), min(len(first), len(last)))
