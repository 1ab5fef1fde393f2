"""A grammar as llguidance's Lark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from .nodes import Json, Lit, Mark, Node, Or, Rep, Seq, Space, Text, Word
from .structural_tag import tokens_of

__all__ = ["lark"]


def lark(node: Node, control: Mapping[str, int]) -> str:
    """Lark text. control: the ids of the markers that are control tokens of the vocabulary."""
    writer = _Writer(control)
    start = writer.expression(node)
    return "\n".join(["%llguidance {}", f"start: {start}", *writer.lines()]) + "\n"


_SPACE = "[ \\n\\t\\r]"


class _Writer:
    def __init__(self, control: Mapping[str, int]) -> None:
        self.control = control
        self.names: dict[str, str] = {}  # of a definition -> its name

    def lines(self) -> list[str]:
        return [f"{name}: {text}" for text, name in self.names.items()]

    def expression(self, node: Node) -> str:
        match node:
            case Lit(text=text):
                return _quoted(text)
            case Mark(text=text):
                return self._mark(text)
            case Space(most=most):
                return self._terminal(f"/{_SPACE}{{1,{most}}}/") + "?"
            case Word():
                return self._terminal("/[A-Za-z_][A-Za-z0-9_]{0,63}/")
            case Json(schema=schema):
                return self._rule(f"%json {schema}")
            case Text():
                return self._text(node, "")
            case Seq(parts=parts):
                return self._sequence(parts)
            case Or(parts=parts):
                return self._rule(" | ".join(self.expression(part) for part in parts))
            case Rep(part=part, least=0, most=1):
                return f"({self.expression(part)})?"
            case Rep(part=part, least=least, most=None) if least <= 1:
                return f"({self.expression(part)}){'+' if least else '*'}"
            case Rep(part=part, least=least, most=most):
                return f"({self.expression(part)}){{{least},{'' if most is None else most}}}"
        raise TypeError(node)

    def _sequence(self, parts: Sequence[Node]) -> str:
        made, at = [], 0
        while at < len(parts):
            part = parts[at]
            after = parts[at + 1] if at + 1 < len(parts) else None
            if (
                isinstance(part, (Space, Text))
                and isinstance(after, Or)
                and all(isinstance(one, Mark) for one in after.parts)
            ):
                made.append("(" + " | ".join(self._sequence([part, one]) for one in after.parts) + ")")
                at += 1
            elif isinstance(part, (Space, Text)) and isinstance(after, (Mark, Lit)) and (end := self._begins(after)):
                # One lexeme, because a lexer takes the longest one and does not go back.
                space = f"/{_SPACE}{{0,{part.most}}}/ {_quoted(end)}" if isinstance(part, Space) else ""
                made.append(self._terminal(space) if isinstance(part, Space) else self._text(part, end))
                at += 1
                made += [self._piece(one) for one in list(tokens_of(after.text, self.control))[1:]]
            else:
                made.append(self.expression(part))
            at += 1
        return " ".join(made) or '""'

    def _begins(self, node: Mark | Lit) -> str:
        """The text that it begins with; "": a control token."""
        piece = next(tokens_of(node.text, self.control if isinstance(node, Mark) else {}))
        return piece if isinstance(piece, str) else ""

    def _mark(self, mark: str) -> str:
        return " ".join(self._piece(one) for one in tokens_of(mark, self.control))

    def _piece(self, piece: str | int) -> str:
        return f"<[{piece}]>" if isinstance(piece, int) else _quoted(piece)

    def _text(self, text: Text, end: str) -> str:
        """Text, and the string that ends it."""
        excluded = [re.escape(one) for one in text.without if next(iter(tokens_of(one, self.control))) == one]
        excluded = [one.replace("/", "\\/").replace("\n", "\\n") for one in excluded]
        body = "/(?s:.*)/"
        if excluded:
            body += f" & ~/(?s:.*)({'|'.join(excluded)})(?s:.*)/"
        if text.plain:
            body += " & /([^ \\n\\t\\r\\[{<](?s:.*))?/"
        if not end:
            return f"{self._terminal(body)}?"
        return self._terminal(f"{self._terminal(body)} {_quoted(end)}")

    def _terminal(self, text: str) -> str:
        return self.names.setdefault(text, f"T{len(self.names)}")

    def _rule(self, text: str) -> str:
        return self.names.setdefault(text, f"r{len(self.names)}")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
