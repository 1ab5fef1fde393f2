"""What a row with tags lets a model write: reasoning, text, and calls of declared tools."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from ..errors import GrammarError
from ..formats import Format
from .arguments import Function, canonical, closed, elements_of, first, json_of, objects_of, pairs_of, python_of
from .nodes import EMPTY, ID, INDEX, Json, Lit, Mark, Node, Space, Text, either, is_empty, maybe, of_marks, row, some

__all__ = ["Calls"]


class Calls:
    """The calls of a format.

    row_: the format. functions: the tools that may be called. parallel: may there be more than one call?
    """

    def __init__(self, row_: Format, functions: Sequence[Function], *, parallel: bool) -> None:
        self.row, self.functions, self.parallel = row_, functions, parallel
        self._block: Node | None = None

    def openers(self) -> tuple[str, ...]:
        """What a text must not contain, because a call would begin with it."""
        found: list[str] = []
        for marker in (self.row.section and self.row.section[0], self.row.call and self.row.call[0]):
            found += [marker] if isinstance(marker, str) else marker or ()
        return tuple(dict.fromkeys(one for one in found if one))

    def begins_bare(self) -> bool:
        """May an answer begin with a call, without any opener?"""
        return self.row.section is not None and "" in _spellings(self.row.section[0])

    def block(self) -> Node:
        """One call, or those of one section, from the opener to the closer."""
        if self._block is None:
            self._block = self._new_block()
        return self._block

    def _new_block(self) -> Node:
        if not self.functions:
            raise GrammarError("there is no tool to call")
        if self.row.section is None:
            if self.row.call is None:
                raise GrammarError(f"models of the format {self.row.name!r} call no tools")
            return self._tagged() or EMPTY
        opener, closer = self.row.section
        tagged = self._tagged() if self.row.call is not None else None
        inside = [] if tagged is None else [self._several(tagged)]
        if self.row.body == "python":
            inside.append(row(Space(), self._python()))
        elif self.row.body == "object":
            inside.append(either(*(self._object(one) for one in self.functions)))
        elif self.row.wrapped:
            inside.append(self._wrapped())
        begin, end = spelled(opener), spelled(closer)
        if first(opener) and "" in _spellings(opener):
            begin = maybe(Mark(first(opener))) if self.row.body != "python" else EMPTY
            end = EMPTY if "" in _spellings(closer) else end
        layout = Space() if self.row.body != "object" and first(closer) and not is_empty(end) else EMPTY
        return row(begin, either(*inside), layout, end)

    def blocks(self) -> Node:
        """White space and a block, and more of them if there may be more than one call."""
        one = row(Space(), self.block())
        return some(one, 1) if self.repeats() else one

    def repeats(self) -> bool:
        """May one block follow another?"""
        alone = self.row.section is not None and not first(self.row.section[1])
        return self.parallel and not alone and not self.begins_bare()

    def _several(self, call: Node) -> Node:
        one = row(Space(), call)
        return some(one, 1) if self.parallel else one

    # --- a call in tags ---

    def _tagged(self) -> Node | None:
        """A call in tags; None if no tool can be called so."""
        ways = []
        for function in self.functions:
            try:
                ways.append(self._call(function))
            except GrammarError:
                if self.row.section is None or not self.row.wrapped:
                    raise
                # A wrapped call keeps the schema, because its strings have quotes.
        return either(*ways) if ways else None

    def _call(self, function: Function) -> Node:
        assert self.row.call is not None
        opener, middle, closer = (first(one) for one in self.row.call)
        if self.row.name_as == "function":
            fenced = row(
                Lit("function"), Mark(middle), Lit(f"{function.name}\n```json\n"), json_of(function), Lit("\n```")
            )
            plain = row(Lit(function.name), Mark(middle), json_of(function))
            return row(Mark(opener), either(plain, fenced), Mark(closer))
        name: Node = Lit(function.name)
        if self.row.name_as == "id":
            name = row(Lit(f"functions.{function.name}:"), INDEX)
        end = self._end_of_name(middle)
        return row(Mark(opener), name, end, self._body(function), Mark(closer))

    def _end_of_name(self, middle: str) -> Node:
        """What is between the name and the body."""
        assert self.row.call is not None
        numbered = _numbered(_spellings(self.row.call[1]))
        if numbered is not None:
            return numbered
        if middle:
            return Mark(middle)
        return maybe(Lit("\n")) if self.row.pair is not None else EMPTY

    def _body(self, function: Function) -> Node:
        if self.row.pair is not None:
            key, after = Mark(first(self.row.pair[0])), Mark(first(self.row.pair[1]))
            return row(Space(), pairs_of(self.row, function, key, after))
        if self.row.element is not None:
            return row(Space(), elements_of(self.row, function))
        return row(Space(), json_of(function), Space() if self.row.call and first(self.row.call[2]) else EMPTY)

    # --- calls that are objects, or Python ---

    def _wrapped(self) -> Node:
        one = either(*(self._wrapper(function) for function in self.functions))
        if not self.parallel:
            return row(Space(), either(one, row(Lit("["), Space(), one, Space(), Lit("]"))))
        array = row(Lit("["), Space(), one, some(row(Space(), Lit(","), Space(), one)), Space(), Lit("]"))
        if not self.row.between:
            return either(some(row(Space(), one), 1), row(Space(), array))
        between = row(Space(), Lit(self.row.between), Space())
        return row(Space(), either(row(one, some(row(between, one))), array))

    def _wrapper(self, function: Function) -> Node:
        if "*" in self.row.members:
            return row(
                Lit("{"),
                Space(),
                Lit(json.dumps(function.name)),
                Lit(":"),
                Space(),
                json_of(function),
                Space(),
                Lit("}"),
            )
        names = [key for key, what in self.row.members.items() if what == "name"]
        keys = [key for key, what in self.row.members.items() if what == "arguments"]
        ids = [key for key, what in self.row.members.items() if what == "id"]
        name = row(Lit(json.dumps(names[0])), Space(), Lit(":"), Space(), Lit(json.dumps(function.name)))
        arguments = row(Lit(json.dumps(keys[0])), Space(), Lit(":"), Space(), json_of(function))
        comma = row(Space(), Lit(","), Space())
        id: Node = EMPTY
        if ids:
            id = maybe(row(Lit(json.dumps(ids[0])), Space(), Lit(":"), Space(), Lit('"'), ID, Lit('"'), comma))
        return row(Lit("{"), Space(), id, name, comma, arguments, Space(), Lit("}"))

    def _python(self) -> Node:
        one = either(*(row(Lit(function.name), python_of(self.row, function)) for function in self.functions))
        more = some(row(Lit(","), maybe(Lit(" ")), one)) if self.parallel else EMPTY
        return row(Lit("["), one, more, Lit("]"))

    def _object(self, function: Function) -> Node:
        prefix = "call:" if self.row.name_as == "call" else ""
        return row(Lit(prefix + function.name), objects_of(self.row, function))


_NUMBER = re.compile("[0-9]+")
_MOST_SPELLINGS = 8  # of a section's markers: those that a row has first are those that its models write


def spelled(marker: object) -> Node:
    """A marker in its first spellings."""
    found = _first_spellings(marker)
    return of_marks(found) if found and first(marker) else EMPTY


def _numbered(spellings: Sequence[str]) -> Node | None:
    """Spellings that have a number, and are the same but for it; None if there are not two of these."""
    parts = {tuple(_NUMBER.split(one)) for one in spellings if _NUMBER.search(one)}
    if len(parts) != 1 or sum(1 for one in spellings if _NUMBER.search(one)) < 2:
        return None
    before, after = parts.pop()
    return row(Mark(before), INDEX, Mark(after))


def _first_spellings(marker: object) -> list[str]:
    return [one for one in _spellings(marker)[:_MOST_SPELLINGS] if one]


def _spellings(marker: object) -> tuple[str, ...]:
    return (marker,) if isinstance(marker, str) else tuple(marker)  # type: ignore[arg-type]


class Output:
    """What follows the prompt, in a format with tags."""

    def __init__(self, row_: Format, calls: Calls, *, reasons: bool, may_reason: bool) -> None:
        self.row, self.calls, self.reasons, self.may_reason = row_, calls, reasons, may_reason

    def whole(self, choice: str, answer: object) -> Node:
        """choice: "auto", "required" or "none". answer: the schema of the answer, or None."""
        rest = self._rest(choice, answer)
        if self.row.think is None or not (self.reasons or self.may_reason):
            return rest
        opener, closer = self.row.think
        openers = self.calls.openers() if choice != "none" else ()
        thoughts: Node = Text((*_spellings(closer), *openers))
        if not self.reasons:
            begin = of_marks([*_first_spellings(opener), *("\n" + one for one in _first_spellings(opener))])
            thoughts = row(begin, thoughts)
        closed = row(thoughts, spelled(closer))
        if not openers or self.calls.begins_bare():
            return row(closed if self.reasons else maybe(closed), Space(), rest)
        # A call may begin in open reasoning.
        if choice == "required":
            ended = row(thoughts, maybe(spelled(closer)))
            return row(ended if self.reasons else maybe(ended), rest)
        after = row(closed if self.reasons else maybe(closed), Space(), rest)
        return either(row(thoughts, self.calls.blocks()), after)

    def _rest(self, choice: str, answer: object) -> Node:
        if choice == "none":
            return Json(canonical(closed(answer))) if answer is not None else self._text()
        if choice == "required":
            return self.calls.blocks()
        if answer is not None:
            return either(Json(canonical(closed(answer))), self.calls.blocks())
        if self.calls.begins_bare():
            return either(self.calls.blocks(), self._text(plain=True))
        text = self._text()
        block = row(text, self.calls.block())
        return row(some(block) if self.calls.parallel else maybe(block), text)

    def _text(self, plain: bool = False) -> Node:
        """An answer. It has none of the row's markers."""
        without = [*self.calls.openers()]
        if self.row.think is not None:
            without += [*_spellings(self.row.think[0]), *_spellings(self.row.think[1])]
        return Text(tuple(dict.fromkeys(without)), plain)
