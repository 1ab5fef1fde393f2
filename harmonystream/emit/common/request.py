"""The parts of a request that shape its response, validated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...checks import shown
from .payload import Payload

__all__ = ["CallIds", "call_ids_of", "called", "shown_calls", "taken_ids"]

_CHOICES = ("auto", "none", "required", "any")
_MOST_DEPTH = 16  # of a message's parts: APIs nest four deep


def shown_calls(tool_choice: Any, parallel: bool | None) -> int | None:
    """How many calls to show; None shows all. A `tool_choice` of "none", or an object of this type, hides them.

    Raises TypeError or ValueError for a `tool_choice` that no API has.
    """
    kind = tool_choice
    if isinstance(tool_choice, Mapping):
        kind = tool_choice.get("type")
    elif tool_choice is not None and not isinstance(tool_choice, str):
        kind = getattr(tool_choice, "type", tool_choice)
    elif tool_choice is not None and tool_choice not in _CHOICES:
        raise ValueError(f"tool_choice is one of {', '.join(_CHOICES)}, or an object with a type, not {tool_choice!r}")
    if kind is not None and not isinstance(kind, str):
        raise TypeError(f"tool_choice is a str, or an object with a type, not {type(tool_choice).__name__}")
    if kind is None and tool_choice is not None:
        raise ValueError(f"tool_choice is an object with a type, such as 'function', not {tool_choice!r}")
    if parallel not in (None, True, False):  # a string such as "false" would count as true
        raise TypeError(f"parallel_tool_calls is True, False or None, not {shown(parallel)}")
    return 0 if kind == "none" else 1 if parallel is not None and not parallel else None


def called(name: str, callback: Any) -> Any:
    """A callback, or None. Raises TypeError now if it is not callable, rather than in the middle of a stream."""
    if callback is not None and not callable(callback):
        raise TypeError(f"{name} is a function, not {type(callback).__name__}")
    return callback


_COLLECTIONS, _STR = (list, set, frozenset, tuple), frozenset((str,))


def taken_ids(taken: Iterable[str]) -> frozenset[str]:
    """The ids as a set. Raises TypeError unless it is a collection of strings; a single str is not one."""
    if type(taken) in _COLLECTIONS or (isinstance(taken, Iterable) and not isinstance(taken, (str, bytes, Mapping))):
        ids = frozenset(taken)
        if _STR.issuperset(map(type, ids)) or all(isinstance(one, str) for one in ids):  # the first takes a tenth
            return ids
    raise TypeError(f"taken is a list of ids, not {shown(taken)}: pass call_ids_of(messages)")


class CallIds:
    """The ids of a response's calls. No id is used twice, because clients match calls and results by id.

    taken: ids that the conversation already has.
    """

    def __init__(self, make: Callable[[int], str], taken: Iterable[str] = ()) -> None:
        self._make = make
        self._taken = taken_ids(taken)
        self._given = set(self._taken)
        self._made: set[str] = set()
        self._decided = 0  # how many calls have an id

    def decide(self, own: str | None, index: int) -> str:
        """The id of this call. Earlier calls that did not come here get the ids that would be made for them."""
        self.decide_before(index)
        self._decided = index + 1
        return self._new(own, index)

    def decide_before(self, index: int) -> None:
        """Give an id to every earlier call that has none."""
        for earlier in range(self._decided, index):
            self._new(None, earlier)
        self._decided = max(self._decided, index)

    def _new(self, own: str | None, index: int) -> str:
        """The model's own id if it is new. Otherwise an id is made, with a suffix if that one is taken.

        Raises ValueError if the function that makes ids repeats itself.
        """
        if own and own not in self._given:
            self._given.add(own)
            return own
        made = self._make(index)
        if not isinstance(made, str) or not made or made in self._made:
            raise ValueError(f"call_id({index}) gave {made!r}: it must give a new id, a str, for each index")
        self._made.add(made)
        new, suffix = made, 2
        while new in self._given:
            new, suffix = f"{made}_{suffix}", suffix + 1
        self._given.add(new)
        return new

    # --- moving ---

    def state(self) -> Payload:
        """The ids that are in use, for restore()."""
        return {"given": sorted(self._given - self._taken), "made": sorted(self._made)}

    def restore(self, given: Iterable[str], made: Iterable[str], calls: int) -> None:
        """Put what state() gave into a new object. calls: how many have an id."""
        self._decided = calls
        self._given |= set(given)
        self._made |= set(made)


def call_ids_of(messages: Any) -> set[str]:
    """The ids of all calls in a request's messages or input, of any of the three APIs, for `taken=`.

    It looks only for ids, and accepts any shape of the rest.
    """
    found: set[str] = set()
    waiting = [(messages, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, Mapping):
            kind = value.get("type")
            names = (
                ("id",) if kind in ("function", "custom", "tool_use") else ("call_id", "tool_call_id", "tool_use_id")
            )
            found.update(value[name] for name in names if isinstance(value.get(name), str))
            inside: Iterable[Any] = (value.get("tool_calls"), value.get("content"))
        else:
            inside = value if isinstance(value, (list, tuple)) else ()
        if depth < _MOST_DEPTH:
            waiting += [(one, depth + 1) for one in inside if isinstance(one, (Mapping, list, tuple))]
    return found
