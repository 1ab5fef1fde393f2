"""What remains of a grammar after a prompt has begun the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from ..errors import GrammarError
from .nodes import EMPTY, Json, Kept, Lit, Mark, Node, Or, Regex, Rep, Seq, Space, Text, either, head, row

__all__ = ["after"]

_DECODER = json.JSONDecoder()


def after(node: Node, text: str) -> Node:
    """What may follow this beginning. Raises GrammarError if nothing may, or if the beginning ends inside JSON.

    If it ends with two or more characters of a marker, the marker must be completed, because lexers cannot keep both
    ways open.
    """
    if not text:
        return node
    reader = _Reader(text)
    ends, rests = reader.read(node, {0})
    if reader.end in ends:
        rests.append(EMPTY)
    if not rests:
        where = "ends inside of arguments" if reader.cut else "is not what the grammar allows"
        raise GrammarError(f"the beginning of the answer {where}: {text[-60:]!r}")
    if reader.marks:
        texts = [one for one in rests if isinstance(head(one), Text)]
        if reader.longest > 1 or not texts:
            rests = [one for one in rests if one not in texts]
        else:
            rests = [one for one in rests if head(one) not in reader.marks]
    return either(*rests)


class _Reader:
    """Reads the text from several places at once.

    cut: has JSON been read that does not end? marks: the rest of each marker that was begun. longest: the most
    characters of a marker that were read.
    """

    def __init__(self, text: str) -> None:
        self.text, self.end, self.cut = text, len(text), False
        self.marks: list[Node] = []
        self.longest = 0

    def read(self, node: Node, starts: set[int]) -> tuple[set[int], list[Node]]:
        """The places where the node may end, and what remains of it if the text ends first."""
        rests: list[Node] = [node] if self.end in starts else []
        starts = starts - {self.end}
        if not starts:
            return set(), rests
        match node:
            case Lit(text=text) | Mark(text=text):
                return self._literal(text, starts, rests, isinstance(node, Mark))
            case Seq(parts=parts):
                for at, part in enumerate(parts):
                    starts, inner = self.read(part, starts)
                    rests += [row(one, *parts[at + 1 :]) for one in inner]
                return starts, rests
            case Or(parts=parts):
                ends: set[int] = set()
                for part in parts:
                    found, inner = self.read(part, starts)
                    ends |= found
                    rests += inner
                return ends, rests
            case Kept(part=part):
                return self.read(part, starts)
            case Rep():
                return self._repeated(node, starts, rests)
            case Text():
                return self._text(node, starts, rests)
            case Space(most=most):
                return self._matched(f"[ \\n\\t]{{0,{most}}}", starts), rests
            case Regex(pattern=pattern):
                return self._matched(pattern, starts) - starts, rests
            case Json():
                return self._json(starts), rests
        raise TypeError(node)

    def _literal(
        self, text: str, starts: Iterable[int], rests: list[Node], is_mark: bool
    ) -> tuple[set[int], list[Node]]:
        ends = set()
        for start in starts:
            if self.text.startswith(text, start):
                ends.add(start + len(text))
            elif text.startswith(self.text[start : start + len(text)]):
                left = Mark(text[self.end - start :])
                rests.append(left)
                if is_mark:
                    self.marks.append(left)
                    self.longest = max(self.longest, self.end - start)
        return ends, rests

    def _repeated(self, node: Rep, starts: set[int], rests: list[Node]) -> tuple[set[int], list[Node]]:
        seen: set[int] = set()
        more = EMPTY if node.most == 1 else Rep(node.part)
        new = starts
        while new:
            found, inner = self.read(node.part, new)
            rests += [row(one, more) for one in inner]
            new = found - seen if node.most is None else set()
            seen |= found
        return seen | starts if node.least == 0 else seen, rests

    def _text(self, node: Text, starts: set[int], rests: list[Node]) -> tuple[set[int], list[Node]]:
        if node.pattern:
            return self._limited(node.pattern, starts), rests
        ends: set[int] = set()
        reached = False
        marker, limit = -1, 0  # where the next marker begins, and the latest end of a text before it
        for start in sorted(starts):
            if node.plain and self.text[start] in " \n\t\r[{<":
                ends.add(start)
                continue
            if start > marker:
                found = [(at, at + len(one) - 1) for one in node.without if (at := self.text.find(one, start)) >= 0]
                marker = min((at for at, _ in found), default=self.end)
                limit = min((last for _, last in found), default=self.end)
                ends.update(range(start, min(limit + 1, self.end)))
            reached = reached or limit >= self.end
        return ends, [*rests, Text(node.without)] if reached else rests

    def _matched(self, pattern: str, starts: Iterable[int]) -> set[int]:
        compiled = re.compile(pattern)
        return {found.end() for start in starts if (found := compiled.match(self.text, start))}

    def _limited(self, pattern: str, starts: Iterable[int]) -> set[int]:
        """All places where a string with a limit may end."""
        compiled, self.cut = re.compile(pattern), True
        last = self.end
        return {end for start in starts for end in range(start, last) if compiled.fullmatch(self.text, start, end)}

    def _json(self, starts: Iterable[int]) -> set[int]:
        ends = set()
        for start in starts:
            begin = start + len(self.text[start:]) - len(self.text[start:].lstrip(" \n\t\r"))
            try:
                ends.add(_DECODER.raw_decode(self.text, begin)[1])
            except ValueError:
                self.cut = True
        return ends
