"""A grammar as xgrammar's structural tag."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from .json_tags import excluding, json_tag, optional, regex, sequence, string
from .kept import fitted
from .nodes import Json, Kept, Lit, Mark, Node, Or, Regex, Rep, Seq, Space, Text, in_quotes

__all__ = ["Controls", "Pieces", "structural_tag"]


def structural_tag(node: Node, controls: Controls, lose: Callable[[str], None]) -> str:
    """JSON text. lose: called with each keyword of a schema that xgrammar does not keep."""
    return "".join(['{"type":"structural_tag","format":', *_Writer(controls, lose).format(node), "}"])


class Controls:
    """The control tokens that a format's markers have in a vocabulary.

    control: the ids of the vocabulary's control tokens. spellings: those of all markers of the format.
    """

    def __init__(self, control: Mapping[str, int], spellings: Sequence[str]) -> None:
        self.pieces = Pieces(control)
        # xgrammar takes the name of a control token for text.
        self.names = tuple(name for name in control if any(name in mark for mark in spellings))


class Pieces:
    """The parts of markers. control: the ids of the control tokens of a vocabulary."""

    def __init__(self, control: Mapping[str, int]) -> None:
        self._control = control
        self._known: dict[str, tuple[str | int, ...]] = {}

    def of(self, mark: str) -> tuple[str | int, ...]:
        """The ids of control tokens, and the text between them."""
        found = self._known.get(mark)
        if found is None:
            names = sorted((name for name in self._control if name and name in mark), key=len, reverse=True)
            parts = re.split("(" + "|".join(map(re.escape, names)) + ")", mark) if names else [mark]
            found = self._known[mark] = tuple(self._control.get(part, part) for part in parts if part)
        return found

    def texts(self, marks: Iterable[str]) -> list[str]:
        """The markers that begin with text."""
        return [mark for mark in marks if isinstance(self.of(mark)[0], str)]


class _Writer:
    """Writes each node once, even if it occurs several times."""

    def __init__(self, controls: Controls, lose: Callable[[str], None]) -> None:
        self.controls, self.pieces, self.control = controls, controls.pieces, controls.names
        self.lose = lose
        self.written: dict[Node, list[str]] = {}

    def format(self, node: Node) -> list[str]:
        """The pieces of the tag's text. They are joined once, at the end, so parts of many nodes are not copied."""
        made = self.written.get(node)
        if made is None:
            made = self.written[node] = self._format(node)
        return made

    def _format(self, node: Node) -> list[str]:
        match node:
            case Lit(text=text):
                return [string(text)]
            case Mark(text=text):
                return [sequence([_piece(one) for one in self.pieces.of(text)])]
            case Seq(parts=()):
                return [sequence(())]
            case Seq(parts=parts):
                return self._several("sequence", parts)
            case Json(any_order=any_order, plain=schema):
                without = in_quotes((*node.without, *self.control))
                if schema is None:
                    found = fitted(node.schema, "xgrammar", without)
                    schema = found.schema
                    for keyword, place in found.lost:
                        self.lose(f"xgrammar does not keep {keyword!r} of {node.what}{place}")
                return json_tag(schema, _cut(without, _IN_STRINGS), any_order)
            case Kept():
                return [self._kept(node)]
            case Or(parts=parts):
                return self._several("or", parts)
            case Rep(part=part, least=least, most=most):
                return [f'{{{_KINDS[least, most]},"content":', *self.format(part), "}"]
            case Text(without=without, plain=plain, pattern=pattern):
                return [regex(pattern) if pattern else self._text(without, plain)]
            case Space(most=most):
                return [regex(f"[ \\n\\t]{{0,{most}}}")]
            case Regex(pattern=pattern):
                return [regex(pattern)]
        raise TypeError(node)

    def _several(self, kind: str, parts: Sequence[Node]) -> list[str]:
        if len(parts) == 1:
            return self.format(parts[0])
        made = [f'{{"type":"{kind}","elements":[']
        for part in parts:
            made += self.format(part)
            made.append(",")
        made[-1] = "]}"
        return made

    def _kept(self, node: Kept) -> str:
        made = node.texts.get(self.controls)
        if made is None:
            lose, lost = self.lose, list[str]()
            self.lose = lost.append
            text = "".join(self.format(node.part))
            self.lose = lose
            made = node.texts[self.controls] = text, tuple(lost)
        for one in made[1]:
            self.lose(one)
        return made[0]

    def _text(self, without: tuple[str, ...], plain: bool) -> str:
        text = f'{{"type":"any_text"{excluding(_cut((*without, *self.control), _IN_TEXT))}}}'
        if not plain:
            return text
        first = regex("[^ \\n\\t\\r\\[{<]")
        return optional(sequence([first, text]))


@lru_cache(256)
def _cut(without: tuple[str, ...], beginning: re.Pattern[str]) -> tuple[str, ...]:
    """Markers that are kept out of text, or of strings in JSON. Some are cut to a beginning that no other text has.

    xgrammar's time grows with their characters.
    """
    return tuple(dict.fromkeys(cut[0] if (cut := beginning.match(one)) else one for one in without))


_IN_STRINGS = re.compile("</?(?:[｜‖]|[|].|[a-z]+[_:|])|\\[(?:[|].|[A-Z]{3})|\\]<\\]")
_IN_TEXT = re.compile("</?[｜‖]|[<\\[]/?[|]+.{1,4}|\\]<\\]")
_KINDS = {(0, 1): '"type":"optional"', (0, None): '"type":"star"', (1, None): '"type":"plus"'}


def _piece(piece: str | int) -> str:
    return f'{{"type":"token","token":{piece}}}' if isinstance(piece, int) else string(piece)
