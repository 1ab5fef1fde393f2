"""Finds the message to which each token of a rendered conversation belongs."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from ..prompt.rendering import Draft
from ..regions import Region

__all__ = ["NO_MESSAGE", "Span", "spans_of"]

Span: TypeAlias = tuple[int, int, int]
"""Where tokens begin, where they end, and the number of their message in the chat."""

NO_MESSAGE = -1
_RUN = re.compile(rb"[^%c]+" % Region.SUPPRESSED, re.DOTALL)


def spans_of(
    draft: Draft, chat: Sequence[dict[str, Any]], pieces: Sequence[array[int]], labels: bytes, turns: Sequence[int] = ()
) -> list[Span] | None:
    """The spans of a chat that is rendered as `pieces`. None if they cannot be found.

    If the writer has noted the messages, as Harmony's does, each token has one. Otherwise only the assistant's messages
    are found, by the labels: everything between them is SUPPRESSED. turns: where turns begin that no marker opens.
    """
    if draft.begins:
        at = [0, *accumulate(map(len, pieces))]
        ends = [at[first] for first, _ in draft.begins[1:]] + [at[-1]]
        return [(at[first], end, number) for (first, number), end in zip(draft.begins, ends)]
    runs = [run for match in _RUN.finditer(labels) for run in _cut(*match.span(), turns)]
    numbers = [i for i, message in enumerate(chat) if message["role"] == "assistant"]
    if len(runs) != len(numbers):
        return None
    return [(begin, end, number) for (begin, end), number in zip(runs, numbers)]


def _cut(begin: int, end: int, turns: Sequence[int]) -> list[tuple[int, int]]:
    """The run, cut where turns begin in it, because no marker is between them."""
    places = [begin, *(turn for turn in turns if begin < turn < end), end]
    return [*pairwise(places)]
