"""A grammar as llama.cpp's GBNF, where markers are text, and JSON Schemas become rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from .json_rules import JSON_NEVER, JsonRules
from .nodes import Json, Kept, Lit, Mark, Node, Or, Regex, Rep, Seq, Space, Text, in_quotes
from .patterns import rewritten

__all__ = ["gbnf"]

_INTEGER = '"-"? ("0" | [1-9] [0-9]{0,15})'
_ESCAPE = '"\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4})'
# One character of a string with a limited length: no half of a surrogate pair.
_UNIT_ESCAPE = '"\\\\" (["\\\\/bfnrt] | "u" ([0-9a-cA-CeEfF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))'
_KINDS = {(0, 1): "?", (0, None): "*", (1, None): "+"}


def gbnf(node: Node, lose: Callable[[str], None]) -> str:
    """GBNF text. lose: called with each schema that rules cannot express. Any value of its type is allowed there."""
    writer = _Writer(lose)
    root = writer.expression(node)
    return "\n".join([f"root ::= {root}", *(f"{name} ::= {text}" for name, text in writer.rules.items())]) + "\n"


class _Writer(JsonRules):
    """Writes each node once, even if it occurs several times."""

    space = "ws"
    notes = frozenset(("format",))

    def __init__(self, lose: Callable[[str], None]) -> None:
        self.lose = lose
        self.what = ""
        self.rules: dict[str, str] = {"ws": "[ \\n\\t]{0,16}"}
        self.names: dict[object, str] = {}
        self.written: dict[Node, str] = {}

    def expression(self, node: Node) -> str:
        made = self.written.get(node)
        if made is None:
            made = self.written[node] = self._expression(node)
        return made

    def _expression(self, node: Node) -> str:
        match node:
            case Lit(text=text) | Mark(text=text):
                return self.literal(text)
            case Seq(parts=parts):
                return " ".join([self.expression(part) for part in parts]) or '""'
            case Json(schema=schema, without=without, any_order=any_order, what=what):
                key = ("schema", schema, without, any_order)
                self.what = what
                return self.rule(key, lambda: self.whole(schema, in_quotes(without), any_order))
            case Or(parts=parts):
                return self.rule(node, lambda: " | ".join([self.expression(part) for part in parts]))
            case Rep(part=part, least=least, most=most):
                return self.rule((Rep, part), lambda: self.expression(part)) + _KINDS[least, most]
            case Kept(part=part):
                return self.expression(part)
            case Text(without=without, plain=plain, pattern=pattern):
                return f"({pattern})" if pattern else self._text(without, plain)
            case Space():
                return self.space
            case Regex(pattern=pattern):
                return f"({pattern})"
        raise TypeError(node)

    # --- text without some strings: the states of the automaton that searches for them ---

    def _text(self, without: tuple[str, ...], plain: bool) -> str:
        if not without:
            return "([^ \\n\\t\\r[{<] [^\\x00]*)?" if plain else "[^\\x00]*"
        name = self.rule(("text", without), lambda: "")
        if not self.rules[name]:
            for rule, ways in _automaton(name, without, ""):
                self.rules[rule] = f"({ways})?"
        return f"([^ \\n\\t\\r[{{<] {name})?" if plain else name

    # --- JSON ---

    def literal(self, text: str) -> str:
        return f'"{text.translate(_ESCAPED)}"'

    def number(self, kind: str) -> str:
        integer = self.rule("integer", lambda: _INTEGER)
        if kind == "integer":
            return integer
        return self.rule("number", lambda: f'{integer} ("." [0-9]{{1,16}})? ([eE] [+-]? [0-9]{{1,2}})?')

    def string(self, without: tuple[str, ...], least: int = 0, most: int | None = None) -> str:
        if least or most is not None:
            # No character that begins a forbidden string.
            begins = "".join(map(_in_class, sorted({one[0] for one in without})))
            unit = self.rule(("unit", begins), lambda: f'[^"\\\\\\x00-\\x1f{begins}] | {_UNIT_ESCAPE}')
            return f'"\\"" {unit}{{{least},{"" if most is None else most}}} "\\""'
        if not without:
            return self.rule("string", lambda: f'"\\"" ([^"\\\\\\x00-\\x1f] | {_ESCAPE})* "\\""')
        name = self.rule(("string", without), lambda: "")
        if not self.rules[name]:
            states = _automaton(f"{name}-in", without, '"\\\\\\x00-\\x1f')
            self.rules[name] = f'"\\"" {name}-in'
            for rule, ways in states:
                self.rules[rule] = f'{ways} | {_ESCAPE} {name}-in | "\\""'
        return name

    def matching(self, pattern: str, without: tuple[str, ...], least: int, most: int | None) -> str:
        found = rewritten(pattern, JSON_NEVER + "".join(sorted({one[0] for one in without})))
        if found is None or least or most is not None:
            return ""
        return f'"\\"" ({found.text}) "\\""'

    def unknown(self, what: str, schema: Any, without: tuple[str, ...], keywords: Iterable[str] = ()) -> str:
        self.lose(f"llama.cpp's grammars do not keep {what} of {self.what}")
        kind = schema.get("type") if isinstance(schema, dict) else None
        return self.any(str(kind), without)


@lru_cache(256)
def _automaton(name: str, without: tuple[str, ...], never: str) -> list[tuple[str, str]]:
    """The states of the automaton that searches for these strings: each one's name and ways to continue.

    never: more characters that are not allowed, in the notation of a class.
    """
    children: list[dict[str, int]] = [{}]
    ends: list[bool] = [False]
    for word in without:
        state = 0
        for character in word:
            if character not in children[state]:
                children[state][character] = len(children)
                children.append({})
                ends.append(False)
            state = children[state][character]
        ends[state] = True
    # By state, the characters that lead to a state other than the first.
    moves: list[dict[str, int]] = [dict(children[0])] + [{}] * (len(children) - 1)
    waiting = [(child, 0) for child in children[0].values()]
    for state, fallback in waiting:  # in the order of their depth
        ends[state] = ends[state] or ends[fallback]
        moves[state] = {**moves[fallback], **children[state]}
        waiting += [(child, moves[fallback].get(character, 0)) for character, child in children[state].items()]
    made = []
    for state in (0, *(state for state, _ in waiting if not ends[state])):
        groups: dict[int, str] = {}
        for character, target in moves[state].items():
            if not ends[target]:
                groups[target] = groups.get(target, "") + _in_class(character)
        ways = [f"[{characters}] {name}-{target}" for target, characters in groups.items()]
        ways.append(f"[^{never}{''.join(map(_in_class, moves[state]))}] {name}")
        made.append((f"{name}-{state}" if state else name, " | ".join(ways)))
    return made


def _in_class(character: str) -> str:
    return {"]": "\\]", "[": "\\[", "^": "\\^", "-": "\\-"}.get(character) or _ESCAPES.get(character, character)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = str.maketrans(_ESCAPES)
