"""What gpt-oss may write: messages with headers. A call is such a message."""

from __future__ import annotations

from collections.abc import Sequence

from ..formats import HeaderFormat
from .arguments import Function, json_of
from .nodes import EMPTY, Json, Lit, Mark, Node, Text, either, maybe, row, some
from .rows import markup_of
from .schemas import canonical, closed

__all__ = ["Messages"]


class Messages:
    """The text after `<|start|>assistant`, or after the end of the prompt."""

    def __init__(self, row_: HeaderFormat, functions: Sequence[Function]) -> None:
        self.row, self.marks, self.functions = row_, row_.markers, functions

    def _mark(self, name: str) -> Node:
        return Mark(self.marks[name])

    def _text(self) -> Node:
        return Text(tuple(self.marks.values()))

    def _message(self, channel: str) -> Node:
        """A message that is not the last one."""
        next_one = row(self._mark("end"), self._mark("start"), Lit("assistant"))
        return row(self._mark("channel"), Lit(channel), self._mark("message"), self._text(), next_one)

    def _kind(self) -> Node:
        """The content type, in the spellings of gpt-oss's template and cookbook. A new node each time: the text must
        not depend on which calls are cached."""
        marked = row(self._mark("constrain"), Lit("json"))
        return either(row(Lit(" "), marked), marked, Lit(" json"), Lit(" code"))

    def _call(self, function: Function) -> Node:
        to = f" to=functions.{function.name}"
        kind = maybe(self._kind())
        in_channel = row(self._mark("channel"), either(Lit("commentary" + to), Lit("analysis" + to)))
        in_role = row(Lit(to), self._mark("channel"), either(Lit("commentary"), Lit("analysis")))
        body = row(self._mark("message"), json_of(function, tuple(self.marks.values())), maybe(self._mark("call")))
        return row(either(in_channel, in_role), kind, body)

    def _final(self, answer: object) -> Node:
        body: Node = self._text()
        if answer is not None:
            body = Json(canonical(closed(answer)), tuple(self.marks.values()), False, "the answer")
        return row(
            self._mark("channel"),
            Lit("final"),
            maybe(self._kind()),
            self._mark("message"),
            body,
            maybe(self._mark("return")),
        )

    def whole(self, choice: str, answer: object, *, reasons: bool, may_reason: bool) -> Node:
        """reasons: does the prompt end inside an analysis message? may_reason: may there be such messages?"""
        key = markup_of(self.row)
        ends: list[Node] = [] if choice == "none" else [one.kept(key, self._call, later=True) for one in self.functions]
        if choice != "required":
            ends.append(self._final(answer))
        before = [self._message("analysis")] if may_reason else []
        before += [self._message("commentary")] if choice != "none" else []
        first = row(self._text(), self._mark("end"), self._mark("start"), Lit("assistant")) if reasons else EMPTY
        return row(first, some(either(*before)) if before else EMPTY, either(*ends))
