"""Contents: converts clients' objects to plain data, and content parts to text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .._native.core.plain import MisfitError, plain_copy
from ..errors import PromptError

__all__ = [
    "MEDIA",
    "arguments_object",
    "arguments_text",
    "content_of",
    "error_of",
    "plain",
    "result_of",
    "text_of_parts",
]

_JSON = json.JSONEncoder(ensure_ascii=False)

TEXT = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
"""Types of parts that are text, and the fields that contain it."""

_ERROR = re.compile(r"\W*\w*error", re.IGNORECASE)
"""Matches text that begins as an error does: "TypeError: …", or `{"error": …}`."""

MEDIA = frozenset(
    (
        *("image_url", "input_image", "image", "input_audio", "audio", "video", "video_url"),
        *("file", "input_file", "document", "search_result"),
    )
)
"""Types of parts that only a template may understand."""


def plain(value: Any, where: str) -> Any:
    """The value with only dicts, lists, strings, numbers, booleans and None. Objects with `model_dump()` are dumped.

    Raises `PromptError` for anything else, and for values that nest more than 100 deep.
    """
    try:
        return plain_copy(value, _converted)
    except MisfitError as misfit:
        raise PromptError(f"{where}{misfit}") from None


def _converted(value: Any) -> Any:
    """Convert a value of a type that JSON does not have to one that is closer to JSON."""
    if isinstance(value, str):
        return str.__str__(value)  # an enum of strings
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, tuple):
        return value._asdict() if hasattr(value, "_asdict") else list(value)
    if isinstance(value, list):
        return list(value)
    for number in (int, float):
        if isinstance(value, number):
            return number(value)  # an enum of numbers, or a number of numpy
    if isinstance(value, type):
        raise MisfitError(f"is the class {value.__name__}; expected text, a number, a list or a mapping")
    if callable(dump := getattr(value, "model_dump", None)):
        return dump(exclude_none=True)
    raise MisfitError(f"is {type(value).__name__}; expected text, a number, a list or a mapping")


def content_of(value: Any, where: str, joint: str) -> str | list[dict[str, Any]]:
    """A content: text, or a list of parts if some of them are not text. `joint` separates the texts."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    parts = [value] if isinstance(value, dict) else value
    if not isinstance(parts, list):
        raise PromptError(f"{where} is {type(value).__name__}; expected text or a list of parts")
    read = [_part(part, f"{where}[{i}]") for i, part in enumerate(parts)]
    if all(isinstance(part, str) for part in read):
        return joint.join(part for part in read if isinstance(part, str))
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in read]


def result_of(value: Any, where: str) -> str | list[dict[str, Any]]:
    """The content of a tool's result: text, parts, or any other value as JSON."""
    if value is None or isinstance(value, str) or (isinstance(value, (dict, list)) and _is_parts(value)):
        return content_of(value, where, "\n")
    return _JSON.encode(value)


def error_of(content: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """The content of a result that is marked as an error, in words that a model understands."""
    if isinstance(content, list):
        first = content[0].get("text", "") if content else ""
        return content if _ERROR.match(first) else [{"type": "text", "text": "Error:"}, *content]
    return content if _ERROR.match(content) else f"Error: {content}".rstrip(" ")


def _is_parts(value: dict[str, Any] | list[Any]) -> bool:
    """Is this a part, or a list of parts? Other values may have a `type`, too."""
    if isinstance(value, list):
        return all(isinstance(item, (str, dict)) and (isinstance(item, str) or _is_parts(item)) for item in value)
    kind = value.get("type")
    if kind is None:
        return value.keys() == {"text"}
    return isinstance(kind, str) and (kind in TEXT or kind in MEDIA)


def _part(part: Any, where: str) -> str | dict[str, Any]:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise PromptError(f"{where} is {type(part).__name__}; expected a part such as {{'type': 'text', …}}")
    kind = part.get("type", "text" if "text" in part else None)
    if not isinstance(kind, str):
        raise PromptError(f"{where}.type is {type(kind).__name__}; expected text")
    if kind in TEXT:
        text = part.get(TEXT[kind])
        if not isinstance(text, str):
            found = "missing" if text is None else type(text).__name__
            raise PromptError(f"{where}.{TEXT[kind]} is {found}; expected text")
        return text
    if kind in MEDIA:
        return part
    raise PromptError(f"{where}.type is {kind!r}, which is not a known content part")


def text_of_parts(value: Any, where: str, joint: str) -> str:
    """A content that must be text. Raises `PromptError` for a part that is not text."""
    content = content_of(value, where, joint)
    if isinstance(content, str):
        return content
    i, kind = next((i, part["type"]) for i, part in enumerate(content) if part["type"] != "text")
    raise PromptError(f"{where}[{i}].type is {kind!r}; only text can be written here")


def arguments_text(value: Any, where: str) -> str:
    """A call's arguments as text. An object becomes JSON, text stays unchanged, and None becomes an empty object."""
    if value is None:
        return "{}"
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _JSON.encode(value)
    raise PromptError(f"{where} is {type(value).__name__}; expected a JSON object, as text or as a mapping")


def arguments_object(text: str) -> dict[str, Any] | None:
    """A call's arguments as an object, or None if they are not one. JSON inside a JSON string is read once more."""
    value: Any = text
    for _ in range(2):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
        if isinstance(value, dict):
            return value
        if not isinstance(value, str):
            return None
    return None
