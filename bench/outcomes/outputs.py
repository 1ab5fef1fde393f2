"""The outputs that are read: rendered meanings. Some are then damaged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from .forms import Form, calls_of, rendered
from .meanings import Json, Meaning, meaning, tools, words

OFTEN = 0.6  # of the outputs of a model that may think
SHARED = 20  # outputs that share the tools of one request


class Output(NamedTuple):
    """`mutation`: what was done to the text; "" for the text as the model's template writes it.

    meaning: what the model wanted to say; None if the mutation leaves that open. thinks: the prompt asks for thoughts.
    """

    tools: list[Json]
    meaning: Meaning | None
    text: str
    thinks: bool
    mutation: str = ""


Damage = Callable[[Random, Form, Meaning, str], str]
Change = Callable[[Random, Form, Meaning], Meaning]


def markers_of(form: Form) -> list[str]:
    """The tags in what the model writes."""
    texts = [*form.section, form.call, form.pair, *form.think, *form.content]
    shape = r"(?:\]<\]minimax\[>\[)?<[^<>\]⟨⟩\s]+>|\[/?[A-Z_]+\]|functools"
    return [mark for text in texts for mark in re.findall(shape, text)] or ["</think>"]


def closers_of(form: Form) -> list[str]:
    return [mark for mark in markers_of(form) if "/" in mark or "end" in mark.lower()] or markers_of(form)


def at_marker(random: Random, marks: list[str], text: str) -> tuple[int, str]:
    """Where one of the marks is in the text, and which; -1 if there is none."""
    found = [(each.start(), mark) for mark in dict.fromkeys(marks) for each in re.finditer(re.escape(mark), text)]
    return random.choice(found) if found else (-1, "")


def cut(random: Random, form: Form, meant: Meaning, text: str) -> str:
    return text[: random.randrange(len(text))]


def closer_missing(random: Random, form: Form, meant: Meaning, text: str) -> str:
    at, mark = at_marker(random, closers_of(form), text)
    return text if at < 0 else text[:at] + text[at + len(mark) :]


def marker_doubled(random: Random, form: Form, meant: Meaning, text: str) -> str:
    at, mark = at_marker(random, markers_of(form), text)
    return text if at < 0 else text[:at] + mark + text[at:]


def whitespace(random: Random, form: Form, meant: Meaning, text: str) -> str:
    at, mark = at_marker(random, markers_of(form), text)
    if at < 0:
        return text
    end = at + len(mark)
    blank = random.choice(("\n", " ", "\n\n"))
    return random.choice(
        (text[:at].rstrip() + text[at:], text[:at] + blank + text[at:], text[:end] + blank + text[end:])
    )


def prose_between(random: Random, form: Form, meant: Meaning, text: str) -> str:
    return rendered(form, meant) + "\nAnd another one:\n" + calls_of(form, meant.calls[:1])


def other_type(random: Random, form: Form, meant: Meaning, text: str) -> str:
    """Numbers and booleans as strings, and strings as numbers."""

    def other(value: object) -> object:
        return 7 if isinstance(value, str) else str(value)

    calls = [(name, {key: other(value) for key, value in given.items()}) for name, given in meant.calls]
    return rendered(form, meant._replace(calls=calls))


def call_in_reasoning(random: Random, form: Form, meant: Meaning, text: str) -> str:
    if not meant.reasoning:
        return text
    inner = meant.reasoning + calls_of(form, meant.calls[:1]) + " So."
    return rendered(form, meant._replace(reasoning=inner))


def reasoning_open(random: Random, form: Form, meant: Meaning, text: str) -> str:
    return text.replace(form.think[1], "", 1) if meant.reasoning else text


def noise(random: Random, form: Form, meant: Meaning, text: str) -> str:
    at = random.randrange(len(text))
    return text[:at] + random.choice(('"', "\\", "{", "}", "<", "\n", ",", "x", "]")) + text[at:]


def other_name(random: Random, form: Form, meant: Meaning) -> Meaning:
    names = ("unknown_tool", "Search", "get_wether")
    return meant._replace(calls=[(random.choice(names), arguments) for _, arguments in meant.calls])


def text_after(random: Random, form: Form, meant: Meaning) -> Meaning:
    return meant._replace(after=words(random, 6)) if meant.calls and form.after else meant


def quoted_in_argument(random: Random, form: Form, meant: Meaning) -> Meaning:
    """A string argument mentions a marker."""
    for name, arguments in meant.calls:
        for key, value in arguments.items():
            if isinstance(value, str) and value and value not in ("metric", "imperial"):
                mark = random.choice(markers_of(form))
                return meant._replace(calls=[(name, arguments | {key: f"Write {mark} here."})])
    return meant


def quoted_in_prose(random: Random, form: Form, meant: Meaning) -> Meaning:
    """The answer mentions a marker of calls, in a sentence."""
    marks = markers_of(form._replace(think=("", "")))
    return meant._replace(before=f"It is written {random.choice(marks)} there.") if form.before else meant


DAMAGES: dict[str, Damage] = {
    "cut": cut,
    "closer missing": closer_missing,
    "marker doubled": marker_doubled,
    "prose between calls": prose_between,
    "whitespace at a marker": whitespace,
    "other type": other_type,
    "call in reasoning": call_in_reasoning,
    "reasoning left open": reasoning_open,
    "a character more": noise,
}
CHANGES: dict[str, Change] = {
    "other name": other_name,
    "text after the calls": text_after,
    "marker in a string": quoted_in_argument,
    "marker in prose": quoted_in_prose,
}


def mutated(random: Random, form: Form, meant: Meaning, text: str) -> tuple[str, str, Meaning | None]:
    """The kind of a mutation that changes something, the text, and what it means if that is known."""
    kinds = [*DAMAGES, *CHANGES]
    random.shuffle(kinds)
    for kind in kinds:
        changed = CHANGES[kind](random, form, meant) if kind in CHANGES else None
        made = rendered(form, changed) if changed else DAMAGES[kind](random, form, meant, text)
        if made not in ("", text):
            return kind, made, changed
    raise AssertionError("noise changes every text")


def outputs(form: Form, name: str, count: int, seed: int = 1) -> Iterator[Output]:
    """Half of them as rendered, half mutated."""
    for at in range(count):
        random = Random(f"{seed} {name} {at}")
        declared = tools(Random(f"{seed} {name} tools {at // SHARED}"))
        often = form.thinks * (1.0 if form.always else OFTEN)
        meant = meaning(random, declared, often, form.before, form.most)
        meant = meant._replace(calls=[(called, form.says(arguments)) for called, arguments in meant.calls])
        text, thinks = rendered(form, meant), bool(meant.reasoning)
        if at % 2 == 0:
            yield Output(declared, meant, text, thinks)
        else:
            kind, made, changed = mutated(random, form, meant, text)
            # Without a schema, the texts between tags have no types.
            known = None if kind == "other name" and form.is_text else changed
            yield Output(declared, known, made, thinks, kind)
