"""Ends a generation at a stop or at its token limit, for engines that do not end there themselves."""

from __future__ import annotations

import re
from typing import Any

from ..engines import Sampling
from ..formats import HeaderFormat
from ..prompt import Prompt

__all__ = ["Bounds"]


CHARACTERS = 16
"""The limit for text, for each token of the limit. Over any length, a model's tokens have fewer characters."""


class Bounds:
    """Cuts an engine's output. over: the reason, "stop" or "length", once the end is reached; None before. cut: was a
    part of an item left out?

    The limit counts ids. Text has no tokens, so the limit is looser there: the text may have more items than the limit,
    but at most `CHARACTERS` for each token of it.
    """

    def __init__(self, prompt: Prompt, sampling: Sampling) -> None:
        self.over: str | None = None
        self.cut = False
        self._left = sampling.max_tokens
        self._left_characters = sampling.max_tokens * CHARACTERS
        self._stop_ids = frozenset(prompt.stop_ids)
        # In text, a format's tags may be quoted, and only its parser can decide that. Harmony's markers always count.
        stops = sorted(prompt.stops, key=len, reverse=True) if isinstance(prompt.format, HeaderFormat) else []
        self._stops = re.compile("|".join(map(re.escape, stops))) if stops else None
        self._carried = max(map(len, stops), default=1) - 1
        self._tail = ""

    def ids(self, ids: Any) -> Any:
        """The ids up to the end of the generation, including the last one. ids: one id, or several."""
        if isinstance(ids, int):
            self._left -= 1
            if ids in self._stop_ids:
                self.over = "stop"
            elif self._left <= 0:
                self.over = "length"
            return ids
        stop_ids = self._stop_ids
        for at, token in enumerate(ids):
            self._left -= 1
            if token in stop_ids or self._left <= 0:
                self.over = "stop" if token in stop_ids else "length"
                self.cut = at + 1 < len(ids)
                return ids[: at + 1]
        return ids

    def text(self, text: str) -> str:
        """The text up to the end of the generation."""
        self._left -= 1
        self._left_characters -= len(text)
        if self._stops is not None:
            joined = self._tail + text
            if (found := self._stops.search(joined)) is not None and found.end() > len(self._tail):
                self.over, self.cut = "stop", found.end() < len(joined)
                return text[: found.end() - len(self._tail)]
            self._tail = joined[-self._carried :] if self._carried else ""
        if self._left <= 0 and self._left_characters <= 0:
            self.over = "length"
        return text
