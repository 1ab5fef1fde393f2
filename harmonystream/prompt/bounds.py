"""The bounds of a template: its time, and the size of each value, which is checked before the value is made.

A template reaches the methods of strings by attributes, filters by name, and operators through the sandbox. All three
go through this module. It bounds each value but not their sum, so a server that takes templates from strangers should
also limit its process's memory.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

MAX_SECONDS = 10.0
MAX_CHARACTERS = 64_000_000
MAX_NUMBER = 1_000_000
"""The largest number that an operator, a method or a filter may get, and the most items of a list."""
MAX_BITS = 4096
"""The most bits of an integer that `*` and `**` may make."""
NUMBER = 400
"""The most characters that a float has when it is formatted without a width."""
MAX_SLOW = 100_000
"""The most characters for a filter that searches or wraps text in Python."""
MAX_DEPTH = 500
"""How deep lists and dicts may nest."""
MAX_FORMAT = 1000
"""The most characters of a format of `strftime_now`."""

DEADLINE: ContextVar[float] = ContextVar("harmonystream_template_deadline", default=float("inf"))


class Bound(Exception):  # noqa: N818  # it never leaves this package
    """A template takes too long, or makes too much."""


def tick() -> None:
    """Called in each round of a loop, and for each call of a macro, function, method or filter."""
    if is_over():
        raise Bound(f"it takes longer than {MAX_SECONDS:g} s")


def is_over() -> bool:
    """Has the time of `limited` passed?"""
    return time.monotonic() > DEADLINE.get()


@contextmanager
def limited() -> Iterator[None]:
    """Everything that a template does in the block takes at most `MAX_SECONDS`. A nested block changes nothing."""
    if DEADLINE.get() != float("inf"):
        yield
        return
    token = DEADLINE.set(time.monotonic() + MAX_SECONDS)
    try:
        yield
    finally:
        DEADLINE.reset(token)


def check_size(size: int) -> None:
    if size > MAX_CHARACTERS:
        raise Bound(f"it makes a text of more than {MAX_CHARACTERS} characters")


def check_items(count: int) -> None:
    if count > MAX_NUMBER:
        raise Bound(f"it makes a list of more than {MAX_NUMBER} items")


def check_numbers(values: Iterable[Any]) -> None:
    for value in values:
        if isinstance(value, (int, float)) and abs(value) > MAX_NUMBER:
            raise Bound(f"it computes with a number above {MAX_NUMBER}")


def check_made(value: Any) -> Any:
    """Check what a function, a method or a filter returned."""
    if isinstance(value, (str, bytes)):
        check_size(len(value))
    elif isinstance(value, (list, tuple)):
        check_items(len(value))
    return value


def measure(value: Any, node: int = 4, level: int = 0) -> int:
    """About how many characters a value's text has. Each item adds `node` beside its strings, and each indent `level`.

    Raises `Bound` as soon as the count is too large.
    """
    size, depth = 0, 0
    layer: list[Any] = [value]
    while layer:
        depth += 1
        if depth > MAX_DEPTH:
            raise Bound(f"it has values inside each other, more than {MAX_DEPTH} deep")
        each, inside = node + level * depth, list[Any]()
        for item in layer:
            if isinstance(item, str):
                size += len(item)
            elif isinstance(item, _CONTAINERS):
                size += (2 * len(item) if isinstance(item, Mapping) else len(item)) * each + each
                check_size(size)  # before its items are read
                inside += item  # type: ignore[arg-type]  # every view of a mapping is iterable
                if isinstance(item, Mapping):
                    inside += item.values()
        tick()
        check_size(size)
        layer = inside
    return size


def weigh(value: Any) -> Any:
    """The value, after a check that its text is small enough."""
    if isinstance(value, str):
        check_size(len(value))
    elif isinstance(value, _CONTAINERS):
        measure(value)
    return value


_CONTAINERS = (list, tuple, Mapping, MappingView, set, frozenset)


def concat(*parts: Any) -> str:
    """The result of `~`."""
    return join_checked(str(weigh(part)) for part in parts)


def join_checked(parts: Iterable[str]) -> str:
    """The parts as one string: `''.join`, also for blocks and macros."""
    texts, size = [], 0
    for part in parts:
        size += len(part)
        check_size(size)
        texts.append(part)
    return "".join(texts)


# --- operators ----------------------------------------------------------------------------------------------------


def check_operator(operator: str, left: Any, right: Any) -> None:
    """Raises `Bound` before an operator makes a string, list or integer that is too long."""
    sequence = (str, bytes, list, tuple)
    if operator == "%" and isinstance(left, str):
        check_percent(left, right)
    elif operator == "+" and isinstance(left, sequence) and isinstance(right, sequence):
        (check_size if isinstance(left, (str, bytes)) else check_items)(len(left) + len(right))
    elif operator == "*" and isinstance(left, sequence) != isinstance(right, sequence):
        parts, times = (left, right) if isinstance(left, sequence) else (right, left)
        check_numbers((times,))
        (check_size if isinstance(parts, (str, bytes)) else check_items)(len(parts) * max(0, int(times)))
    elif operator == "**":
        check_numbers((left, right))
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() * abs(right))
    elif operator == "*" and isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())


def _check_bits(bits: int) -> None:
    if bits > MAX_BITS:
        raise Bound(f"it computes with a number of more than {MAX_BITS} bits")


def check_percent(text: str, values: Any) -> None:
    """Check `%`: each field may be as long as the widest number and the longest value allow."""
    widths = [int(digits[:9]) for digits in re.findall(r"\d+", text)]
    check_numbers(widths)
    given = values if isinstance(values, tuple) else (values,)
    if "*" in text:
        check_numbers(given)
        widths += [abs(value) for value in given if isinstance(value, int)]
    longest = max(map(measure, given), default=0)
    check_size(len(text) + text.count("%") * (max(widths, default=0) + longest + NUMBER))


# --- methods of strings -------------------------------------------------------------------------------------------


def _replace(method: Any, text: str, old: str, new: str, count: int = -1) -> Any:
    found = text.count(old) if count < 0 else min(count, text.count(old))
    check_size(len(text) + found * (len(new) - len(old)))
    return method(old, new, count)


def _join(method: Any, text: str, items: Iterable[Any]) -> Any:
    parts, size = [], 0
    for item in items:
        tick()
        size += len(text) + (len(item) if isinstance(item, str) else 0)
        check_size(size)
        parts.append(item)
    return method(parts)


def _translate(method: Any, text: str, table: Any) -> Any:
    values = table.values() if isinstance(table, Mapping) else table
    check_size(len(text) * max((len(value) for value in values if isinstance(value, str)), default=1))
    return method(table)


def _expandtabs(method: Any, text: str, tabsize: int = 8) -> Any:
    check_size(len(text) + text.count("\t") * tabsize)
    return method(tabsize)


def _split(method: Any, text: str, sep: str | None = None, maxsplit: int = -1) -> Any:
    parts = method(sep, maxsplit if 0 <= maxsplit <= MAX_NUMBER else MAX_NUMBER)
    check_items(len(parts))
    return parts


def _splitlines(method: Any, text: str, keepends: bool = False) -> Any:
    check_items(sum(map(text.count, "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")))
    return method(keepends)


METHODS: dict[str, Callable[..., Any]] = {
    "replace": _replace,
    "join": _join,
    "translate": _translate,
    "expandtabs": _expandtabs,
    "split": _split,
    "rsplit": _split,
    "splitlines": _splitlines,
}
"""The methods of `str` whose result is not bounded by their text and their numbers."""


def bounded_method(method: Any) -> Any:
    """The string's method with its check. None if its text and its numbers already bound the result."""
    check = METHODS.get(method.__name__)
    if check is None:
        return None
    text = method.__self__

    @wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        return check(method, text, *args, **kwargs)

    return checked


class BoundedFields:
    """For a `string.Formatter`: checks the size of each field, and of the text that it goes into."""

    _size = 0

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return super().convert_field(weigh(value), conversion)  # type: ignore[misc]

    def format_field(self, value: Any, format_spec: str) -> Any:
        check_numbers(int(digits[:9]) for digits in re.findall(r"\d+", format_spec))
        text = super().format_field(weigh(value), format_spec)  # type: ignore[misc]
        self._size += len(text)
        check_size(self._size)
        return text


# --- filters ------------------------------------------------------------------------------------------------------

TEXT = frozenset(
    [
        "string",
        "center",
        "capitalize",
        "lower",
        "upper",
        "title",
        "trim",
        "e",
        "escape",
        "forceescape",
        "replace",
        "indent",
        "wordwrap",
        "format",
        "urlencode",
        "urlize",
        "striptags",
        "truncate",
        "wordcount",
        "pprint",
        "xmlattr",
    ]
)
"""Filters that convert any value to text."""
SLOW = frozenset(["title", "urlencode", "urlize", "striptags", "wordwrap", "wordcount", "pprint", "xmlattr"])
ITEMS = frozenset(
    [
        "list",
        "sort",
        "unique",
        "groupby",
        "batch",
        "slice",
        "sum",
        "min",
        "max",
        "reverse",
        "map",
        "select",
        "reject",
        "dictsort",
        "random",
    ]
)
SIZED = frozenset(["center", "indent", "wordwrap", "truncate", "batch", "slice", "round"])


def bounded_filter(name: str, filter_: Any) -> Any:
    """Jinja's filter, with checks before it runs and of its result."""
    context = 1 if getattr(filter_, "jinja_pass_arg", None) is not None else 0

    @wraps(filter_)  # keeps the marks that show Jinja what to pass
    def checked(*args: Any, **kwargs: Any) -> Any:
        tick()
        given = args[context:]
        if given:
            _check_filter(name, given, kwargs)
            if name == "join":
                joined = _bounded_items(given[0], given[1] if len(given) > 1 else kwargs.get("d", ""))
                args = (*args[:context], joined, *given[1:])
        return check_made(filter_(*args, **kwargs))

    return checked


def _check_filter(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    value, options = given[0], (*given[1:], *named.values())
    if name in SIZED:
        check_numbers(options)
    if name in TEXT:
        for part in (value, *options):
            weigh(part)
    if name in SLOW and sum(map(measure, (value, *options))) > MAX_SLOW:
        raise Bound(f"it gives {name} more than {MAX_SLOW} characters")
    if name in ITEMS and hasattr(value, "__len__"):
        check_items(len(value))
    if name == "format":
        check_percent(str(value), options)
    if name in GROWTH:
        check_size(GROWTH[name](str(value), *given[1:], **named))


def _replaced(text: str, old: Any, new: Any, count: int | None = None) -> int:
    return len(text) + text.count(str(old)) * max(0, len(str(new)) - len(str(old)))


def _indented(text: str, width: int | str = 4, *options: Any, **named: Any) -> int:
    return len(text) + (text.count("\n") + 1) * (len(width) if isinstance(width, str) else width)


def _wrapped(text: str, *options: Any, **named: Any) -> int:
    return (len(text) + 1) * (1 + sum(len(option) for option in (*options, *named.values()) if isinstance(option, str)))


GROWTH: dict[str, Callable[..., int]] = {
    "replace": _replaced,
    "indent": _indented,
    "wordwrap": _wrapped,
    "urlize": _wrapped,
}
"""A filter -> the most characters that it makes from its text and its options."""


def _bounded_items(items: Iterable[Any], separator: Any) -> Iterator[Any]:
    size = 0
    for item in items:
        tick()
        size += len(separator) if isinstance(separator, str) else 0
        size += measure(item)
        check_size(size)
        yield item


def bounded_sum(make_getter: Callable[..., Any]) -> Any:
    """The filter `sum`, which adds like the operator `+`."""

    def total(environment: Any, iterable: Iterable[Any], attribute: Any = None, start: Any = 0) -> Any:
        for item in iterable if attribute is None else map(make_getter(environment, attribute), iterable):
            tick()
            start = environment.call_binop(None, "+", start, item)
        return start

    return total
