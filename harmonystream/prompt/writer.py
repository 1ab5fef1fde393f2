"""Collects a prompt, marker by marker and text by text, as text and as ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from .._native.core.vocab import Vocab

__all__ = ["JoiningWriter", "Writer"]


class Writer:
    """Collects a prompt as text and, with a vocabulary that can encode, as ids. Only `marker` makes control ids."""

    def __init__(self, vocab: Vocab | None) -> None:
        self.parts: list[str] = []
        self.ids: list[int] = []
        self._encode: Callable[[str], Sequence[int]] | None = None
        self._short: Callable[[str], Sequence[int]] | None = None
        if vocab is not None:
            self._encode = vocab.encode
            self._short, self._markers = _known(vocab)

    def marker(self, name: str) -> None:
        self.parts.append(name)
        if self._encode is not None:
            self.ids.append(self._markers[name])

    def word(self, text: str) -> None:
        """A part of a header. Few of them differ, so the ids of short ones are remembered."""
        if self._short is None or len(text) > 64:
            self.text(text)
        else:
            self.parts.append(text)
            self.ids += self._short(text)

    def text(self, text: str) -> None:
        """Ordinary text: a marker that is spelled in it stays text."""
        self.parts.append(text)
        if self._encode is not None:
            self.ids += self._encode(text)


@lru_cache(maxsize=8)
def _known(vocab: Vocab) -> tuple[Callable[[str], tuple[int, ...]], dict[str, int]]:
    """What all prompts of one vocabulary share: the ids of short texts that were met before, and of markers."""

    @lru_cache(maxsize=4096)
    def ids(text: str) -> tuple[int, ...]:
        return tuple(vocab.encode(text))

    return ids, vocab.markers


class JoiningWriter(Writer):
    """Encodes all text between two markers at once, as a tokenizer does that is given the whole prompt."""

    def __init__(self, vocab: Vocab | None) -> None:
        super().__init__(vocab)
        self._pending: list[str] = []

    def marker(self, name: str) -> None:
        if self._encode is not None and name not in self._markers:
            return self.text(name)  # a vocabulary without it spells it
        self.flush()
        return super().marker(name)

    def text(self, text: str) -> None:
        self.parts.append(text)
        self._pending.append(text)

    word = text

    def flush(self) -> None:
        """Encode what is pending; call it at the end."""
        if self._pending and self._encode is not None:
            self.ids += self._encode("".join(self._pending))
        self._pending.clear()
