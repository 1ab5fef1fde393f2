"""Methods of strings with stand-ins. A template's tests see the original text, and their results keep the stand-ins.

Each stand-in replaces one character, so positions and lengths are the same in both texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["METHODS", "as_read", "original"]

_Shown = Mapping[int, str]
_FEW = 8


def original(text: str, shown: _Shown) -> str:
    """The text without stand-ins. `replace` is many times faster than `translate` while there are few of them."""
    if len(shown) > _FEW:
        return text.translate(shown)
    for mark, first in shown.items():
        text = text.replace(chr(mark), first)
    return text


def as_read(value: Any, shown: _Shown) -> Any:
    """The original of a value in a comparison: a string, a list of strings, or the keys of a dict."""
    if not shown:
        return value
    if isinstance(value, str):
        return original(value, shown)
    if isinstance(value, (list, tuple)):
        return type(value)(as_read(item, shown) for item in value)
    if isinstance(value, dict):
        return {as_read(key, shown): as_read(item, shown) for key, item in value.items()}
    return value


def _asked(name: str) -> Callable[..., Any]:
    """A method that only answers a question about a string."""

    def method(text: str, shown: _Shown, *args: Any, **kwargs: Any) -> Any:
        return getattr(original(text, shown), name)(*(as_read(arg, shown) for arg in args), **kwargs)

    return method


def _pieces(name: str) -> Callable[..., Any]:
    def method(text: str, shown: _Shown, sep: str | None = None, maxsplit: int = -1) -> list[str]:
        if sep is None:
            made: list[str] = getattr(text, name)(None, maxsplit)
            return made
        sep = original(sep, shown)
        return _cut(text, getattr(original(text, shown), name)(sep, maxsplit), len(sep))

    return method


def _cut(text: str, pieces: Sequence[str], gap: int) -> list[str]:
    """The pieces of a text with the same lengths."""
    made, at = [], 0
    for piece in pieces:
        made.append(text[at : at + len(piece)])
        at += len(piece) + gap
    return made


def _parts(name: str) -> Callable[..., Any]:
    def method(text: str, shown: _Shown, sep: str) -> tuple[str, ...]:
        return tuple(_cut(text, getattr(original(text, shown), name)(original(sep, shown)), 0))

    return method


def _stripped(name: str) -> Callable[..., Any]:
    """strip() and removeprefix(), for one side or both."""

    def method(text: str, shown: _Shown, chars: str | None = None) -> str:
        plain = original(text, shown)
        given = original(chars, shown) if isinstance(chars, str) else chars
        if name in ("strip", "lstrip"):
            text = text[len(plain) - len(plain.lstrip(given)) :]
        elif name == "removeprefix":
            text = text[len(plain) - len(plain.removeprefix(given or "")) :]
        if name in ("strip", "rstrip"):
            text = text[: len(original(text, shown).rstrip(given))]
        elif name == "removesuffix":
            text = text[: len(plain.removesuffix(given or ""))]
        return text

    return method


def _replace(text: str, shown: _Shown, old: str, new: str, count: int = -1) -> str:
    old = original(old, shown)
    if not old:
        return text.replace(old, new, count)
    return new.join(_cut(text, original(text, shown).split(old, count), len(old)))


METHODS: dict[str, Callable[..., Any]] = {
    **{name: _asked(name) for name in ("startswith", "endswith", "find", "rfind", "index", "rindex", "count")},
    **{name: _pieces(name) for name in ("split", "rsplit")},
    **{name: _parts(name) for name in ("partition", "rpartition")},
    **{name: _stripped(name) for name in ("strip", "lstrip", "rstrip", "removeprefix", "removesuffix")},
    "replace": _replace,
}
