"""Counts of a family: how many outputs each side reads rightly, and the classes of the differences."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .outcome import Outcome, difference, expected
from .outputs import Output

WAYS = ("streamed", "whole")
OURS = "ours"
RENDERED = "as rendered"
LONGEST = 240  # characters of an example

Counts = dict[str, Counter[str]]


class Counted:
    """What is counted of one family.

    same: by mutation, how often a column is right, or for outputs without a known meaning, how often it is as ours is.
    classes: by kind of output and column, how often each class of difference is found; `own` is a rival's stream beside
    its own whole answer. wrong: by mutation, the classes in which ours differs from a known meaning.
    """

    def __init__(self) -> None:
        self._same: Counts = {}
        self._classes: dict[str, Counts] = {"rendered": {}, "mutated": {}, "own": {}}
        self._wrong: Counts = {}
        self.examples: dict[str, list[str]] = {}

    def add(self, output: Output, ours: Outcome, rivals: dict[str, list[Outcome]]) -> None:
        """One output: what we make of it, and what each rival does, streamed and whole."""
        columns = {f"{side} {way}": one for side, both in rivals.items() for way, one in zip(WAYS, both, strict=True)}
        right = ours if output.meaning is None else expected(output.meaning)
        same = self._same.setdefault(output.mutation or RENDERED, Counter())
        same["outputs"] += 1
        kind = "mutated" if output.mutation else "rendered"
        if wrong := difference(right, ours):
            self._wrong.setdefault(output.mutation or RENDERED, Counter())[wrong] += 1
            self._keep(f"ours, {output.mutation or RENDERED}: {wrong}", output, OURS, right, ours)
        else:
            same[OURS] += 1
        for column, theirs in columns.items():
            if found := difference(right, theirs):
                self._classes[kind].setdefault(column, Counter())[found] += 1
                self._keep(f"{kind}: {found}", output, column, right, theirs)
            else:
                same[column] += 1
        for side, (streamed, whole) in rivals.items():
            if unlike := difference(whole, streamed):
                self._classes["own"].setdefault(side, Counter())[unlike] += 1

    def _keep(self, key: str, output: Output, column: str, right: Outcome, theirs: Outcome) -> None:
        """The shortest example of each class."""
        known = self.examples.get(key)
        if len(output.text) <= LONGEST and (known is None or len(output.text) < len(known[1])):
            self.examples[key] = [column, output.text, shown(right), shown(theirs)]

    def data(self) -> dict[str, Any]:
        def plain(counts: Counts) -> dict[str, Any]:
            return {name: dict(sorted(counts[name].items())) for name in sorted(counts)}

        kinds = {kind: plain(counts) for kind, counts in self._classes.items()}
        return {"same": plain(self._same), **kinds, "ours differs": plain(self._wrong)}


def shown(outcome: Outcome) -> str:
    """An outcome for people."""
    if outcome.error:
        return f"an error ({outcome.error.partition(':')[0]})"
    texts = (("reasoning", outcome.reasoning), ("content", outcome.content))
    parts = [f"{name} `{text}`" for name, text in texts if text]
    parts += [f"call {call.name} `{call.arguments}`{'' if call.complete else ', cut'}" for call in outcome.calls]
    return ", ".join(parts) or "nothing"
