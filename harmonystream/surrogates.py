"""Halves of surrogate pairs. A JSON string can have them, but UTF-8 cannot."""

from __future__ import annotations

__all__ = ["without_surrogates"]


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone half. Two halves that belong together become their character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
