"""What search agents write beside calls: several queries in one argument, and citations of web pages in an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..checks import check_text

__all__ = ["Citation", "CitationReader", "Sources", "citations", "sub_queries"]

_MARK = re.compile(r"\[citation:([0-9]{1,9})\]")
_BEGUN = re.compile(r"\[(?:c(?:i(?:t(?:a(?:t(?:i(?:o(?:n(?::[0-9]{0,9})?)?)?)?)?)?)?)?)?\Z")
_FIELDS = ("title", "url", "date published")


@dataclass(frozen=True, slots=True)
class Citation:
    """`[citation:n]` in an answer. start, stop: its place, in characters of the answer."""

    number: int
    start: int
    stop: int


class CitationReader:
    """Splits an answer into text and citations, as it arrives. Only text that may become a citation is held back."""

    def __init__(self) -> None:
        self._held = ""
        self._position = 0  # where the held text begins in the answer

    def feed(self, text: str) -> list[str | Citation]:
        """Take more of the answer. Returns the text that is certain now, and the citations in it."""
        text = self._held + text
        begun = _BEGUN.search(text, max(0, len(text) - 20))
        self._held = text[begun.start() :] if begun else ""
        return list(self._split(text[: begun.start()] if begun else text))

    def finish(self) -> list[str | Citation]:
        """End the answer. Returns the text that was held back."""
        text, self._held = self._held, ""
        return list(self._split(text))

    def _split(self, text: str) -> Iterator[str | Citation]:
        begin, at = self._position, 0
        for mark in _MARK.finditer(text):
            if mark.start() > at:
                yield text[at : mark.start()]
            yield Citation(int(mark[1]), begin + mark.start(), begin + mark.end())
            at = mark.end()
        if at < len(text):
            yield text[at:]
        self._position += len(text)


def citations(answer: str) -> list[Citation]:
    """The citations of a complete answer, in order."""
    return [Citation(int(mark[1]), mark.start(), mark.end()) for mark in _MARK.finditer(answer)]


def sub_queries(text: str) -> list[str]:
    """The queries of an argument that separates several by `||`, without empty ones and repetitions."""
    check_text("text", text, none=False)
    return list(dict.fromkeys(query for part in text.split("||") if (query := part.strip())))


class Sources:
    """Web pages by number. The numbers continue over all searches of a conversation, so that citations are
    unambiguous.
    """

    def __init__(self) -> None:
        self.pages: list[Mapping[str, str]] = []

    def add(self, pages: Iterable[Mapping[str, str]]) -> str:
        """Number these pages, and write them as a search tool's result.

        A page has any of the keys title, url, date published, snippet and content.
        """
        written = []
        for page in pages:
            number = len(self.pages)
            self.pages.append(page)
            lines = [f"[webpage {number} begin]", *(f"[webpage {name}]{page.get(name, '')}" for name in _FIELDS)]
            for name in ("snippet", "content"):
                if page.get(name):
                    lines += [f"[webpage {name} begin]", page[name], f"[webpage {name} end]"]
            written.append("\n".join([*lines, f"[webpage {number} end]"]))
        return "\n".join(written)

    def cited(self, answer: str) -> list[Mapping[str, str]]:
        """The pages that an answer cites, in order and without repetition. Numbers without a page are left out."""
        numbers = dict.fromkeys(citation.number for citation in citations(answer))
        return [self.pages[number] for number in numbers if number < len(self.pages)]
