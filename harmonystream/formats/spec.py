"""The language in which a format is described: data, compiled against a vocabulary by the native core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Format(NamedTuple):
    """How a model writes its output.

    name: as passed to `Parser`. markers: what each is for -> its spelling, which is also its name in a vocabulary.
    required: the markers that a vocabulary must have as control ids.
    stops: the spellings at which generation should stop.
    """

    name: str
    markers: Mapping[str, str]
    required: frozenset[str]
    stops: frozenset[str] = frozenset()
