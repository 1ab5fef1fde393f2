"""Written calls at random, each of whose keys and values occurs once, and what a model makes of them that loses,
doubles or confuses a mark."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from itertools import count

from broken_calls import row_of
from random_tags import first
from reference_tags_text import may_lack

MARKS = "[](){}'\","


@dataclass
class Writer:
    """Writes the calls of one output."""

    dice: random.Random
    row: str
    numbers: count[int] = field(default_factory=lambda: count(101))
    keys: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.is_object = row_of(self.row).body == "object"
        self.own = first(row_of(self.row).quote) if self.is_object else ""

    def string(self) -> str:
        quote = self.own or self.dice.choice("'\"")
        return f"{quote}{self.words()}{quote}"

    def words(self) -> str:
        form = self.dice.choice(("w#", "w#", "w# w#", "w#, w#", "w# (w#)"))
        return re.sub("#", lambda _: str(next(self.numbers)), form)

    def value(self, depth: int = 2) -> str:
        kind = self.dice.randrange(6 if depth else 2)
        size = self.dice.randrange(4)
        if kind < 2:
            return self.string() if kind else str(next(self.numbers))
        if kind == 5 and not self.is_object:
            return f"g({', '.join(self.value(0) for _ in range(size))})"
        if kind == 2:
            opens, closes = ("[", "]") if self.is_object or self.dice.randrange(3) else ("(", ")")
            comma = "," if opens == "(" and size == 1 else ""
            return f"{opens}{', '.join(self.value(depth - 1) for _ in range(size))}{comma}{closes}"
        pairs = []
        for _ in range(size):
            key = f"m{next(self.numbers)}"
            pairs.append(f"{key}:" if self.is_object else f"'{key}': ")
            pairs[-1] += self.value(depth - 1)
        return "{" + ", ".join(pairs) + "}"

    def call(self, name: str) -> str:
        arguments = []
        for _ in range(self.dice.randrange(4)):
            self.keys.append(f"k{next(self.numbers)}")
            arguments.append(self.keys[-1] + (":" if self.is_object else "=") + self.value())
        said = (", " if self.dice.randrange(4) else ",").join(arguments)
        return f"call:{name}{{{said}}}" if self.is_object else f"{name}({said})"


@dataclass
class Written:
    """An output of calls, and what each has in it: all its keys and values, in no other."""

    before: str
    calls: str
    after: str
    names: dict[str, list[str]]
    keys: list[str]

    def text(self) -> str:
        return self.before + self.calls + self.after


def written_calls(dice: random.Random, row: str) -> Written:
    writer = Writer(dice, row)
    calls = {name: writer.call(name) for name in ("f", "h")[: dice.choice((1, 1, 2))]}
    opener, closer = map(first, row_of(row).section or ("", ""))
    if may_lack((row_of(row).section or ("", ""))[1]):
        opener, closer = dice.choice((("", ""), (opener, next(one for one in (closer, "<|python_end|>") if one))))
    if writer.is_object:
        said = (closer + opener).join(calls.values())
    elif row == "olmo3":
        said = "\n".join(calls.values())
    else:
        said = f"[{', '.join(calls.values())}]"
    names = {name: re.findall(r"[wmk]?1[0-9]{2,}", call) for name, call in calls.items()}
    return Written(opener, said, closer, names, writer.keys)


def broken(dice: random.Random, calls: str, times: int) -> str:
    """A mark is missing, doubled or another, so many times."""
    for _ in range(times):
        places = [at for at, char in enumerate(calls) if char in MARKS]
        if not places:
            return calls
        at = dice.choice(places)
        char = dice.choice(("", calls[at] * 2, dice.choice(MARKS)))
        calls = calls[:at] + char + calls[at + 1 :]
    return calls
