"""What a request, an engine and a server say of a response, checked before it is believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import Any

from .payload import Payload, to_json

__all__ = ["CallIds", "counted", "normal", "shown_calls"]

_REASONS = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "tool_use"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "max_new_tokens"), "length"),
}


def normal(reason: str | None) -> str | None:
    """What engines call the reasons that all APIs know."""
    return _REASONS.get(reason.lower(), reason) if isinstance(reason, str) and reason else reason or None


def counted(usage: Any) -> Payload | None:
    """A usage without what is None, its counts as plain ints. Raises TypeError for what is none."""
    if usage is None:
        return None
    if not isinstance(usage, Mapping):
        raise TypeError(f"usage is a dict with the API's names, not {type(usage).__name__}: of a model, model_dump()")
    made: Payload = {}
    for name, value in usage.items():
        if isinstance(value, Mapping):
            made[name] = counted(value)
        elif value is not None:
            made[name] = _count(name, value) if name.endswith("_tokens") else value
    to_json(made)  # what cannot be sent
    return made


def _count(name: str, value: Any) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"usage[{name!r}] is a number of tokens, not {value!r}") from None


def shown_calls(tool_choice: Any, parallel: bool | None) -> int | None:
    """How many calls a request wants to see, None: all. tool_choice: "none" or an object of this type hides them."""
    kind = tool_choice.get("type") if isinstance(tool_choice, Mapping) else getattr(tool_choice, "type", tool_choice)
    return 0 if kind == "none" else 1 if parallel is not None and not parallel else None


class CallIds:
    """The ids of a response's calls, each given once: clients tell calls, and tools' results, by them."""

    def __init__(self, make: Callable[[int], str]) -> None:
        self._make = make
        self._given: set[str] = set()

    def take(self, own: str | None, index: int) -> str:
        """The model's own, if it gave one that is new; else one that is made. Raises ValueError if that is not new."""
        made = own if own and own not in self._given else self._make(index)
        if not isinstance(made, str) or not made or made in self._given:
            raise ValueError(f"call_id({index}) gave {made!r}: it must give a new id, a str, for each index")
        self._given.add(made)
        return made
