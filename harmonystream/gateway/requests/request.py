"""A request in words that are the same for all APIs. Its options are read with the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from ..refused import Refused
from .checks import Check
from .options import TABLES, Option
from .unsupported import Unsupported

__all__ = ["ApiRequest", "part_of", "read_options"]

_CODES = {"thread": "thread_unsupported_request"}  # without this code, tool runners do not continue
_APIS = {"chat": "Chat Completions", "responses": "Responses", "messages": "Messages"}
_SAME = (
    ({"chat": "messages", "responses": "input", "messages": "messages"}, ("prompt",)),
    (
        {"chat": "max_completion_tokens", "responses": "max_output_tokens", "messages": "max_tokens"},
        ("max_tokens", "max_new_tokens", "n_predict"),
    ),
    ({"chat": "stop", "messages": "stop_sequences"}, ()),
    ({"chat": 'a message with the role "system"', "responses": "instructions", "messages": "system"}, ()),
    ({"chat": "response_format", "responses": "text.format", "messages": "output_config.format"}, ()),
    ({"chat": "reasoning_effort", "responses": "reasoning.effort", "messages": "output_config.effort"}, ()),
)
"""Options that mean the same in each API, and other names for them, which clients of other servers send."""
_CLOSE, _SLIP = 0.7, 0.85
"""The likeness of two names, from 0 to 1: enough for a hint, and enough for one to be a misspelling of the other."""
MOST_OPTIONS = 256


@dataclass
class ApiRequest:
    """What a request asks for.

    body: the request. messages: the conversation, including instructions, in any API's form. tools: the offered tools.
    choice: "required" is also used for a named tool, which is then the only one in `tools`. named: does the request
    name the tool? picks: the only tools that may be called, as `tool_choice` has them; None allows all. parallel: are
    several calls allowed? sampling: fields of `Sampling` and of the engine's request. logprobs: as in `Sampling`.
    thinking: is reasoning on or off? None is the model's default. shown: is reasoning sent to the client? omitted: is
    it sent without its text? budget: the most tokens of reasoning. variables: for the chat template. output: the
    `response_format` of the content, in Chat's form. stored: the input items that a stored response keeps; None if it
    is not stored. unsupported: collects options to pass over. namespaces: the namespace and own name of each tool in a
    namespace. custom: names of custom tools, which are offered as functions. strict: the place of the first strict tool
    that the client has sent. continues: does the answer continue the last message? background: is the request answered
    before the response is made? before: how many messages the gateway has put before the client's list of them.
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
    unsupported: Unsupported = field(default_factory=Unsupported)
    namespaces: dict[str, tuple[str, str]] = field(default_factory=dict)
    custom: list[str] = field(default_factory=list)
    strict: str | None = None
    continues: bool = False
    background: bool = False
    before: int = 0

    @property
    def logprobs_option(self) -> str:
        """The API's option that asks for logprobs."""
        return "top_logprobs" if self.api == "responses" else "logprobs"


def read_options(api: str, body: Any, unsupported: Unsupported | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that the gateway reads, and those for the engine under the engine's names. None counts as absent.

    unsupported: collects the names of options to pass over. Raises `Refused` if an option has an invalid value, or if
    it is unsupported and cannot be passed over.
    """
    if not isinstance(body, dict):
        raise Refused(400, "The request is not a JSON object.")
    if len(body) > MOST_OPTIONS:
        raise Refused(400, f"The request has more than {MOST_OPTIONS} options.")
    unsupported = unsupported or Unsupported()
    read: dict[str, Any] = {}
    engine: dict[str, Any] = {}
    for name, option, value in _known(api, TABLES[api], body, "", unsupported):
        if option.parts is not None:
            fields = _known(api, option.parts, value, f"{name}.", unsupported)
            value = {field: inner for field, _, inner in fields}
        if option.does != "noted":
            (engine if option.does == "engine" else read)[option.to or name] = value
    return read, engine


def _known(
    api: str, table: Mapping[str, Option], given: Mapping[str, Any], path: str, unsupported: Unsupported
) -> Iterator[tuple[str, Option, Any]]:
    """Name, option and value of each option that is given and has an effect. path: the object that contains them."""
    for name, value in given.items():
        option = table.get(name)
        if option is None:
            short = path + (name if len(name) <= 64 else name[:64] + "…")
            hint = _hint(api, table, name, path)
            refusal = Refused(400, f"Unknown option: {short}. {hint}", param=short, code="unknown_parameter")
            unsupported.meet(short, refusal, adds=value is None or not _is_a_slip(table, given, name, path))
            continue
        if value is None:
            continue
        if option.does in ("passed", "refused"):
            if value not in option.unless:
                code = _CODES.get(name, "unsupported_parameter")
                what = f"{path}{name} is not supported: {option.why}."
                refusal = Refused(400, what, param=path + name, code=code)
                unsupported.meet(path + name, refusal, adds=option.does == "passed")
            continue
        _hold(option.check, value, path + name)
        yield name, option, value


_ACTED_ON = ("read", "engine")


def _is_a_slip(table: Mapping[str, Option], given: Mapping[str, Any], name: str, path: str) -> bool:
    """Is an unknown name a misspelt option that has an effect, or another name for one?"""
    if not path and any(name in others for _, others in _SAME):
        return True
    acted_on = [one for one, option in table.items() if option.does in _ACTED_ON and one not in given]
    if get_close_matches(name[:64], acted_on, 1, _SLIP):
        return True
    return not path and any(name in other and other[name].does in (*_ACTED_ON, "refused") for other in TABLES.values())


def _hint(api: str, table: Mapping[str, Option], name: str, path: str) -> str:
    """A hint for a client that sent an unknown option."""
    for names, more in _SAME if not path else ():
        if (name in names.values() or name in more) and api in names:
            return f"Pass {names[api]} instead."
    useful = [one for one, option in table.items() if option.does in (*_ACTED_ON, "noted")]
    if close := get_close_matches(name[:64], useful, 1, _CLOSE):
        return f"Did you mean {path}{close[0]}?"
    others = [_APIS[api] for api, options in TABLES.items() if not path and name in options]
    if others:
        return (
            f"{' and '.join(others)} {'has' if len(others) == 1 else 'have'} it, and this API does not: leave it out."
        )
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
