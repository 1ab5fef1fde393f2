"""Headers that end without <|message|>: section 5 of docs/harmony.md. Part of reference.py."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reference_header import (
    BUILTINS,
    CHANNELS,
    CONTENT_TYPES,
    ROLES,
    SEPARATOR,
    WHITESPACE,
    Char,
    Findings,
    Header,
    Opening,
    Symbol,
    Word,
    characters,
    is_assistant,
    is_builtin,
    next_word,
    resolve_segments,
    spaced_name,
    split_words,
)


def read_headerless(header: Header, how: str, tools: Sequence[str] | None) -> tuple[Opening, list[Symbol]]:
    """What the parts at the beginning of the last segment say, and the body after them.

    `how` is what ended the header: "terminator" (or <|endoftext|>), "start", "cap" (more will follow) or "finish".
    """
    findings = resolve_segments(header, len(header.segments) - 1, tools)
    kind, symbols = header.segments[-1]
    reader = PartReader(characters(symbols), how, findings)
    if kind == "channel":
        reader.read_channel()
    elif kind == "constrain":
        reader.read_content_type()
    else:
        reader.read_role(header.role_open)
        reader.read_lone_channel()
    reader.read_recipients()
    if kind != "constrain":
        reader.read_type_before_json()
    if not findings.recipient and (reader.position or kind == "channel"):
        reader.skip_question_marks()
    begin = reader.begin_of_body()
    if kind == "channel" and how != "cap" and reader.is_noise(begin):
        begin = len(reader.chars)
    body = symbols[reader.chars[begin].symbol :] if begin < len(reader.chars) else []
    return findings.opening(), body


@dataclass
class PartReader:
    chars: list[Char]
    how: str
    findings: Findings
    position: int = 0  # after the last part that was read
    has_glued_channel: bool = False  # the role and a channel are one word
    is_broken: bool = False  # question marks were dropped: no part comes after them
    allowed: set[str] = field(default_factory=set)  # what a word that the end of the stream cut could have become

    def word(self, begin: int) -> Word | None:
        """The next finished word; at the cap, more may follow what touches the end."""
        word = next_word(self.chars, begin)
        return None if word and word.at_end and self.how == "cap" else word

    def recipient_follows(self, begin: int) -> bool:
        word = self.word(begin)
        if not word:
            return False
        unfinished = self.how == "finish" and word.at_end and "to=".startswith(word.text)
        return word.text.startswith("to=") or unfinished

    def read_role(self, role_open: bool) -> None:
        self.allowed = {"assistant"}
        if role_open:
            self.allowed |= {*ROLES, "functions.", *BUILTINS, *(self.findings.tools or ())}
        word = self.word(0)
        if not word:
            return
        known = word.text in ROLES or word.text.startswith("functions.") or is_builtin(word.text)
        known = known or word.text in (self.findings.tools or ())
        text = word.text + " " * (not word.at_end)
        glued = re.match(r"(?:assistant)+(?:(analysis|commentary|final)(?![A-Za-z]|$)|(?![ a-z0-9_.-]|$))", text)
        if role_open and glued and not self.recipient_follows(word.end):
            if glued[1]:
                self.findings.see_channel(glued[1])
                self.has_glued_channel = True
            self.position = word.begin + glued.end()
        elif is_assistant(word.text):
            self.position = word.end
        elif role_open and not word.text.startswith("to=") and (known or self.recipient_follows(word.end)):
            words = split_words(self.chars)
            self.findings.see_role(word.text, words[:-1] if self.how == "cap" and self.ends_in_word() else words)
            self.position = word.end
        if self.position:
            self.allowed = set()

    def ends_in_word(self) -> bool:
        return bool(self.chars) and not self.chars[-1].separates

    def read_lone_channel(self) -> None:
        if self.has_glued_channel:
            return
        word = self.word(self.position)
        if word and word.text in CHANNELS:
            nothing_follows = self.how != "cap" and next_word(self.chars, word.end) is None
            if nothing_follows or self.recipient_follows(word.end):
                self.findings.see_channel(word.text)
                self.position = word.end
                self.allowed = set()
                return
        self.allowed |= set(CHANNELS)

    def letters(self, pattern: str) -> tuple[str, int]:
        """A run of letters in the first word, and where it ends. A run may be finished although its word is not."""
        word = next_word(self.chars, 0)
        letters = re.search(pattern, word.text) if word else None
        if not word or not letters:
            return "", 0
        end = word.begin + letters.end()
        return ("", 0) if self.how == "cap" and end == len(self.chars) else (letters[0], end)

    def read_channel(self) -> None:
        letters, end = self.letters("[A-Za-z]+")
        if letters.lower() in (*CHANNELS, "comment"):
            self.findings.see_channel(letters)
            self.position = end
        else:
            self.allowed |= set(CHANNELS)

    def read_content_type(self) -> None:
        letters, end = self.letters("^[A-Za-z]+")
        word = next_word(self.chars, 0)
        if letters in CONTENT_TYPES:
            self.findings.content_type = letters
            self.position = end
        elif word and self.how != "cap" and not word.text.startswith("to=") and not next_word(self.chars, word.end):
            self.findings.content_type = word.text
            self.position = word.end

    def read_recipients(self) -> None:
        self.allowed.add("to=")
        while True:
            word = self.word(self.position)
            if self.read_recipient_glued_to_json():
                return
            if not word or not word.text.startswith("to="):
                return
            name = word.text.removeprefix("to=")
            after = self.word(word.end)
            if not name and after:
                name, word = after.text, after
            elif not name and self.how == "cap":
                return
            following: list[Word] = []
            more = self.word(word.end)
            while more:
                following.append(more)
                more = self.word(more.end)
            rest = spaced_name(name, [each.text for each in following], self.findings.tools)
            self.findings.see_recipient(" ".join([name, *rest]))
            self.position = following[len(rest) - 1].end if rest else word.end
            self.allowed = {"to="}

    def read_recipient_glued_to_json(self) -> bool:
        """`to=f{"a":1}`: something follows the name, so it is finished wherever the word ends."""
        word = next_word(self.chars, self.position)
        glued = re.match(r"to=(.[^{\[]*)[{\[]", word.text, re.DOTALL) if word else None
        if not word or not glued:
            return False
        self.findings.see_recipient(glued[1])
        self.position = word.begin + glued.end(1)
        self.allowed = {"to="}
        return True

    def read_type_before_json(self) -> None:
        self.allowed |= {"json", "code"}
        text = "".join(" " if char.separates else char.text for char in self.chars[self.position :])
        match = re.match(r" *(json|code) *[{\[]", text)
        if match:
            if not self.findings.content_type:
                self.findings.content_type = match[1]
            self.position += match.end(1)
            self.allowed = set()

    def skip_question_marks(self) -> None:
        begin = self.position
        text = "".join("\0" if char.separates else char.text for char in self.chars[begin:])
        if self.position and text and self.chars[begin].text in WHITESPACE:
            text = " " + text[1:]
        found = re.match(r" ?\?(\?|(?<=\?)(analysis|commentary|comment|final)(?=\?))*", text)
        if found:
            self.is_broken = True
            self.position += found.end()

    def begin_of_body(self) -> int:
        """Where the body begins; after the end if there is none."""
        begin = self.position
        if 0 < begin < len(self.chars) and self.chars[begin].text in WHITESPACE:
            begin += 1
        if self.how == "cap":
            return begin
        word = next_word(self.chars, begin)
        if word is None or (
            self.how == "finish" and not self.is_broken and word.at_end and self.could_become_a_part(word.text)
        ):
            return len(self.chars)
        return begin

    def is_noise(self, begin: int) -> bool:
        """No words but names of channels, and digits only after a known channel; not in the answer or in a call."""
        if self.findings.channel == "final" or self.findings.recipient:
            return False
        while begin < len(self.chars) and self.chars[begin].separates:
            begin += 1
        text = "".join(" " if char.text == SEPARATOR else char.text for char in self.chars[begin:])
        letters = re.findall("[A-Za-z]+", text)
        if any(ord(char) > 127 for char in text) or (re.search("[0-9]", text) and not self.findings.channel):
            return False
        return all(run.lower() in (*CHANNELS, "comment") for run in letters)

    def could_become_a_part(self, word: str) -> bool:
        if "assistant" in self.allowed and is_prefix_of_assistants(word):
            return True
        return any(part.startswith(word) for part in self.allowed)


def is_prefix_of_assistants(word: str) -> bool:
    return ("assistant" * (len(word) // 9 + 1)).startswith(word)
