"""A grammar as xgrammar's structural tag."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .nodes import Json, Lit, Mark, Node, Or, Rep, Seq, Space, Text, Word

__all__ = ["structural_tag", "tokens_of"]

Payload = dict[str, Any]


def structural_tag(node: Node, control: Mapping[str, int]) -> str:
    """JSON text. control: the ids of the markers that are control tokens of the vocabulary."""
    made = {"type": "structural_tag", "format": _Writer(control).format(node)}
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


def tokens_of(mark: str, control: Mapping[str, int]) -> Iterator[str | int]:
    """A marker's parts: ids of control tokens, and text between them."""
    names = sorted((name for name in control if name and name in mark), key=len, reverse=True)
    if not names:
        yield mark
        return
    for part in re.split("(" + "|".join(map(re.escape, names)) + ")", mark):
        if part:
            yield control.get(part, part)


class _Writer:
    def __init__(self, control: Mapping[str, int]) -> None:
        self.control = control

    def format(self, node: Node) -> Payload:
        match node:
            case Lit(text=text):
                return {"type": "const_string", "value": text}
            case Mark(text=text):
                return self._sequence([self._piece(one) for one in tokens_of(text, self.control)])
            case Space(most=most):
                return {"type": "regex", "pattern": f"[ \\n\\t\\r]{{0,{most}}}"}
            case Word():
                return {"type": "regex", "pattern": "[A-Za-z_][A-Za-z0-9_]{0,63}"}
            case Json(schema=schema):
                return {"type": "json_schema", "json_schema": json.loads(schema), "max_whitespace_cnt": 16}
            case Text(without=without, plain=plain):
                return self._text(without, plain)
            case Seq(parts=parts):
                return self._sequence([self.format(part) for part in parts])
            case Or(parts=parts):
                return {"type": "or", "elements": [self.format(part) for part in parts]}
            case Rep(part=part, least=0, most=1):
                return {"type": "optional", "content": self.format(part)}
            case Rep(part=part, least=least, most=None) if least <= 1:
                return {"type": "plus" if least else "star", "content": self.format(part)}
            case Rep(part=part, least=least, most=most):
                return {
                    "type": "repeat",
                    "min": least,
                    "max": -1 if most is None else most,
                    "content": self.format(part),
                }
        raise TypeError(node)

    def _piece(self, piece: str | int) -> Payload:
        if isinstance(piece, int):
            return {"type": "token", "token": piece}
        return {"type": "const_string", "value": piece}

    def _sequence(self, elements: list[Payload]) -> Payload:
        if len(elements) == 1:
            return elements[0]
        return {"type": "sequence", "elements": elements or [{"type": "const_string", "value": ""}]}

    def _text(self, without: tuple[str, ...], plain: bool) -> Payload:
        excludes = [one for one in without if next(iter(tokens_of(one, self.control))) == one]
        text: Payload = {"type": "any_text", "excludes": excludes}
        if not plain:
            return text
        first = {"type": "regex", "pattern": "[^ \\n\\t\\r\\[{<]"}
        return {"type": "optional", "content": self._sequence([first, text])}
