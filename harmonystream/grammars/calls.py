"""What a row with tags lets a model write: reasoning, text, and calls of declared tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import GrammarError
from ..formats import Format
from .arguments import (
    Function,
    elements_of,
    endings,
    first,
    json_of,
    objects_of,
    pairs_of,
    python_of,
)
from .nodes import (
    EMPTY,
    ID,
    INDEX,
    QUOTED_ID,
    Json,
    Kept,
    Lit,
    Mark,
    Node,
    Space,
    Text,
    after_space,
    either,
    few,
    is_empty,
    maybe,
    of_marks,
    row,
    some,
)
from .rows import markup_of, per_row
from .schemas import canonical, closed

__all__ = ["Calls"]


class Calls:
    """The calls of a format.

    row_: the format. functions: the tools that may be called. parallel: may there be more than one call?
    """

    def __init__(self, row_: Format, functions: Sequence[Function], *, parallel: bool) -> None:
        self.row, self.functions, self.parallel = row_, functions, parallel
        self._block: Node | None = None
        self._markup = markup_of(row_)
        self._endings, self._stops = endings(row_), _stops(row_)

    def openers(self) -> tuple[str, ...]:
        """Strings that a text must not contain, because a call would begin with them."""
        return _openers(self.row)

    def begins_bare(self) -> bool:
        """May an answer begin with a call without an opener?"""
        return self.row.section is not None and "" in _spellings(self.row.section[0])

    def block(self) -> Node:
        """One call, or the calls of one section, from the opener to the closer."""
        if self._block is None:
            self._block = either(*(self._of(one)._new_block() for one in _dialects(self.row)))
        return self._block

    def _of(self, row_: Format) -> Calls:
        return self if row_ is self.row else Calls(row_, self.functions, parallel=self.parallel)

    def opened_block(self) -> Node:
        """The same, but always with an opener, so that it can follow text."""
        return self._of(_opened(self.row)).block()

    def _new_block(self) -> Node:
        if not self.functions:
            raise GrammarError("there is no tool to call")
        if self.row.section is None:
            if self.row.call is None:
                raise GrammarError(f"models of the format {self.row.name!r} call no tools")
            tagged = self._tagged()
            if self.row.wrapped is not True:
                return tagged or EMPTY
            begin, _, end = (first(one) for one in self.row.call)
            wrapped = row(Mark(begin), self._wrapped(one_object=True), Space() if end else EMPTY, Mark(end))
            return wrapped if tagged is None else either(tagged, wrapped)
        opener, closer = self.row.section
        inside = self._inside()
        layout = Space() if self.row.body != "object" and first(closer) else EMPTY
        before, after = spelled(opener), spelled(closer)
        if not first(opener) or "" not in _spellings(opener):
            return row(before, inside, EMPTY if is_empty(after) else layout, after)
        if is_empty(after):
            return row(maybe(before), inside)
        if "" in _spellings(closer):
            after = maybe(after) if first(closer) else EMPTY
        return either(row(before, inside, EMPTY if is_empty(after) else layout, after), inside)

    def _inside(self) -> Node:
        """The part between the opener and the closer of a section."""
        tagged = self._tagged() if self.row.call is not None else None
        ways = [] if tagged is None else [self._several(tagged)]
        if self.row.body == "python":
            ways.append(row(Space(), self._python()))
        elif self.row.body == "object":
            ways.append(either(*(self._kept(one, self._object) for one in self.functions)))
        elif self.row.wrapped is True:
            ways.append(self._wrapped())
        return either(*ways)

    def blocks(self) -> Node:
        """White space and a block. More of them if there may be more than one call."""
        one = row(Space(), self.block())
        return some(one, 1) if self.repeats() else one

    def repeats(self) -> bool:
        """May one block follow another?"""
        alone = self.row.section is not None and not first(self.row.section[1])
        return self.parallel and not alone and not self.begins_bare()

    def _several(self, call: Node) -> Node:
        one = row(Space(), call)
        return some(one, 1) if self.parallel else one

    def _kept(self, function: Function, make: Callable[[Function], Node], *, is_json: bool = False) -> Kept:
        """The part of a tool, which other grammars have, too. is_json: are its arguments JSON?"""
        later = is_json or function.can_be_written(self._endings)
        return function.kept((self._markup, make.__name__), make, later=later)

    # --- a call in tags ---

    def _tagged(self) -> Node | None:
        """A call in tags. None if no tool can be called in this way."""
        assert self.row.call is not None
        ways, is_json = [], self.row.pair is None and self.row.element is None
        for function in self.functions:
            try:
                ways.append(self._kept(function, self._call, is_json=is_json))
            except GrammarError:
                if self.row.wrapped is not True:
                    raise
                # A wrapped call can still fit the schema, because its strings have quotes.
        return row(Mark(first(self.row.call[0])), either(*ways)) if ways else None

    def _call(self, function: Function) -> Node:
        """A call without its opener."""
        assert self.row.call is not None
        middle, closer = first(self.row.call[1]), first(self.row.call[2])
        if self.row.name_as == "function":
            arguments = json_of(function, self._endings)
            fenced = row(
                *(Lit("function"), Mark(middle), Lit(f"{function.name}\n```json\n")),
                *(arguments, Lit("\n```")),
            )
            plain = row(Lit(function.name), Mark(middle), Space(), arguments, Space())
            return row(either(plain, fenced), Mark(closer))
        name: Node = Lit(function.name)
        if self.row.name_as == "id":
            name = row(Lit(f"functions.{function.name}:"), INDEX)
        body = row(_end_of_name(self.row), self._body(function), Mark(closer))
        if self.row.empty_call and not function.required:
            body = either(Mark(self.row.empty_call), body)
        return row(name, body)

    def _body(self, function: Function) -> Node:
        if self.row.pair is not None:
            key, after = Mark(first(self.row.pair[0])), Mark(first(self.row.pair[1]))
            return row(Space(), pairs_of(self.row, function, key, after))
        if self.row.element is not None:
            return row(Space(), elements_of(self.row, function))
        arguments = json_of(function, self._endings)
        return row(Space(), arguments, Space() if self.row.call and first(self.row.call[2]) else EMPTY)

    # --- calls that are objects, or Python ---

    def _wrapped(self, *, one_object: bool = False) -> Node:
        """one_object: there is no second object outside of an array."""
        before, after = ((), ()) if "*" in self.row.members else _members(self.row)[:2]
        ways = either(*(self._kept(function, self._wrapper, is_json=True) for function in self.functions))
        one = row(Lit("{"), Space(), *before, ways, *after, Space(), Lit("}"))
        if one_object and self.row.pair is not None:
            return row(Space(), one)
        if not self.parallel:
            alone = self.row.section is not None and self.row.call is not None
            return row(Space(), one if alone else either(one, row(Lit("["), Space(), one, Space(), Lit("]"))))
        if self.row.section is not None and self.row.call is not None:
            return some(row(Space(), one), 1)  # if a call can be in tags, each call has its own tags
        array = row(Lit("["), Space(), one, some(row(Space(), Lit(","), Space(), one)), Space(), Lit("]"))
        if one_object:
            return row(Space(), either(one, array))
        if not self.row.between:
            return either(some(row(Space(), one), 1), row(Space(), array))
        between = row(Space(), Lit(self.row.between), Space())
        return row(Space(), either(row(one, some(row(between, one))), array))

    def _wrapper(self, function: Function) -> Node:
        """The part of `{"name": ..., "arguments": ...}` from the name to the arguments."""
        name, arguments = Lit(json.dumps(function.name)), json_of(function, self._stops)
        if "*" in self.row.members:
            return row(name, Lit(":"), Space(), arguments)
        _, _, id_, key = _members(self.row)
        return row(name, _COMMA, id_, key, arguments)

    def _python(self) -> Node:
        """Calls in a list. Between an opener and a closer, there may also be one call per line."""
        one = either(*(self._kept(function, self._python_call) for function in self.functions))
        more = some(row(Lit(","), maybe(Lit(" ")), one)) if self.parallel else EMPTY
        listed = row(Lit("["), one, more, Lit("]"))
        if self.row.section is None or "" in _spellings(self.row.section[1]):
            return listed
        return either(listed, row(one, some(row(Lit("\n"), one))) if self.parallel else one)

    def _python_call(self, function: Function) -> Node:
        return row(Lit(function.name), python_of(self.row, function))

    def _object(self, function: Function) -> Node:
        prefix = "call:" if self.row.name_as == "call" else ""
        return row(Lit(prefix + function.name), objects_of(self.row, function))


@per_row
def _end_of_name(row_: Format) -> Node:
    """The part of a call between the name and the body."""
    assert row_.call is not None
    middle = first(row_.call[1])
    numbered = _numbered(_spellings(row_.call[1]))
    if numbered is not None:
        return numbered
    if middle and row_.attribute:
        return either(Mark(middle), row(Lit(first(row_.attribute)), INDEX, Mark(middle)))
    if middle and row_.call_id:
        return either(Mark(middle), row(Mark(first(row_.call_id)), ID, Mark(middle)))
    if middle:
        return Mark(middle)
    return maybe(Lit("\n")) if row_.pair is not None else EMPTY


@per_row
def _stops(row_: Format) -> tuple[str, ...]:
    """The strings that an object with the name and the arguments must not contain.

    It ends at its own brace, so closers are text inside of its strings. In an array of such objects, a closer after a
    bracket ends a string whose quote is lost. Formats that write calls in tags have no such arrays here, because each
    call has its own tags.
    """
    has_arrays = row_.pair is None and (row_.section is None or row_.call is None)
    return endings(row_) if has_arrays else few(row_.stops)


@per_row
def _openers(row_: Format) -> tuple[str, ...]:
    found: list[str] = []
    for marker in (row_.section and row_.section[0], row_.call and row_.call[0]):
        found += [marker] if isinstance(marker, str) else marker or ()
    return few(found)


@per_row
def _opened(row_: Format) -> Format:
    """The same format, in which a section always has an opener."""
    assert row_.section is not None
    openers = tuple(one for one in _spellings(row_.section[0]) if one)
    closers = tuple(one for one in _spellings(row_.section[1]) if one) or ""
    section = (openers, (*closers, "") if closers and "" in row_.section[1] else closers)
    return row_._replace(section=section)


@per_row
def _dialects(row_: Format) -> list[Format]:
    """The same format, once for each way to spell all of its markers."""
    if row_.section is None or row_.call is None:
        return [row_]
    markers = (*row_.section, *row_.call, *(row_.pair or ()))
    counts = {len(one) for one in markers if not isinstance(one, str)}
    if len(counts) != 1 or not counts <= {2, 3, 4} or isinstance(row_.call[0], str):
        return [row_]

    def led_by(number: int, group: tuple[Any, ...] | None) -> Any:
        return group and tuple(
            one if isinstance(one, str) else (one[number], *one[:number], *one[number + 1 :]) for one in group
        )

    return [
        row_._replace(**{name: led_by(number, getattr(row_, name)) for name in ("section", "call", "pair")})
        for number in range(counts.pop())
    ]


_NUMBER = re.compile("[0-9]+")
_COMMA = row(Space(), Lit(","), Space())


@per_row
def _members(row_: Format) -> tuple[list[Node], list[Node], Node, Node]:
    """The parts of an object before the name and after the arguments, and between them: an id, and the key of the
    arguments.
    """
    keys = {
        role: _member([key for key, what in row_.members.items() if what == role])
        for role in dict.fromkeys(row_.members.values())
    }
    kinds = maybe(row(keys["other"], Lit('"function"'), _COMMA)) if "other" in keys else EMPTY
    if "id" not in keys:
        return [kinds, keys["name"]], [], EMPTY, keys["arguments"]
    id_ = row(keys["id"], QUOTED_ID)
    before = maybe(row(id_, _COMMA))
    return [kinds, before, keys["name"]], [maybe(row(_COMMA, id_))], before, keys["arguments"]


def _member(keys: Sequence[str]) -> Node:
    """One of these keys, with the colon."""
    return row(either(*(Lit(json.dumps(key)) for key in keys)), Space(), Lit(":"), Space())


_MOST_SPELLINGS = 8  # for a section's markers: a row's first spellings are those that its models write


def spelled(marker: object) -> Node:
    """A marker in its first spellings."""
    found = _first_spellings(marker)
    return of_marks(found) if found and first(marker) else EMPTY


def _numbered(spellings: Sequence[str]) -> Node | None:
    """The spellings that differ only in a number. None unless there are at least two of them."""
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
        openers = self.calls.openers() if self.calls.functions else ()
        ends = [one for marker in (closer, *self.row.answer) for one in _spellings(marker)]
        thoughts: Node = Text((*ends, *openers))
        if not self.reasons:
            begin = of_marks([*_first_spellings(opener), *("\n" + one for one in _first_spellings(opener))])
            thoughts = row(begin, thoughts)
        closed = row(thoughts, spelled(closer))
        if not self.reasons:  # without reasoning, the model may write only a closer
            closed = either(closed, spelled(closer))
        if choice == "none" or not openers or self.calls.begins_bare():
            return row(closed if self.reasons else maybe(closed), after_space(rest))
        # A call may begin in open reasoning.
        if choice == "required":
            ended = row(thoughts, maybe(spelled(closer)))
            return row(ended if self.reasons else maybe(either(ended, spelled(closer))), rest)
        after = row(closed if self.reasons else maybe(closed), after_space(rest))
        return either(row(thoughts, self.calls.blocks()), after)

    def _rest(self, choice: str, answer: object) -> Node:
        if choice == "none":
            return self._answer(answer) if answer is not None else self._text()
        if choice == "required":
            return self.calls.blocks()
        if answer is not None:
            return either(self._answer(answer), self.calls.blocks())
        if self.calls.begins_bare():
            text = self._text(plain=True)
            if self.calls.openers():
                text = row(text, maybe(self.calls.opened_block()))
            return either(self.calls.blocks(), text)
        text = self._text()
        block = row(text, self.calls.block())
        return row(some(block) if self.calls.parallel else maybe(block), text)

    def _not_text(self) -> list[str]:
        """Strings that would begin a call, or would begin or end reasoning."""
        think = () if self.row.think is None else (*_spellings(self.row.think[0]), *_spellings(self.row.think[1]))
        return [*self.calls.openers(), *think]

    def _not_shown(self) -> list[str]:
        """Markers that an answer may have, and that are not a part of its text."""
        return [one for marker in (*self.row.answer, *self.row.drop) for one in _spellings(marker)]

    def _not_after_calls(self) -> tuple[str, ...]:
        """Strings that text after a call must not contain.

        If a closer of a value follows a call without arguments, with nothing but text between them, that call is a
        broken one.
        """
        if self.row.pair is None or self.row.section is not None or not self.calls.functions:
            return ()
        return _spellings(self.row.pair[3])

    def _answer(self, schema: object) -> Node:
        without = tuple(dict.fromkeys([*self._not_text(), *self._not_shown()]))
        return Json(canonical(closed(schema)), without, False, "the answer")

    def _text(self, plain: bool = False) -> Node:
        """An answer. It contains none of the row's markers."""
        shown = self._not_shown()
        text = Text(tuple(dict.fromkeys([*self._not_text(), *self._not_after_calls(), *shown])), plain)
        # If this is the beginning of another marker, it could become that marker.
        shown = [one for one in shown if not any(other != one and other.startswith(one) for other in text.without)]
        return row(text, some(row(of_marks(shown), Text(text.without)))) if shown else text
