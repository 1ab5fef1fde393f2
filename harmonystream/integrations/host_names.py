"""Names of a host that are not part of its plug-in API. A table for each host has those that we use, and is checked
first.
"""

from __future__ import annotations

import dis
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Any, NamedTuple

__all__ = ["Host", "HostName", "differs"]

_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class HostName(NamedTuple):
    """path: "module:Class.method", or an attribute that a constructor sets. use: why we need it.
    since: the first release with this name in this form.
    parameters: the function's parameters that we pass, without `self`. Those after "*" are passed by name.
    replaced: the host calls the function, and we replace it by one that passes on unknown arguments.
    """

    path: str
    use: str
    since: str
    parameters: tuple[str, ...] | None = None
    replaced: bool = False


class Host:
    """An installed host. distribution: its name on PyPI. features: the names that each feature of ours needs."""

    def __init__(
        self, name: str, distribution: str, features: Mapping[str, tuple[HostName, ...]], log: logging.Logger
    ) -> None:
        self.name, self._distribution, self._features, self._log = name, distribution, features, log
        self._known: dict[str, bool] = {}

    @property
    def release(self) -> str:
        return f"{self.name} {version(self._distribution)}"

    def fits(self, feature: str) -> bool:
        """Are all names of a feature present, in the needed form? If not, this is logged once."""
        if feature not in self._known:
            problem = differs(self._features[feature])
            self._known[feature] = not problem
            if problem:
                self.gives_up(feature, problem)
        return self._known[feature]

    def gives_up(self, feature: str, why: object) -> None:
        """Log that from now on, the host's own code is used for a feature."""
        self._known[feature] = False
        text = "harmonystream: %s: %s's own, because ours does not fit %s: %s"
        self._log.warning(text, feature, self.name, self.release, why)


def differs(names: Iterable[HostName]) -> str:
    """The first name that differs from its table, and its use. "" if none does."""
    for name in names:
        if problem := _problem(name):
            return f"{problem} ({name.use})"
    return ""


def _problem(name: HostName) -> str:
    module, _, attributes = name.path.partition(":")
    try:
        found: Any = import_module(module)
    except Exception as error:  # importing a host's module may raise anything
        return f"{module} cannot be imported: {error!r}"
    for attribute in attributes.split(".") if attributes else ():
        if not hasattr(found, attribute):
            return "" if _is_set(found, attribute) else f"{name.path} is not there"
        found = getattr(found, attribute)
    return "" if name.parameters is None else _of_parameters(name, name.parameters, found)


def _is_set(owner: Any, attribute: str) -> bool:
    """Does a class have a field of this name, or does its constructor set one?"""
    fields = (*getattr(owner, "model_fields", ()), *getattr(owner, "__dataclass_fields__", ()))
    bases = owner.__mro__ if isinstance(owner, type) else ()
    constructors = [vars(base)["__init__"] for base in bases if "__init__" in vars(base)]
    return attribute in fields or any(attribute in _set_by(each) for each in constructors)


def _set_by(constructor: Callable[..., Any]) -> set[str]:
    """The attributes that a constructor sets."""
    code = getattr(inspect.unwrap(constructor), "__code__", None)
    steps = () if code is None else dis.get_instructions(code)
    return {str(step.argval) for step in steps if step.opname == "STORE_ATTR"}


def _of_parameters(name: HostName, wanted: tuple[str, ...], function: Any) -> str:
    try:
        found = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return f"{name.path} is not a function"
    found.pop("self", None)
    listed = [each for each, one in found.items() if one.kind not in _ANY]
    takes_any = {one.kind for one in found.values()} >= set(_ANY)
    places = wanted.index("*") if "*" in wanted else len(wanted)
    by_place, all_wanted = list(wanted[:places]), [*wanted[:places], *wanted[places + 1 :]]
    positional = [each for each in listed if found[each].kind is not inspect.Parameter.KEYWORD_ONLY]
    fits = positional[: len(by_place)] == by_place and all(each in found for each in all_wanted)
    needed = [each for each in listed if found[each].default is inspect.Parameter.empty and each not in all_wanted]
    if (fits or takes_any) and (name.replaced or not needed):
        return ""
    return f"{name.path} has the parameters ({', '.join(listed)}), and not ({', '.join(wanted)})"
