"""Markdown's fences in text: section 3 of docs/tags.md."""

from __future__ import annotations

from string import ascii_letters

from reference_tags_text import WS

BEFORE_FENCE = " \t>*+-.)0123456789"  # indentation, quotations and the marks of lists


class Fences:
    """Follows the text byte by byte."""

    fence = ticks = 0  # backquotes that opened the fence, and those just before
    at_start = True  # nothing but these has come in the line
    code = ""  # what the fence holds: nothing ("info" in its first line, "blank" after it), "code", "example"

    def follow(self, char: str) -> None:
        if char == "`":
            self.ticks = min(self.ticks + 1, 255)
            return
        self.end_backquotes(char)
        self.at_start = char == "\n" or (self.at_start and char in BEFORE_FENCE)
        if self.code == "info" and char == "\n":
            self.code = "blank"
        elif self.code == "blank" and char not in WS + ">":
            self.code = "code"

    def end_backquotes(self, follower: str) -> None:
        """A letter after them is the name of a language: a fence begins, though another is open."""
        if self.ticks >= 3 and self.ticks >= self.fence:
            opens = self.at_start and (not self.fence or follower in ascii_letters)
            self.fence, self.code = (self.ticks, "info") if opens else (0, "")
        elif self.ticks >= 3 and self.code == "blank":
            self.code = "info"
        self.at_start = self.at_start and not self.ticks
        self.ticks = 0
