"""Custom tools are offered as functions with one argument, which holds the text that clients get."""

from __future__ import annotations

import json
import re

__all__ = ["INPUT", "CustomInput"]

INPUT = "input"
"""The argument that has the text."""

_OPENING = re.compile(rf'\s*\{{\s*"{INPUT}"\s*:\s*"')
_WHOLE = re.compile(
    r'(?:[^"\\]+|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*"
)
"""The part of a JSON string that can be decoded: everything but an unfinished escape, and half of a surrogate pair."""
_LONGEST_OPENING = 256


class CustomInput:
    """Streams the text out of a function's arguments. Passes on arguments of any other form unchanged."""

    def __init__(self) -> None:
        self._arguments: list[str] = []
        self._rest = ""  # input that is not decoded yet
        self._state = "before"  # "before", "inside" or "after" the text
        self._read: list[str] = []

    def feed(self, arguments: str) -> str:
        """Take more of the arguments. Returns more of the text."""
        self._arguments.append(arguments)
        if self._state == "after":
            return ""
        self._rest += arguments
        if self._state == "before":
            found = _OPENING.match(self._rest)
            if found is None:
                if len(self._rest) > _LONGEST_OPENING:
                    self._state = "after"
                return ""
            self._state, self._rest = "inside", self._rest[found.end() :]
        found = _WHOLE.match(self._rest)
        assert found is not None
        self._rest = self._rest[found.end() :]
        if self._rest.startswith('"'):
            self._state = "after"
        text: str = json.loads(f'"{found[0]}"', strict=False)
        self._read.append(text)
        return text

    def finish(self) -> str:
        """End the arguments. Returns the rest of the text."""
        read, arguments = "".join(self._read), "".join(self._arguments)
        try:
            given = json.loads(arguments, strict=False)
        except (ValueError, RecursionError):
            return "" if read else arguments
        text = given.get(INPUT) if isinstance(given, dict) else None
        whole = text if isinstance(text, str) else arguments
        return whole[len(read) :] if whole.startswith(read) else ""
