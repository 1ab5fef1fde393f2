"""The usage of a response: counts from any API, under the names of another."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from operator import index
from typing import Any, NamedTuple

from .payload import Payload, to_json

__all__ = ["CHAT", "MESSAGES", "RESPONSES", "Names", "counted", "translated"]


class Names(NamedTuple):
    """An API's names of the counts."""

    read: str
    written: str
    read_details: str
    written_details: str
    reasoning: str  # in written_details


CHAT = Names(
    *("prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details", "reasoning_tokens")
)
RESPONSES = Names(
    *("input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details", "reasoning_tokens")
)
MESSAGES = Names("input_tokens", "output_tokens", "", "output_tokens_details", "thinking_tokens")

# Tokens read from a cache or written to it. OpenAI includes them in the tokens read, and gives their number in the
# details. Anthropic counts them separately, under names of its own.
_CACHE = {"cached_tokens": "cache_read_input_tokens", "cache_write_tokens": "cache_creation_input_tokens"}


_KNOWN = {*CHAT[:4], *RESPONSES[:4], "total_tokens", *_CACHE.values()}


def counted(usage: Any, names: Names | None = None) -> Payload | None:
    """A usage with plain ints and without None. If `names` are given, the counts have that API's names.

    Raises TypeError if it is not a usage, and ValueError if it is not JSON or misspells the name of a count.
    """
    if usage is None:
        return None
    if not isinstance(usage, Mapping):
        raise TypeError(f"usage is a dict with the API's names, not {type(usage).__name__}: of a model, model_dump()")
    made: Payload = {}
    plain = True
    for name, value in usage.items():
        if type(value) is int and type(name) is str:
            made[name] = value
            continue
        plain = False
        if isinstance(value, Mapping):
            made[name] = counted(value)
        elif value is not None:
            made[name] = _count(name, value) if name.endswith("_tokens") else value
    if not plain:
        to_json(made)  # raises for values that cannot be sent
    for name in made.keys() - _KNOWN:
        if isinstance(name, str) and (meant := get_close_matches(name, _KNOWN - made.keys(), 1, 0.9)):
            raise ValueError(f"usage has {name!r}, which no API has; did you mean {meant[0]!r}?")
    if names is None or (plain and all(name in names[:2] for name in made)):
        return made
    return translated(made, names)


def _count(name: str, value: Any) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"usage[{name!r}] is a number of tokens, not {value!r}") from None


def translated(usage: Payload, to: Names) -> Payload:
    """A usage translated to an API's names. Counts that have these names already win. Unknown fields are kept."""
    made = dict(usage)
    anthropic = to is MESSAGES if RESPONSES.read_details not in made else False
    anthropic = anthropic or any(beside in made for beside in _CACHE.values())
    inputs = MESSAGES if anthropic else RESPONSES  # both have input_tokens
    own, other = (CHAT, inputs) if to is CHAT else (inputs, CHAT)
    if own is to and not any(name in made for name in other[:4]):
        return made
    counts = {**_taken(made, other), **_taken(made, own)}
    if to is MESSAGES:
        made.pop("total_tokens", None)
    return {**_in_words_of(counts, to), **made}


def _taken(usage: Payload, names: Names) -> Payload:
    """Remove the counts with these names from the usage, and return them under Chat's names."""
    counts: Payload = {**(usage.pop(names.read_details, None) or {}), **(usage.pop(names.written_details, None) or {})}
    if names.reasoning in counts:
        counts["reasoning_tokens"] = counts.pop(names.reasoning)
    if names.written in usage:
        counts["written"] = usage.pop(names.written)
    if names.read in usage:
        counts["read"] = usage.pop(names.read)
    for among, beside in _CACHE.items():
        if names is MESSAGES and beside in usage:
            counts[among] = usage.pop(beside)
            counts["read"] = counts.get("read", 0) + counts[among]
    return counts


def _in_words_of(counts: Payload, to: Names) -> Payload:
    """Counts under an API's names."""
    made: Payload = {}
    cached = {among: counts[among] for among in _CACHE if among in counts}
    if to is MESSAGES:
        made |= {_CACHE[among]: count for among, count in cached.items()}
    if "read" in counts:
        made[to.read] = max(counts["read"] - (sum(cached.values()) if to is MESSAGES else 0), 0)
    if "written" in counts:
        made[to.written] = counts["written"]
    if cached and to.read_details:
        made[to.read_details] = cached
    if "reasoning_tokens" in counts:
        made[to.written_details] = {to.reasoning: counts["reasoning_tokens"]}
    return made
