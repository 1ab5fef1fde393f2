"""JSON without some strings in it, in xgrammar's EBNF: schemas whose values have no end, such as that of any object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from .json_rules import JSON_NEVER, JsonRules
from .patterns import rewritten

__all__ = ["NOT_IN_STRINGS", "json_ebnf"]

NOT_IN_STRINGS = ('"', *map(chr, range(0x20)))
"""Characters that are not in a string, apart from the backslash."""


@lru_cache(256)
def json_ebnf(schema: str, without: tuple[str, ...], any_order: bool) -> str | None:
    """The grammar of JSON that fits this schema. None if the rules cannot keep one of its keywords.

    without: strings that its strings must not contain. any_order: may its members have any order, if they are few?
    """
    writer = _Writer()
    try:
        root = writer.whole(schema, without, any_order)
    except _UnknownError:
        return None
    return "\n".join([f"root ::= {root}", *(f"{name} ::= {text}" for name, text in writer.rules.items())])


class _UnknownError(Exception):
    """A part of a schema that rules cannot express."""


class _Writer(JsonRules):
    most_ordered = 3

    def __init__(self) -> None:
        self.rules: dict[str, str] = {}
        self.names: dict[object, str] = {}

    @property
    def space(self) -> str:  # type: ignore[override]
        return self.rule("space", lambda: "[ \\n\\t]{0,16}")

    def literal(self, text: str) -> str:
        return '"' + "".join([_escaped(character) for character in text]) + '"'

    def schema(self, schema: Any, without: tuple[str, ...], path: tuple[str, ...] = ()) -> str:
        if isinstance(schema, Mapping) and schema.get("properties") and schema.get("additionalProperties") is True:
            raise _UnknownError  # the members that are not declared
        return super().schema(schema, without, path)

    def number(self, kind: str) -> str:
        integer = self.rule("integer", lambda: '"-"? ("0" | [1-9] [0-9]*)')
        if kind == "integer":
            return integer
        return self.rule("number", lambda: f'{integer} ("." [0-9]+)? ([eE] [+-]? [0-9]+)?')

    def string(self, without: tuple[str, ...], least: int = 0, most: int | None = None) -> str:
        if least or most is not None:
            raise _UnknownError
        return f'"\\"" {self.rule(("string", without), lambda: self._inside(without))} "\\""'

    def _inside(self, without: tuple[str, ...]) -> str:
        """The characters of a string. xgrammar has no faster way to exclude strings."""
        escape = self.rule("escape", lambda: '["\\\\/bfnrt] | "u" [0-9a-fA-F]{4}')
        excludes = ", ".join(map(self.literal, (*NOT_IN_STRINGS, *without)))
        return f'TagDispatch(("\\\\", {escape}), loop_after_dispatch=true, excludes=({excludes}))'

    def matching(self, pattern: str, without: tuple[str, ...], least: int, most: int | None) -> str:
        found = rewritten(pattern, JSON_NEVER + "".join(sorted({one[0] for one in without})))
        if found is None or least or most is not None:
            raise _UnknownError
        return f'"\\"" ({found.text}) "\\""'

    def unknown(self, what: str, schema: Any, without: tuple[str, ...], keywords: Iterable[str] = ()) -> str:
        raise _UnknownError


def _escaped(character: str) -> str:
    return f"\\{character}" if character in '"\\' else character if character >= " " else f"\\x{ord(character):02x}"
