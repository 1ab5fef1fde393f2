"""Collects a prompt, marker by marker and text by text, as text and as ids."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from .._native.core.vocab import Vocab
from ..vocabs.spellings import any_of

__all__ = ["JoiningWriter", "MarkupWriter", "Piece", "Writer", "ids_of"]

Piece: TypeAlias = "str | array[int]"
"""Ordinary text that is to be encoded, or ids."""

MAX_HEADER = 512
MAX_CONSTANT = 100_000
"""Characters of a header, and of a declaration, whose ids are remembered."""
MOST_HEADERS = 1024


class Writer:
    """Collects a prompt as text (`parts`) and, with a vocabulary, as `pieces` that become ids.

    Only `marker` makes control ids. Text is not encoded here, so that code that renders many prompts can encode all
    their texts at once.
    """

    def __init__(self, vocab: Vocab | None) -> None:
        self.parts: list[str] = []
        self.pieces: list[Piece] = []
        self.begins: list[tuple[int, int]] = []
        """Where a message of the chat begins: how many pieces are before it, and its number; -1 for one of none."""
        self.turns: list[int] = []
        """Where a turn of the assistant begins that no marker opens: how many pieces are before it."""
        self._vocab = vocab
        if vocab is not None:
            self._known = _known(vocab)

    @property
    def ids(self) -> list[int]:
        """All ids. Raises what `Vocab.encode` raises."""
        return [] if self._vocab is None else ids_of(self.pieces, self._vocab.encode)

    def message(self, number: int) -> None:
        """Everything after this belongs to this message of the chat."""
        self.begins.append((len(self.pieces), number))

    def turn(self) -> None:
        """Here begins a turn of the assistant, and no marker opens it. A marker is before it or after it."""
        self.turns.append(len(self.pieces))

    def marker(self, name: str) -> None:
        self.parts.append(name)
        if self._vocab is not None:
            self.pieces.append(self._known.markers[name])

    def header(self, write: Callable[..., None], *fields: str | None) -> None:
        """Write what `write(writer, *fields)` writes. Few headers differ, so they are remembered by their fields."""
        if self._vocab is None:
            return write(self, *fields)
        key = write, fields
        found = self._known.headers.get(key)
        if found is None:
            if sum(map(len, filter(None, fields))) > MAX_HEADER:
                return write(self, *fields)
            other = Writer(self._vocab)
            write(other, *fields)
            if len(self._known.headers) >= MOST_HEADERS:
                self._known.headers.clear()
            found = self._known.headers[key] = "".join(other.parts), array("I", other.ids)
        self.parts.append(found[0])
        self.pieces.append(found[1])
        return None

    def constant(self, text: str) -> None:
        """Write text that many requests share, such as tool declarations. The ids of the last 64 such texts are
        remembered.
        """
        if self._vocab is None or len(text) > MAX_CONSTANT:
            self.text(text)
        else:
            self.parts.append(text)
            self.pieces.append(self._known.constant(text))

    def text(self, text: str) -> None:
        """Write ordinary text. A marker in it stays text."""
        self.parts.append(text)
        if self._vocab is not None:
            self.pieces.append(text)


def ids_of(pieces: Iterable[Piece], encode: Callable[[str], Iterable[int]]) -> list[int]:
    """The ids of pieces. Each text is encoded separately."""
    ids: list[int] = []
    for piece in pieces:
        ids += encode(piece) if isinstance(piece, str) else piece
    return ids


class _Known(NamedTuple):
    """What all prompts of one vocabulary share: the ids of recent texts, and of markers."""

    headers: dict[tuple[Callable[..., None], tuple[str | None, ...]], tuple[str, array[int]]]
    constant: Callable[[str], array[int]]
    markers: dict[str, array[int]]


@lru_cache(maxsize=8)
def _known(vocab: Vocab) -> _Known:
    @lru_cache(maxsize=64)
    def constant(text: str) -> array[int]:
        return array("I", vocab.encode(text))

    return _Known({}, constant, {name: array("I", (tid,)) for name, tid in vocab.markers.items()})


class JoiningWriter(Writer):
    """Encodes all text between two markers at once, like a tokenizer that gets the whole prompt."""

    def __init__(self, vocab: Vocab | None) -> None:
        super().__init__(vocab)
        self._pending: list[str] = []

    def marker(self, name: str) -> None:
        if self._vocab is not None and name not in self._known.markers:
            return self.text(name)  # a vocabulary without this marker spells it as text
        self.flush()
        return super().marker(name)

    def text(self, text: str) -> None:
        self.parts.append(text)
        self._pending.append(text)

    constant = text

    def turn(self) -> None:
        self.flush()
        super().turn()

    def flush(self) -> None:
        """Join pending text. Call it at the end."""
        if self._pending and self._vocab is not None:
            self.pieces.append("".join(self._pending))
        self._pending.clear()


class MarkupWriter(JoiningWriter):
    """Writes like a chat template: `markup` is the template's own text, in which each marker is a token."""

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
    return re.compile(f"({any_of(vocab.markers)})")
