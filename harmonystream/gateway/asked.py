"""A request in words that are the same for all APIs, and the reading of its options by the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from .checks import Check
from .options import TABLES, Option
from .refused import Refused

__all__ = ["Asked", "part_of", "read_options"]

_CODES = {"thread": "thread_unsupported_request"}  # without it, tool runners do not go on
_APIS = {"chat": "Chat Completions", "responses": "Responses", "messages": "Messages"}
_CLOSE = 0.7
"""How alike two names are, from 0 to 1, of which one is taken for a slip of the other."""
MOST_OPTIONS = 256


@dataclass
class Asked:
    """What a request asks for.

    body: the request. messages: the conversation, instructions included, in any API's form. tools: those that are
    offered. choice: "required" also stands for a named tool, which is then the only one in `tools`; named: was it
    named? picks: the tools that alone may be called, as `tool_choice` has them; None: all. parallel: may there be
    several calls? sampling: fields of `Sampling` and of the engine's request. logprobs: as `Sampling` has it. thinking:
    is reasoning on or off; None: the model's default. shown: is it sent to the client? omitted: is it sent without its
    text? budget: the most tokens of reasoning. variables: of the chat template. output: the `response_format` that
    content must have, in Chat's form. stored: the input items that a stored response keeps; None: it is not stored.
    """

    api: str
    body: dict[str, Any]
    model: str
    messages: list[Any] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    choice: Literal["auto", "none", "required"] = "auto"
    named: bool = False
    picks: list[Any] | None = None
    parallel: bool = True
    stream: bool = False
    n: int = 1
    stops: tuple[str, ...] = ()
    max_tokens: int | None = None
    sampling: dict[str, Any] = field(default_factory=dict)
    logprobs: int | None = None
    effort: str | None = None
    thinking: bool | None = None
    shown: bool = True
    omitted: bool = False
    budget: int | None = None
    variables: dict[str, Any] = field(default_factory=dict)
    output: dict[str, Any] | None = None
    stored: list[Any] | None = None

    @property
    def logprobs_option(self) -> str:
        """The API's option that asks for logprobs."""
        return "top_logprobs" if self.api == "responses" else "logprobs"


def read_options(api: str, body: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that the gateway reads, and those for the engine by the engine's names. None counts as not given.

    Raises `Refused` for an option that is unknown, refused, or has a value that it cannot have.
    """
    if not isinstance(body, dict):
        raise Refused(400, "The request is not a JSON object.")
    if len(body) > MOST_OPTIONS:
        raise Refused(400, f"The request has more than {MOST_OPTIONS} options.")
    read: dict[str, Any] = {}
    engine: dict[str, Any] = {}
    for name, option, value in _known(TABLES[api], body, ""):
        if option.parts is not None:
            for _ in _known(option.parts, value, f"{name}."):
                pass  # a field is checked, and read where its object is
        if option.does != "noted":
            (engine if option.does == "engine" else read)[option.to or name] = value
    return read, engine


def _known(table: Mapping[str, Option], given: Mapping[str, Any], path: str) -> Iterator[tuple[str, Option, Any]]:
    """Name, option and value of each that is given and does something. path: of the object that has them."""
    for name, value in given.items():
        option = table.get(name)
        if option is None:
            short = path + (name if len(name) <= 64 else name[:64] + "…")
            what = f"Unknown option: {short}. {_hint(table, name, path)}"
            raise Refused(400, what, param=short, code="unknown_parameter")
        if value is None:
            continue
        if option.does == "refused":
            if value not in option.unless:
                code = _CODES.get(name, "unsupported_parameter")
                raise Refused(400, f"{path}{name} is not supported: {option.why}.", param=path + name, code=code)
            continue
        _hold(option.check, value, path + name)
        yield name, option, value


def _hint(table: Mapping[str, Option], name: str, path: str) -> str:
    """What a client may do whose option is unknown."""
    useful = [one for one, option in table.items() if option.does != "refused"]
    if close := get_close_matches(name[:64], useful, 1, _CLOSE):
        return f"Did you mean {path}{close[0]}?"
    others = [_APIS[api] for api, options in TABLES.items() if not path and name in options]
    if others:
        return f"{' and '.join(others)} {'has' if len(others) == 1 else 'have'} it, and this API has not: leave it out."
    return "Leave it out: the gateway does not know what it asks for."


def part_of(given: Mapping[str, Any], path: str, name: str, check: Check) -> Any:
    """A field of an object inside an option, or None. Raises `Refused`, which names the field with its path."""
    value = given.get(name)
    if value is not None:
        _hold(check, value, f"{path}.{name}")
    return value


def _hold(check: Check, value: Any, name: str) -> None:
    if not check.holds(value):
        raise Refused(400, f"{name} must be {check.words}.", param=name, code="invalid_value")
