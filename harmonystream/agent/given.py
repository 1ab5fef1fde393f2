"""Converts the arguments of the loop: for example a URL to an engine, and a function to `Tools`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, TypeAlias

from ..checks import shown
from ..engines import Engine, Sampling
from ..engines.base import check_generate
from ..errors import PromptError
from ..prompt import Template
from ..tools import Tools

__all__ = ["AnyEngine", "AnySampling", "engine_of", "hint", "prompt_options", "sampling_of", "tools_of", "with_system"]

AnyEngine: TypeAlias = Engine | str
AnySampling: TypeAlias = Sampling | Mapping[str, Any] | None

_SAMPLING = tuple(one.name for one in fields(Sampling))


def engine_of(engine: Any) -> Engine:
    """The engine. A URL becomes an engine for a server that has `/v1/completions`. Raises TypeError for
    anything else.
    """
    if isinstance(engine, str):
        from ..engines import Completions

        return Completions(engine)
    if not callable(getattr(engine, "generate", None)) or isinstance(engine, type):
        raise TypeError(
            f"an engine is a URL, or an object with generate(prompt, sampling), not {shown(engine)}: "
            "see harmonystream.engines"
        )
    check_generate(engine)
    made: Engine = engine
    return made


def tools_of(tools: Any) -> Tools:
    """`Tools`, from one item or several. Raises what `Tools` raises for an item that cannot be a tool."""
    if tools is None:
        return Tools()
    if isinstance(tools, (str, bytes)):
        raise TypeError(f"tools are Tools, functions or definitions, not {shown(tools)}")
    if isinstance(tools, Tools):
        return tools
    if isinstance(tools, Iterable) and not isinstance(tools, (str, Mapping, type)):
        return Tools(*tools)
    return Tools(tools)


def sampling_of(sampling: Any) -> Sampling:
    """The `Sampling`. Raises TypeError for fields that it does not have."""
    if sampling is None:
        return Sampling()
    if isinstance(sampling, Sampling):
        return sampling
    if not isinstance(sampling, Mapping):
        raise TypeError(f"sampling is a Sampling or a dict of its fields, not {shown(sampling)}")
    given = dict(sampling)
    for name in given:
        if name not in _SAMPLING:
            known = ", ".join(_SAMPLING)
            raise TypeError(f"sampling has no field {name!r}{_meant(name, _SAMPLING) or ':'} the fields are {known}")
    if isinstance(given.get("stop"), str):
        given["stop"] = (given["stop"],)
    elif "stop" in given:
        given["stop"] = tuple(given["stop"] or ())
    return Sampling(**given)


def with_system(messages: list[dict[str, Any]], text: str | None) -> list[dict[str, Any]]:
    """The messages, with this text at the beginning of the system message."""
    if not text:
        return messages
    first = messages[0] if messages else {}
    if first.get("role") == "system" and isinstance(first["content"], str):
        return [{**first, "content": f"{text}\n\n{first['content']}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


async def prompt_options(engine: Engine, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `render`. The given options come first, and the engine's knowledge of its model fills the rest.

    Raises what the engine raises if it has to ask its server.
    """
    made = dict(given)
    ask = getattr(engine, "prompt_options", None)
    if callable(ask):
        offered = dict(await ask(made.keys()))
        tokens = offered.pop("tokens", None)
        if "model" in made:  # the model implies the format
            offered.pop("format", None)
        made = {**offered, **made}
        if isinstance(made.get("template"), str) and tokens:
            made["template"] = Template(made["template"], tokens=tokens)
    return made


def hint(error: PromptError, variables: Iterable[str], options: Iterable[str]) -> PromptError:
    """The error, with a hint: which option of the loop may be meant by a keyword that no prompt reads."""
    for name in variables:
        if f" {name}" in str(error) and (meant := _meant(name, tuple(options))):
            return PromptError(f"{error}. {name}{meant}")
    return error


def _meant(name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, 3, 0.5)
    return f": did you mean {' or '.join(close)}?" if close else ""
