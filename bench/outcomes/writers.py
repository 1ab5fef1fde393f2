"""Arguments as models write them that do not write JSON."""

from __future__ import annotations

from typing import Any

from .meanings import Json, as_json

M3 = "]<]minimax[>["  # before each tag of MiniMax-M3


def python_value(value: Any) -> str:
    """As Python prints it, as templates do that convert a value to a text."""
    return repr(value)


def python_arguments(arguments: Json) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in arguments.items())


def gemma(value: Any, quote: str = '<|"|>') -> str:
    """An object with bare keys, and strings between the model's own quotes."""
    if isinstance(value, str):
        return quote + value + quote
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{gemma(each, quote)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(gemma(each, quote) for each in value) + "]"
    return as_json(value)


def elements(value: Any) -> str:
    """A tag for each member and each item."""
    if not isinstance(value, (dict, list)):
        return value if isinstance(value, str) else as_json(value)
    members = value.items() if isinstance(value, dict) else (("item", each) for each in value)
    return "".join(f"{M3}<{key}>{elements(each)}{M3}</{key}>" for key, each in members)


def in_elements(arguments: Json) -> Json:
    """What elements can say of arguments: nothing is null, and inside of an object or array, whose schema says no
    types, all is text that is not empty."""
    return {
        key: inside(each) if isinstance(each, (dict, list)) else each
        for key, each in arguments.items()
        if each is not None
    }


def inside(value: Any) -> Any:
    if isinstance(value, dict):
        given = {key: inside(each) for key, each in value.items()}
        return {key: each for key, each in given.items() if each not in (None, {}, [])}
    if isinstance(value, list):
        return [each for each in map(inside, value) if each not in (None, {}, [])]
    return value if value is None or isinstance(value, str) else as_json(value)


def function_gemma(value: Any) -> str:
    return gemma(value, "<escape>")
