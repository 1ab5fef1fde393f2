"""Where we read a stream otherwise than openai-harmony's strict parser, although it accepts it: one predicate each.

A predicate looks at the stream alone, never at what a parser made of it. Sections are those of docs/harmony.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import harmonystream as hs

VOCAB = hs.vocab.o200k_harmony()
CHANNEL, CONSTRAIN, MESSAGE = (VOCAB.control[f"<|{name}|>"] for name in ("channel", "constrain", "message"))
TERMINATORS = {VOCAB.control[f"<|{name}|>"] for name in ("end", "call", "return")}
CHANNELS = ("analysis", "commentary", "final")
ROLES = ("assistant", "user", "system", "developer", "tool")
BUILTINS = ("python", "browser", "container")
UNICODE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


@dataclass
class Segment:
    """Part of a header: what follows `marker`, or what stands before the first one (None)."""

    marker: int | None
    data: bytes = b""

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    @property
    def words(self) -> list[str]:
        return self.text.split()


@dataclass
class Piece:
    """One message as openai-harmony cuts the stream: a header up to `<|message|>`, a body up to a terminator."""

    preset: bool
    header: list[int] = field(default_factory=list)
    body: list[int] = field(default_factory=list)

    @property
    def segments(self) -> list[Segment]:
        segments = [Segment(None)]
        for tid in self.header:
            if tid in (CHANNEL, CONSTRAIN):
                segments.append(Segment(tid))
            elif not VOCAB.is_control(tid):
                segments[-1].data += VOCAB.token_bytes(tid)
        return segments

    @property
    def role_words(self) -> list[str]:
        """Of the first segment; the role that the prompt has set may be repeated."""
        words = self.segments[0].words
        return words[1:] if self.preset and words[:1] == ["assistant"] else words

    @property
    def rest(self) -> list[str]:
        """All words but the role and the channels, in order."""
        words = self.role_words if self.preset else self.role_words[1:]
        for segment in self.segments[1:]:
            words = words + (segment.words[1:] if segment.marker == CHANNEL else segment.words)
        return words

    def of(self, marker: int) -> list[Segment]:
        return [segment for segment in self.segments if segment.marker == marker]


def pieces(ids: Sequence[int]) -> Iterator[Piece]:
    """The messages of a stream after `<|start|>assistant`."""
    piece, state = Piece(preset=True), "header"
    for tid in ids:
        if state == "between":
            piece, state = Piece(preset=False), "header"  # the token is <|start|>; they accept nothing else
        elif state == "header" and tid == MESSAGE:
            state = "body"
        elif state == "header":
            piece.header.append(tid)
        elif tid in TERMINATORS:
            yield piece
            state = "between"
        else:
            piece.body.append(tid)
    if state == "body":
        yield piece


def control_in_body(piece: Piece) -> bool:
    return any(VOCAB.is_control(tid) for tid in piece.body)


def control_in_header(piece: Piece) -> bool:
    return any(VOCAB.is_control(tid) and tid not in (CHANNEL, CONSTRAIN) for tid in piece.header)


def spelled_marker_in_header(piece: Piece) -> bool:
    return any("<|" in segment.text for segment in piece.segments)


def unicode_space_in_header(piece: Piece) -> bool:
    """At the end of a channel they take it for a space as well."""
    last = piece.segments[-1]
    texts = [segment.text for segment in piece.segments[:-1]]
    texts.append(last.text[:-1] if last.marker == CHANNEL else last.text)
    return any(map(UNICODE_SPACE.search, texts))


def header_too_long(piece: Piece) -> bool:
    return sum(1 if VOCAB.is_control(tid) else len(VOCAB.token_bytes(tid)) for tid in piece.header) > 256


def several_channels(piece: Piece) -> bool:
    return len(piece.of(CHANNEL)) > 1


def misspelt_channel(piece: Piece) -> bool:
    """Not an exact name, and not plainly another one."""
    words = [segment.words[0] for segment in piece.of(CHANNEL) if segment.words and segment.words[0] not in CHANNELS]
    letters = [re.search("[a-z]*", re.sub("^[^a-z]*", "", word.lower()))[0] for word in words]
    normalised = any(first.startswith(("analysis", "comment", "final")) for first in letters)
    return normalised or any(word.startswith("to=") or "<" in word for word in words)


def unmarked_words(piece: Piece) -> bool:
    """Behind the role, a word that no header has there: text without any markup looks like this."""
    words = piece.role_words if piece.preset else piece.role_words[1:]
    return bool(words) and not words[0].startswith("to=")


def unknown_author(piece: Piece) -> bool:
    if piece.preset:
        return False
    first = piece.role_words[0] if piece.role_words else ""
    if first in ROLES:
        return False
    named = "." in first or first in BUILTINS or "to=assistant" in piece.role_words[1:]
    return not named or first in CHANNELS or first.startswith(("to=", "assistant"))


def word_as_recipient(piece: Piece) -> bool:
    """No `to=`, and a word that is not a name of a tool."""
    constrained = [segment.words[0] for segment in piece.of(CONSTRAIN) if segment.words]
    if not piece.rest or any(word.startswith("to=") for word in piece.rest):
        return False
    first = piece.rest[0]
    tool = first.startswith("functions.") or first.split(".")[0] in BUILTINS
    return first in constrained or not tool or (first == "python" and not constrained)


def space_behind_to(piece: Piece) -> bool:
    return "to=" in piece.rest


def loose_constrain(piece: Piece) -> bool:
    """No word directly after the marker, or one that is no type."""
    return any(re.match(r"\s|to=|$", segment.text) for segment in piece.of(CONSTRAIN))


PREDICATES: dict[str, Callable[[Piece], bool]] = {
    predicate.__name__: predicate
    for predicate in (
        control_in_body,  # 2: a boundary, or dropped; they keep it as literal text
        control_in_header,  # 2, 5: ends or abandons the header; they keep it as part of a name
        spelled_marker_in_header,  # 1: data; they take it for the marker
        unicode_space_in_header,  # 3: divides words; they split at ASCII spaces
        header_too_long,  # 2: the cap; they have none
        several_channels,  # 3.2: the last recognised one wins; they keep the first
        misspelt_channel,  # 3.2: normalised; they keep it as it is
        unmarked_words,  # 5: text without markup; they look for a recipient
        unknown_author,  # 3.1: the assistant; they take any first word for a tool
        word_as_recipient,  # 3.4: a content type; they take the only word for the recipient
        space_behind_to,  # 3.4: the next word is the recipient; they take an empty one
        loose_constrain,  # 3.3, 3.4: a recipient, the next word, or nothing; they keep the marker
    )
}


def divergences(ids: Sequence[int]) -> set[str]:
    """The names of the divergences that this stream contains."""
    found = list(pieces(ids))
    return {name for name, predicate in PREDICATES.items() if any(map(predicate, found))}
