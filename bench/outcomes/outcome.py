"""What a parser makes of an output, and how that differs from what was expected."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from .meanings import Meaning


class Call(NamedTuple):
    name: str
    arguments: str
    complete: bool = True


class Outcome(NamedTuple):
    """`error`: what was raised."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = ()
    error: str = ""


def outcome_of(message: list[Any]) -> Outcome:
    """As a process of a side sends it."""
    reasoning, content, calls, error = message
    return Outcome(reasoning or "", content or "", tuple(Call(*call) for call in calls), error)


def expected(meant: Meaning) -> Outcome:
    calls = tuple(Call(name, json.dumps(arguments)) for name, arguments in meant.calls)
    return Outcome(meant.reasoning, meant.content, calls)


def same_json(one: Any, other: Any) -> bool:
    """`1` and `1.0` are the same number, and `1` and `true` are not the same."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def squeezed(text: str) -> str:
    return "".join(text.split())


def loads(text: str) -> Any:
    """The value, or ... if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return ...


def argument_difference(right: Call, theirs: Call) -> str:
    ours, value = loads(right.arguments), loads(theirs.arguments)
    if not right.complete:
        return "a cut call is closed" if theirs.complete and value is not ... else ""
    if ours == {} and not theirs.arguments:
        return "no arguments are an empty text"
    if value is ...:
        return "" if ours is ... and right.arguments == theirs.arguments else "arguments are no JSON"
    if same_json(ours, value):
        return ""
    if not isinstance(ours, dict) or not isinstance(value, dict):
        return "arguments are not an object" if isinstance(ours, dict) else "another value"
    if ours.keys() - value.keys():
        return "an argument is lost"
    if value.keys() - ours.keys():
        return "an argument is added"
    for key, each in ours.items():
        if not same_json(each, value[key]):
            return value_difference(each, value[key])
    return ""


def value_difference(right: Any, theirs: Any) -> str:
    if isinstance(right, str) and isinstance(theirs, str):
        return "whitespace in a string" if squeezed(right) == squeezed(theirs) else "another string"
    return "another type" if type(right) is not type(theirs) else "another value"


def difference(right: Outcome, theirs: Outcome) -> str:
    """The class of the first difference that matters most; "" if only whitespace around texts differs."""
    if theirs.error:
        return "it raises"
    whole = tuple(call for call in right.calls if call.complete)
    if len(theirs.calls) < len(right.calls):
        return "a call is lost" if len(theirs.calls) < len(whole) else "a cut call is lost"
    if len(theirs.calls) > len(right.calls):
        return "a call is added"
    for ours, other in zip(right.calls, theirs.calls, strict=True):
        if ours.name != other.name:
            return "another name"
        if found := argument_difference(ours, other):
            return found
    return text_difference(right, theirs)


def text_difference(right: Outcome, theirs: Outcome) -> str:
    ours = squeezed(right.reasoning), squeezed(right.content)
    other = squeezed(theirs.reasoning), squeezed(theirs.content)
    if ours == other:
        return ""
    if "".join(ours) == "".join(other):
        return "reasoning and content are confused"
    if len("".join(other)) < len("".join(ours)):
        return "text is lost"
    return "markup or other text is shown"
