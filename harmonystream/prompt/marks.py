"""Text of users, kept apart from markers: a mark inside each marker that they spell, which no tokenizer ever sees."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from .._native.core.vocab import Vocab
from ..errors import PromptError
from .reader import split_thinking

__all__ = ["Marked", "encode_marked", "mark_strings", "spelling", "unmark_thinking"]

_CANDIDATES = [chr(code) for code in range(0xF8FF, 0xE000, -1)]
"""Private-use characters; the first that the input does not have is the mark."""


class Marked(NamedTuple):
    """Data with the mark in its strings. `mark` is "" if there was nothing to keep apart."""

    data: Any
    mark: str


class _Spelling(NamedTuple):
    """Finds markers in a text, and the beginning of one at its end."""

    whole: re.Pattern[str]
    tail: re.Pattern[str]


def spelling(markers: Iterable[str]) -> _Spelling:
    """The patterns for a set of markers."""
    names = sorted((name for name in markers if len(name) > 1), key=len, reverse=True)
    whole = "|".join(map(re.escape, names)) or "(?!)"
    tails = {name[:size] for name in names for size in range(1, len(name))}
    tail = "|".join(map(re.escape, sorted(tails, key=len, reverse=True))) or "(?!)"
    return _Spelling(re.compile(f"({whole})"), re.compile(rf"(?:{tail})\Z"))


def mark_strings(data: Any, markers: _Spelling) -> Marked:
    """Put the mark after the first character of each marker that the strings spell, or begin to spell at their end."""
    found: list[str] = []
    _strings(data, found)
    if not any(markers.whole.search(text) or markers.tail.search(text) for text in found):
        return Marked(data, "")
    mark = next((mark for mark in _CANDIDATES if not any(mark in text for text in found)), None)
    if mark is None:
        raise PromptError("the messages use every private-use character, so their markers cannot be kept apart")
    return Marked(_marked(data, markers, mark), mark)


def _strings(data: Any, found: list[str]) -> None:
    if isinstance(data, str):
        found.append(data)
    elif isinstance(data, dict):
        for key, value in data.items():
            found.append(key)
            _strings(value, found)
    elif isinstance(data, list):
        for value in data:
            _strings(value, found)


def _marked(data: Any, markers: _Spelling, mark: str) -> Any:
    if isinstance(data, str):
        broken = markers.whole.sub(lambda match: match[0][0] + mark + match[0][1:], data)
        tail = markers.tail.search(broken)
        return broken if tail is None else broken[: tail.start() + 1] + mark + broken[tail.start() + 1 :]
    if isinstance(data, dict):
        return {_marked(key, markers, mark): _marked(value, markers, mark) for key, value in data.items()}
    if isinstance(data, list):
        return [_marked(value, markers, mark) for value in data]
    return data


def unmark_thinking(text: str, think: tuple[str, str], mark: str) -> str:
    """A marked content of the assistant in which the tags around its reasoning, where it begins with some, are markers.

    Some templates look for them in the content. They are markup: the model wrote them.
    """
    opener, closer = think
    if split_thinking(text.replace(mark, ""), think) == ("", text.replace(mark, "")):
        return text
    first, last = opener[0] + mark + opener[1:], closer[0] + mark + closer[1:]
    if text.lstrip().startswith(first):
        text = text.replace(first, opener, 1)
    return text.replace(last, closer, 1)


def encode_marked(text: str, mark: str, vocab: Vocab) -> list[int]:
    """The ids of a rendered text: what is spelled whole is a marker, and what has the mark in it is text."""
    if not mark:
        return vocab.encode(text, control=True)
    names = vocab.markers
    longest_first = sorted(filter(None, names), key=len, reverse=True)
    ids: list[int] = []
    for i, piece in enumerate(re.split(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})", text)):
        if i % 2:
            ids.append(names[piece])
        else:
            ids += vocab.encode(piece.replace(mark, ""))
    return ids
