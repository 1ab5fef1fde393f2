"""Keeps users' text apart from markers: the first character of each marker in it is replaced by a stand-in.

No tokenizer ever sees a stand-in. A template sees the original characters (jinja.py), so that its tests give the usual
results. Only the thinking tags that an assistant mentions stay hidden from it, because a template would cut the message
there.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from .._native.core.vocab import Vocab
from ..errors import PromptError
from ..vocabs.spellings import any_of
from .plainly import original
from .reader import split_thinking
from .writer import Piece

__all__ = ["Marked", "StandIns", "hide_mentions", "mark_strings", "marked_pieces", "spelling"]

_CANDIDATES = [chr(code) for block in ((0x4DC0, 0x4E00), (0x2801, 0x2900), (0xE000, 0xF900)) for code in range(*block)]
"""Symbols; those that the input does not have may stand in. Templates print lists as Python does, which escapes
private-use characters: they come last."""
_FEW = 8


class StandIns(NamedTuple):
    """Characters by their stand-ins. A template sees those in `shown`, and does not see those in `hidden`."""

    shown: Mapping[int, str] = {}
    hidden: Mapping[int, str] = {}

    def undone(self, text: str) -> str:
        """The original text."""
        return original(text, {**self.shown, **self.hidden}) if self else text

    def __bool__(self) -> bool:
        return bool(self.shown or self.hidden)


class Marked(NamedTuple):
    """Data with stand-ins in its strings."""

    data: Any
    stand_ins: StandIns


class Spelling(NamedTuple):
    """Finds where text contains a marker, or the beginning of one at its end."""

    starts: re.Pattern[str]
    firsts: str
    """The first characters of the markers, if they are few. Text without them needs no search."""

    def found_in(self, texts: Iterable[str]) -> set[str]:
        """The first characters of the markers in the texts."""
        if self.firsts:
            texts = {text for first in self.firsts for text in texts if first in text}
        return {match[0] for text in texts for match in self.starts.finditer(text)}

    def marked(self, text: str, table: Mapping[str, str]) -> str:
        if self.firsts and not any(first in text for first in self.firsts):
            return text
        return self.starts.sub(lambda match: table.get(match[0], match[0]), text)


def spelling(markers: Iterable[str]) -> Spelling:
    """The pattern for a set of markers. It finds all places, even one inside another marker."""
    return _spelling(tuple(markers))


@lru_cache(32)  # a vocabulary may have thousands of markers, and render many conversations
def _spelling(markers: tuple[str, ...]) -> Spelling:
    names = {name for name in markers if len(name) > 1}
    whole, tail = any_of(names), any_of(name[:size] for name in names for size in range(1, len(name)))
    firsts = "".join(sorted({name[0] for name in names}))
    return Spelling(re.compile(rf"(?={whole}|{tail}\Z).", re.DOTALL), firsts if len(firsts) <= _FEW else "")


def mark_strings(data: Any, markers: Spelling | None, think: tuple[str, str] | None, more: str = "") -> Marked:
    """Put stand-ins for markers into the strings of `data`, whose `messages` are those of a chat.

    markers: with None, only the `think` tags that assistants mention are marked. more: another text that must not
    contain the characters used as stand-ins.
    """
    found: list[str] = []
    _strings(data, found)
    joined = "\0".join(found)
    firsts = markers.found_in(found) if markers else set()
    tags = {tag[0] for tag in think or () if tag and tag in joined}
    if not firsts and not tags:
        return Marked(data, StandIns())
    used = {*joined, *more}
    free = (candidate for candidate in _CANDIDATES if candidate not in used)
    try:
        shown = {first: next(free) for first in sorted(firsts)}
        hidden = {first: next(free) for first in sorted(tags)}
    except StopIteration:
        raise PromptError("the messages use too many rare symbols, so that markers cannot be kept apart") from None
    if think is not None and hidden:
        data = {**data, "messages": [_mentions_hidden(message, think, hidden) for message in data["messages"]]}
    if markers is not None and shown:
        data = _marked(data, markers, shown)
    back = StandIns(*({ord(mark): first for first, mark in table.items()} for table in (shown, hidden)))
    if think is not None and shown:
        for message in data["messages"]:
            if message["role"] == "assistant" and isinstance(message["content"], str):
                message["content"] = _thinking_shown(message["content"], think, back)
    return Marked(data, back)


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


def _marked(data: Any, markers: Spelling, table: Mapping[str, str]) -> Any:
    if isinstance(data, str):
        return markers.marked(data, table)
    if isinstance(data, dict):
        return {_marked(key, markers, table): _marked(value, markers, table) for key, value in data.items()}
    if isinstance(data, list):
        return [_marked(value, markers, table) for value in data]
    return data


def _mentions_hidden(message: dict[str, Any], think: tuple[str, str], table: Mapping[str, str]) -> dict[str, Any]:
    if message["role"] != "assistant":
        return message
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": hide_mentions(content, think, table)}
    parts = [
        {**part, "text": hide_mentions(part["text"], think, table)} if isinstance(part.get("text"), str) else part
        for part in content
    ]
    return {**message, "content": parts}


def hide_mentions(text: str, think: tuple[str, str], table: Mapping[str, str]) -> str:
    """An assistant's text with the tags hidden, except those around the reasoning at its beginning."""
    opener, closer = think
    kept = 0
    if split_thinking(text, think)[0]:
        kept = text.index(closer, text.index(opener) + len(opener)) + len(closer)
    hidden = text[kept:]
    for tag in think:
        hidden = hidden.replace(tag, table[tag[0]] + tag[1:])
    return text[:kept] + hidden


def _thinking_shown(text: str, think: tuple[str, str], stand_ins: StandIns) -> str:
    """Show the tags around the reasoning at the beginning of marked content. They are markers, because the model wrote
    them.
    """
    opener, closer = think
    plain = original(text, stand_ins.shown)
    if not split_thinking(plain, think)[0]:
        return text
    start = plain.index(opener)
    end = plain.index(closer, start + len(opener))
    return text[:start] + opener + text[start + len(opener) : end] + closer + text[end + len(closer) :]


def marked_pieces(text: str, stand_ins: StandIns, vocab: Vocab) -> tuple[list[Piece], bool]:
    """The pieces of a rendered text, and whether the markers in it are tokens.

    Without stand-ins they are, because only the template can have written a marker. With stand-ins, a complete marker
    is a marker, and one that contains a stand-in is text.
    """
    if not stand_ins:
        return [text], True
    names = vocab.markers
    pieces: list[Piece] = []
    for i, piece in enumerate(_splitter(tuple(names)).split(text)):
        pieces.append(array("I", (names[piece],)) if i % 2 else stand_ins.undone(piece))
    return pieces, False


@lru_cache(32)
def _splitter(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(f"({any_of(names)})")
