"""What a parser has said of a stream, pieced together, and whether that is right."""

from __future__ import annotations

import json
from typing import Any


class Said:
    """Keeps pieces of text alone: kept objects would make the garbage collector dear for the parser that is timed."""

    def __init__(self) -> None:
        self._reasoning: list[str] = []
        self._content: list[str] = []
        self._names: dict[int, str] = {}
        self._arguments: dict[int, list[str]] = {}

    def text(self, reasoning: str | None, content: str | None) -> None:
        if reasoning:
            self._reasoning.append(reasoning)
        if content:
            self._content.append(content)

    def call(self, index: int, name: str | None, arguments: str | None) -> None:
        """A piece of a call: its name, part of its arguments, or both."""
        self._names[index] = self._names.get(index, "") + (name or "")
        self._arguments.setdefault(index, []).append(arguments or "")

    def wrong(self, expected: dict[str, Any]) -> str:
        """What differs; nothing if all is right.

        Newlines around a text do not count, since parsers differ in what they take for layout, and arguments are
        compared as JSON.
        """
        faults = []
        for name, pieces in (("reasoning", self._reasoning), ("content", self._content)):
            if "".join(pieces).strip("\n") != expected[name]:
                faults.append(name)
        names = [self._names[index] for index in sorted(self._names)]
        arguments = [parsed("".join(self._arguments[index])) for index in sorted(self._arguments)]
        if names != [name for name, _ in expected["calls"]]:
            faults.append("calls")
        elif arguments != [given for _, given in expected["calls"]]:
            faults.append("arguments")
        return ", ".join(faults)


def parsed(text: str) -> Any:
    """The JSON value, or the text if it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text
