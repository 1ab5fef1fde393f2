"""Arguments as models write them that do not write JSON."""

from __future__ import annotations

from typing import Any

from .meanings import Json, as_json


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


def function_gemma(value: Any) -> str:
    return gemma(value, "<escape>")
