"""A slow interpreter of llama.cpp's GBNF: which characters may come next.

As in llama.cpp, a state is a set of stacks. A stack is what is left of a rule, and then of those around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<set>\[(?:[^\]\\]|\\.)*\])|(?P<name>[a-z][a-zA-Z0-9-]*)'
    r"|(?P<count>\{\d+(?:,\d*)?\})|(?P<sign>[()|?*+]))"
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class Set(NamedTuple):
    """One character: of these ranges, or of none of them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool

    def has(self, character: str) -> bool:
        return any(low <= character <= high for low, high in self.ranges) != self.negated


Item: TypeAlias = "Set | str"  # a set, or the name of a rule


class Stack:
    """An item of a rule, and the stack after it. The same one is made once, so that it is compared by identity."""

    __slots__ = ("item", "rest")

    def __init__(self, item: Item, rest: Stack | None) -> None:
        self.item, self.rest = item, rest


State: TypeAlias = "frozenset[Stack | None]"


class Rules:
    """The rules of a grammar: of each name, the sequences that it may be.

    What follows a state is remembered, so that several outputs of one grammar take less time than the first one.
    """

    def __init__(self, text: str) -> None:
        self.rules: dict[str, list[tuple[Item, ...]]] = {}
        self._made: dict[tuple[int, int, Stack | None], Stack] = {}
        self._after: dict[tuple[State, str], State] = {}
        self._ascii: dict[State, frozenset[str]] = {}
        for line in text.splitlines():
            name, _, body = line.partition(" ::= ")
            self._tokens, self._at = _tokens(body), 0
            self.rules[name] = self._ways()
            assert self._at == len(self._tokens), body
        self.start = self._opened([self.stack(_ROOT, 0, None)])

    def after(self, state: State, character: str) -> State:
        """The state after a character; empty if it may not come."""
        found = self._after.get((state, character))
        if found is None:
            rests = [one.rest for one in state if one is not None and one.item.has(character)]  # type: ignore[union-attr]
            found = self._after[state, character] = self._opened(rests)
        return found

    def ascii(self, state: State) -> frozenset[str]:
        """The ASCII characters that may come."""
        found = self._ascii.get(state)
        if found is None:
            items = {one.item for one in state if one is not None}
            found = self._ascii[state] = frozenset().union(*map(_ascii_of, items))  # type: ignore[arg-type]
        return found

    def _opened(self, stacks: Iterable[Stack | None]) -> State:
        """Until each stack begins with a character, or is empty."""
        todo = list(stacks)
        seen, made = set(todo), set()
        while todo:
            stack = todo.pop()
            if stack is None or isinstance(stack.item, Set):
                made.add(stack)
                continue
            for way in self.rules[stack.item]:
                new = self.stack(way, 0, stack.rest)
                if new not in seen:
                    seen.add(new)
                    todo.append(new)
        return frozenset(made)

    def stack(self, way: tuple[Item, ...], at: int, after: Stack | None) -> Stack | None:
        """That of the rest of a sequence."""
        if at == len(way):
            return after
        key = (id(way), at, after)  # the rules keep the sequence
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = Stack(way[at], self.stack(way, at + 1, after))
        return made

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _ways(self) -> list[tuple[Item, ...]]:
        ways = [self._sequence()]
        while self._peek() == ("sign", "|"):
            self._at += 1
            ways.append(self._sequence())
        return ways

    def _sequence(self) -> tuple[Item, ...]:
        made: list[Item] = []
        while (kind := self._peek()[0]) != "end" and self._peek()[1] not in ("|", ")"):
            text = self._peek()[1]
            self._at += 1
            if kind == "string":
                one: list[Item] = [Set(((c, c),), False) for c in _plain(text[1:-1])]
            elif kind == "set":
                one = [_set(text[1:-1])]
            elif kind == "name":
                one = [text]
            else:
                assert text == "("
                one = [self._new(self._ways())]
                assert self._peek()[1] == ")"
                self._at += 1
            made += self._counted(one)
        return tuple(made)

    def _counted(self, one: list[Item]) -> list[Item]:
        kind, text = self._peek()
        if text not in ("?", "*", "+") and kind != "count":
            return one
        self._at += 1
        least, most = {"?": (0, 1), "*": (0, None), "+": (1, None)}.get(text, (0, 0))
        if kind == "count":
            low, comma, high = text[1:-1].partition(",")
            least, most = int(low), int(high) if high else None if comma else int(low)
        if most is None:
            loop = f"+{len(self.rules)}"
            self.rules[loop] = [(*one, loop), ()]
            return [*one * least, loop]
        rest: list[Item] = []
        for _ in range(most - least):
            rest = [self._new([(*one, *rest), ()])]
        return [*one * least, *rest]

    def _new(self, ways: list[tuple[Item, ...]]) -> str:
        name = f"+{len(self.rules)}"
        self.rules[name] = ways
        return name


@lru_cache(16)
def rules_of(text: str) -> Rules:
    return Rules(text)


@lru_cache(1024)
def _ascii_of(item: Set) -> frozenset[str]:
    return frozenset(one for one in map(chr, range(128)) if item.has(one))


_ROOT = ("root",)


class Gbnf:
    """Follows one output."""

    def __init__(self, text: str) -> None:
        self._rules = rules_of(text)
        self._state = self._rules.start

    @property
    def may_end(self) -> bool:
        return None in self._state

    def ascii(self) -> frozenset[str]:
        """The ASCII characters that may come next."""
        return self._rules.ascii(self._state)

    def may(self, text: str) -> bool:
        """May this come next?"""
        state = self._state
        for character in text:
            state = self._rules.after(state, character)
        return bool(state)

    def take(self, text: str) -> bool:
        """Goes on; False if this may not come, and then nothing may."""
        for character in text:
            self._state = self._rules.after(self._state, character)
        return bool(self._state)


def _tokens(body: str) -> list[tuple[str, str]]:
    made, at = [], 0
    while at < len(body):
        found = _TOKEN.match(body, at)
        assert found, body[at:]
        made.append((str(found.lastgroup), found[0].strip(" ")))
        at = found.end()
    return made


def _characters(text: str) -> list[tuple[str, bool]]:
    """Each with: was it escaped?"""
    made, at = [], 0
    while at < len(text):
        if text[at] != "\\":
            made.append((text[at], False))
            at += 1
        elif text[at + 1] == "x":
            made.append((chr(int(text[at + 2 : at + 4], 16)), True))
            at += 4
        else:
            made.append((_ESCAPES.get(text[at + 1], text[at + 1]), True))
            at += 2
    return made


def _plain(text: str) -> str:
    return "".join(one for one, _ in _characters(text))


def _set(text: str) -> Set:
    negated = text.startswith("^")
    found = _characters(text[negated:])
    ranges, at = [], 0
    while at < len(found):
        ends = at + 2 < len(found) and found[at + 1] == ("-", False)
        ranges.append((found[at][0], found[at + 2 if ends else at][0]))
        at += 3 if ends else 1
    return Set(tuple(ranges), negated)
