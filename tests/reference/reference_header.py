"""What a header says: section 3 of docs/harmony.md. Part of reference.py."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reference_names import find_name, unquoted

CHANNELS = ("analysis", "commentary", "final")
ROLES = ("assistant", "user", "system", "developer", "tool")
BUILTINS = ("python", "browser", "container")
CONTENT_TYPES = ("json", "code", "text", "python", "markdown", "response")
SEPARATOR = "\0inert"  # stands for an inert id in a list of characters
WHITESPACE = frozenset(
    [chr(c) for c in (*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B))]
    + [chr(c) for c in (0x2028, 0x2029, 0x202F, 0x205F, 0x3000)]
)


class Symbol(NamedTuple):
    """One byte, or one control token (kind = its name), with the position of the token that it came from."""

    kind: str
    value: int
    start: int
    stop: int


class Opening(NamedTuple):
    """What MessageStart says."""

    role: str
    channel: str | None
    recipient: str | None
    content_type: str | None


@dataclass
class Header:
    role_open: bool
    start: int
    segments: list[tuple[str, list[Symbol]]] = field(default_factory=lambda: [("role", [])])
    size: int = 0

    def add(self, symbol: Symbol) -> None:
        self.size += 1
        if symbol.kind in ("channel", "constrain"):
            self.segments.append((symbol.kind, []))
        else:
            self.segments[-1][1].append(symbol)


class Char(NamedTuple):
    text: str  # one character, or SEPARATOR
    symbol: int  # where it begins in the segment's symbols

    @property
    def separates(self) -> bool:
        return self.text == SEPARATOR or self.text in WHITESPACE


class Word(NamedTuple):
    text: str
    begin: int  # half-open range of characters
    end: int
    at_end: bool  # nothing follows it, not even a separator


def decode_characters(data: bytes) -> Iterator[tuple[str, int]]:
    """Each character with the number of its bytes; ill-formed bytes as U+FFFD for each maximal subpart."""
    while data:
        good, bad = data, 0
        try:
            data.decode()
        except UnicodeDecodeError as error:
            good, bad = data[: error.start], error.end - error.start
        for char in good.decode():
            yield char, len(char.encode())
        if bad:
            yield "\N{REPLACEMENT CHARACTER}", bad
        data = data[len(good) + bad :]


def characters(symbols: Sequence[Symbol]) -> list[Char]:
    chars: list[Char] = []
    position = 0
    while position < len(symbols):
        run = position
        while run < len(symbols) and symbols[run].kind == "byte":
            run += 1
        for char, size in decode_characters(bytes(symbol.value for symbol in symbols[position:run])):
            chars.append(Char(char, position))
            position += size
        if run < len(symbols):
            chars.append(Char(SEPARATOR, run))
            position = run + 1
    return chars


def next_word(chars: Sequence[Char], begin: int) -> Word | None:
    while begin < len(chars) and chars[begin].separates:
        begin += 1
    end = begin
    while end < len(chars) and not chars[end].separates:
        end += 1
    if begin == end:
        return None
    return Word("".join(char.text for char in chars[begin:end]), begin, end, end == len(chars))


def split_words(chars: Sequence[Char]) -> list[str]:
    words: list[str] = []
    word = next_word(chars, 0)
    while word:
        words.append(word.text)
        word = next_word(chars, word.end)
    return words


def is_builtin(word: str) -> bool:
    return word.split(".")[0] in BUILTINS


def is_assistant(word: str) -> bool:
    """Once, or repeated without a gap."""
    return re.fullmatch("(assistant)+", word) is not None


@dataclass
class Findings:
    """What has been recognised in a header so far, and the rules that choose between several candidates."""

    tools: Sequence[str] | None
    role: str = "assistant"
    channel: str | None = None
    unrecognised_channel: str | None = None
    recipient: str | None = None
    content_type: str | None = None

    def see_channel(self, word: str) -> None:
        letters = re.search("[A-Za-z]+", word)
        for prefix, channel in (("analysis", "analysis"), ("comment", "commentary"), ("final", "final")):
            if letters and letters[0].lower().startswith(prefix):
                self.channel = channel
                return
        self.unrecognised_channel = word

    def see_recipient(self, name: str) -> None:
        if name and not (name == "assistant" and self.recipient):
            self.recipient = name

    def see_bare_word(self, word: str) -> None:
        declared = word in (self.tools or ())
        if word in CONTENT_TYPES and not self.content_type:
            self.content_type = word
        elif not self.recipient and (word.startswith("functions.") or declared or is_builtin(word)):
            self.recipient = word
        elif not self.content_type:
            self.content_type = word

    def see_role(self, word: str, segment: Sequence[str]) -> None:
        """3.1, the first word of a header with an open role."""
        if word in ROLES:
            self.role = word
        elif word.startswith("assistant"):
            self.role = "assistant"
            rest = re.sub("^(assistant)+", "", word)
            if rest in CHANNELS:
                self.channel = rest
        elif word in CHANNELS:
            self.channel = word
        elif "." in word or word in BUILTINS or word in (self.tools or ()) or "to=assistant" in segment:
            self.role = word

    def see_words(self, words: Sequence[str]) -> None:
        """3.4, the words of one segment that are not role, channel or constrained content type."""
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if not word.startswith("to="):
                self.see_bare_word(word)
                continue
            name = word.removeprefix("to=") or (rest.pop(0) if rest else "")
            more = spaced_name(name, rest, self.tools)
            del rest[: len(more)]
            self.see_recipient(" ".join([name, *more]))

    def opening(self) -> Opening:
        to = self.recipient
        if to and self.tools and has_glued_suffix(to, self.tools):
            to = to.removesuffix("json")
            self.content_type = self.content_type or "json"
        if to and self.tools and to.removeprefix("functions.") not in self.tools:
            to = find_name(unquoted(to), self.tools) or to
        return Opening(self.role, self.channel or self.unrecognised_channel, to, self.content_type)


def has_glued_suffix(recipient: str, tools: Sequence[str]) -> bool:
    """3.5"""
    name = recipient.removeprefix("functions.")
    return name not in tools and name.endswith("json") and name.removesuffix("json") in tools


def spaced_name(first: str, following: Sequence[str], tools: Sequence[str] | None) -> Sequence[str]:
    """The words after `first` that belong to it, because together they are a declared tool name with spaces."""
    longest: Sequence[str] = ()
    for tool in tools or ():
        words = tool.split()
        if words[0] in (first, first.removeprefix("functions.")) and words[1:] == list(following[: len(words) - 1]):
            longest = max(longest, words[1:], key=len)
    return longest


def resolve(header: Header, tools: Sequence[str] | None) -> Opening:
    return resolve_segments(header, len(header.segments), tools).opening()


def resolve_segments(header: Header, count: int, tools: Sequence[str] | None) -> Findings:
    """Rules 3.1 to 3.4 for the first `count` segments."""
    findings = Findings(tools)
    segments = [(kind, split_words(characters(symbols))) for kind, symbols in header.segments[:count]]
    others: list[list[str]] = []
    for kind, words in segments:
        words = list(words)
        if kind == "role":
            if header.role_open and words and not words[0].startswith("to="):
                findings.see_role(words[0], words)
                del words[0]
            elif not header.role_open and words and is_assistant(words[0]):
                del words[0]
            if words and words[0] in CHANNELS:
                findings.see_channel(words.pop(0))
        elif words and not words[0].startswith("to="):
            word = words.pop(0)
            if kind == "channel":
                findings.see_channel(word)
            else:
                findings.content_type = word
        others.append(words)
    for words in others:
        findings.see_words(words)
    return findings
