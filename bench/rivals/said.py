"""What a parser has said of a stream, pieced together, and whether that is right."""

from __future__ import annotations

import json
from collections.abc import Iterable
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


def said_in(frames: Iterable[bytes]) -> Said:
    """What the chunks of a chat completion say. Raises `ValueError` if they are not whole: [DONE] is the last."""
    said = Said()
    *chunks, done, rest = b"".join(frames).decode().split("\n\n")
    if (done, rest) != ("data: [DONE]", ""):
        raise ValueError(f"the response ends with {done!r}")
    for chunk in chunks:
        for choice in json.loads(chunk.removeprefix("data: "))["choices"]:
            delta = choice["delta"]
            said.text(delta.get("reasoning"), delta.get("content"))
            for call in delta.get("tool_calls") or ():
                said.call(call["index"], call["function"].get("name"), call["function"].get("arguments"))
    return said


def parsed(text: str) -> Any:
    """The JSON value, or the text if it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text
