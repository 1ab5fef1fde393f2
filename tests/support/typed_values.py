"""Values of the types in which the official clients describe requests, some of them spoilt."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from hypothesis import strategies as st

DEEPEST = 5
"""Levels of objects; below, what need not be there is not."""

TEXTS = st.one_of(
    st.sampled_from(["", "?", "add", "text", "<|end|>", "<tool_call>", "\0", "\ud83d", "é🌂", "a b", "{}", '{"a": 1}']),
    st.text(max_size=8),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.sampled_from([1 << 40, -1e308, 0.5, 1e999]), TEXTS
).filter(lambda value: value != float("inf"))
JUNK = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)
"""Any JSON, with what it can have and parsers forget."""


@cache
def fields_of(kind: Any) -> dict[str, tuple[Any, bool]]:
    """(type, must it be there) of each key of a TypedDict."""
    hints = typing.get_type_hints(kind)
    return {name: (hint, name in kind.__required_keys__) for name, hint in hints.items()}


@st.composite
def requests(draw: Callable[..., Any], kind: Any, usual: Collection[str], spoilt: int = 40) -> Any:
    """A request with some of its options, mostly of the usual ones. spoilt: one value of so many becomes junk."""
    fields = fields_of(kind)
    some = draw(st.lists(st.sampled_from(sorted(set(usual) & set(fields))), max_size=5))
    some += draw(st.lists(st.sampled_from(sorted(fields)), max_size=draw(st.sampled_from([0, 0, 0, 2]))))
    names = [name for name, (_, required) in fields.items() if required or name in some]
    return {name: _value(draw, fields[name][0], DEEPEST, spoilt) for name in names}


def _value(draw: Callable[..., Any], kind: Any, depth: int, spoilt: int) -> Any:
    if draw(st.integers(0, spoilt - 1)) == spoilt - 1:
        return draw(JUNK)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if typing.is_typeddict(kind):
        return _object(draw, kind, depth, spoilt)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return _value(draw, inner[0], depth, spoilt)
    if origin is typing.Literal:
        return draw(st.sampled_from(inner))
    if origin in (typing.Union, types.UnionType):
        return _value(draw, draw(st.sampled_from(_simple(inner) if depth < 1 else inner)), depth, spoilt)
    if isinstance(origin, type) and issubclass(origin, typing.Mapping):
        return {draw(TEXTS): _value(draw, inner[1], depth - 1, spoilt) for _ in range(draw(st.integers(0, 2)))}
    if isinstance(origin, type):  # a list, an iterable
        return [_value(draw, inner[0], depth - 1, spoilt) for _ in range(draw(st.integers(0 if depth < 1 else 1, 2)))]
    return draw(_SCALARS.get(kind, JUNK))


_SCALARS = {
    str: TEXTS,
    bool: st.booleans(),
    int: st.integers(-1, 2000),
    float: st.floats(-1, 2, allow_nan=False),
    type(None): st.none(),
}


def _simple(kinds: Collection[Any]) -> list[Any]:
    return [kind for kind in kinds if kind in _SCALARS or typing.get_origin(kind) is typing.Literal] or list(kinds)


def _object(draw: Callable[..., Any], kind: Any, depth: int, spoilt: int) -> dict[str, Any]:
    fields = fields_of(kind)
    chosen = depth > 0 and draw(st.booleans())
    names = [name for name, (_, required) in fields.items() if required or (chosen and draw(st.booleans()))]
    return {name: _value(draw, fields[name][0], depth - 1, spoilt) for name in names}
