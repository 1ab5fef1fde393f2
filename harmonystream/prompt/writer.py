"""Collects a prompt, marker by marker and text by text, as text and as ids."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from .._native.core.vocab import Vocab

__all__ = ["JoiningWriter", "MarkupWriter", "Writer"]

MAX_HEADER = 512
MAX_CONSTANT = 100_000
"""Characters of a header, and of a declaration, whose ids are remembered."""


class Writer:
    """Collects a prompt as text and, with a vocabulary that can encode, as ids. Only `marker` makes control ids."""

    def __init__(self, vocab: Vocab | None) -> None:
        self.parts: list[str] = []
        self.ids: list[int] = []
        self._encode: Callable[[str], Sequence[int]] | None = None
        if vocab is not None:
            self._encode = vocab.encode
            self._known = _known(vocab)

    def marker(self, name: str) -> None:
        self.parts.append(name)
        if self._encode is not None:
            self.ids.append(self._known.markers[name])

    def header(self, write: Callable[..., None], *fields: str | None) -> None:
        """What `write(writer, *fields)` writes. Few headers differ, so the last 1024 are remembered by their fields."""
        if self._encode is None or sum(map(len, filter(None, fields))) > MAX_HEADER:
            write(self, *fields)
        else:
            parts, ids = self._known.header(write, *fields)
            self.parts += parts
            self.ids += ids

    def constant(self, text: str) -> None:
        """What request after request says, such as the declarations of tools. The ids of the last 64 are remembered."""
        if self._encode is None or len(text) > MAX_CONSTANT:
            self.text(text)
        else:
            self.parts.append(text)
            self.ids += self._known.constant(text)

    def text(self, text: str) -> None:
        """Ordinary text: a marker that is spelled in it stays text."""
        self.parts.append(text)
        if self._encode is not None:
            self.ids += self._encode(text)


class _Known(NamedTuple):
    """What all prompts of one vocabulary share: the ids of what was met before, and of markers."""

    header: Callable[..., tuple[list[str], list[int]]]
    constant: Callable[[str], Sequence[int]]
    markers: dict[str, int]


@lru_cache(maxsize=8)
def _known(vocab: Vocab) -> _Known:
    @lru_cache(maxsize=1024)
    def header(write: Callable[..., None], *fields: str | None) -> tuple[list[str], list[int]]:
        writer = Writer(vocab)
        write(writer, *fields)
        return writer.parts, writer.ids

    @lru_cache(maxsize=64)
    def constant(text: str) -> array[int]:
        return array("I", vocab.encode(text))

    return _Known(header, constant, vocab.markers)


class JoiningWriter(Writer):
    """Encodes all text between two markers at once, as a tokenizer does that is given the whole prompt."""

    def __init__(self, vocab: Vocab | None) -> None:
        super().__init__(vocab)
        self._pending: list[str] = []

    def marker(self, name: str) -> None:
        if self._encode is not None and name not in self._known.markers:
            return self.text(name)  # a vocabulary without it spells it
        self.flush()
        return super().marker(name)

    def text(self, text: str) -> None:
        self.parts.append(text)
        self._pending.append(text)

    constant = text

    def flush(self) -> None:
        """Encode what is pending; call it at the end."""
        if self._pending and self._encode is not None:
            self.ids += self._encode("".join(self._pending))
        self._pending.clear()


class MarkupWriter(JoiningWriter):
    """Writes what a chat template does: `markup` is the template's own text, in which each marker is a token."""

    def __init__(self, vocab: Vocab | None) -> None:
        super().__init__(vocab)
        self._markers = None if vocab is None else _markers_of(vocab)

    def markup(self, text: str) -> None:
        if self._markers is None:
            return self.text(text)
        for i, piece in enumerate(self._markers.split(text)):
            if i % 2:
                self.marker(piece)
            elif piece:
                self.text(piece)
        return None


@lru_cache(maxsize=8)
def _markers_of(vocab: Vocab) -> re.Pattern[str]:
    names = sorted(filter(None, vocab.markers), key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, names)) or '(?!)'})")
