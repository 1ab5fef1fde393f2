"""Finds where a recorded generation continues the beginning of an answer that was written by other code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._native.stream.parser import Parser
from .base import Prompt

__all__ = ["Beginning"]

_COMPARED = 1 << 12
"""How many bytes before a place are compared with those before another one."""


class Beginning:
    """The beginning of an answer, at the end of a prompt. begun: as in `Prompt`."""

    def __init__(self, prompt: Prompt, begun: int) -> None:
        ids = prompt.ids
        self._vocab = getattr(prompt, "vocab", None)
        changes: dict[str, Any] = {"begun": 0, "text": prompt.text[:-begun]} if ids is None else {"begun": 0}
        if ids is not None:
            changes["ids"] = ids[:-begun]
        self._bare: Any = replace(prompt, **changes)  # type: ignore[type-var]
        written = prompt.text[-begun:] if ids is None else ids[-begun:]
        self._written = b"".join(self._pieces(written))
        parser = self._parser()
        _feed(parser, written)
        self._region = parser.region

    def _parser(self) -> Parser:
        """A parser that has read nothing of the answer. It has no tools, because the recording may call others."""
        parser: Parser = self._bare.parser(tools=None)
        return parser

    def _pieces(self, tokens: Sequence[int] | str) -> list[bytes]:
        if isinstance(tokens, str):
            return [character.encode("utf-8", "replace") for character in tokens]
        return [] if self._vocab is None else [self._vocab.token_bytes(token) for token in tokens]

    def agreement(self, tokens: Sequence[int] | str) -> int:
        """How many bytes a recorded generation shares with the answer's beginning. -1 if it has no place to continue
        from.
        """
        return -1 if self.place(tokens) is None else _shared(self._written, b"".join(self._pieces(tokens)))

    def place(self, tokens: Sequence[int] | str) -> int | None:
        """The index of the next token. None if the generation has no place like the end of the beginning.

        The place is in the same region, for example in a call's arguments. If there are several, it is the first one
        among those that share the most text before them.
        """
        pieces = self._pieces(tokens)
        parser = self._parser()
        tail = self._written[-_COMPARED:][::-1]
        spelled, found, most = b"", None, -1
        for at, token in enumerate(tokens):
            if parser.region is self._region:
                same = _shared(tail, spelled[::-1])
                if same > most:
                    found, most = at, same
            _feed(parser, token)
            if pieces:
                spelled = (spelled + pieces[at])[-_COMPARED:]
        return found


def _feed(parser: Parser, tokens: Any) -> None:
    if isinstance(tokens, str):
        parser.feed_text(tokens)
    else:
        parser.feed(tokens)


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes both have in common at the beginning."""
    for at, (left, right) in enumerate(zip(one, other)):
        if left != right:
            return at
    return min(len(one), len(other))
