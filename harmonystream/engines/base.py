"""The interface of engines: their methods, arguments and items."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import iscoroutinefunction, isgeneratorfunction
from math import isfinite
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard

from .._native.stream.parser import Parser
from ..checks import check_mapping, check_number, check_text, shown
from ..errors import EngineError
from ..formats import Format, HeaderFormat

__all__ = [
    *("Arrived", "Engine", "Finished", "Output", "Prompt", "Sampled", "Sampling"),
    *("Rendered", "add_usage", "are_ids", "chat_usage", "check_generate", "count_of", "request_fields", "usage_of"),
]

IDS = 1 << 32
"""All ids are below this, in any vocabulary."""


class Prompt(Protocol):
    """The part of a rendered prompt that engines read. `harmonystream.prompts.Prompt` has it."""

    @property
    def text(self) -> str: ...
    @property
    def ids(self) -> Sequence[int] | None: ...
    @property
    def format(self) -> str | Format | HeaderFormat | None: ...
    @property
    def stop_ids(self) -> tuple[int, ...]: ...
    def parser(self, **options: Any) -> Parser: ...


@dataclass(frozen=True)
class Sampling:
    """How to sample, and when to stop. A field that is None is not sent, and the engine uses its own default.

    max_tokens: the limit of one generation. It is always sent, because some servers have defaults as small as 16.
    stop: strings that end the generation.
    logprobs: ask for each token's log probability, and for those of this many alternatives. None asks for neither. An
    engine whose `gives_logprobs` is true then yields `Sampled`. Other engines ignore this field.
    extra: more fields of the engine's request, sent unchanged.
    headers: headers of a request over HTTP, such as `traceparent`.

    Raises TypeError for a value of another type, and ValueError for an impossible number, such as a limit below 1.
    """

    max_tokens: int = 4096
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    stop: tuple[str, ...] = ()
    logprobs: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("presence_penalty", "frequency_penalty"):
            check_number(name, getattr(self, name), none=True)
        for name in ("top_k", "seed"):
            check_number(name, getattr(self, name), whole=True, none=True)
        for name, most in (("temperature", None), ("top_p", 1), ("min_p", 1), ("repetition_penalty", None)):
            check_number(name, getattr(self, name), least=0, most=most, none=True)
        check_number("max_tokens", self.max_tokens, least=1, whole=True)
        check_number("logprobs", self.logprobs, least=0, whole=True, none=True)
        check_mapping("extra", self.extra, none=False)
        check_mapping("headers", self.headers, none=False)
        for name, value in self.headers.items():
            check_text(f"the header {name}", value, none=False)
        if (
            isinstance(self.stop, (str, bytes, Mapping))
            or not isinstance(self.stop, Iterable)
            or not all(isinstance(text, str) and text for text in self.stop)
        ):
            raise ValueError(f"stop is a sequence of strings that are not empty, not {self.stop!r}")


def check_generate(engine: Any) -> None:
    """Raises TypeError if an engine's `generate` is a function that cannot return an async iterator."""
    made = "a coroutine" if iscoroutinefunction(engine.generate) else "a plain generator"
    if made == "a coroutine" or isgeneratorfunction(engine.generate):
        raise TypeError(
            f"generate(prompt, sampling) of an engine is an async generator (`async def` with `yield`), and that of "
            f"{type(engine).__name__} returns {made}"
        )


class Rendered(NamedTuple):
    """A prompt that an engine's renderer has written.

    ids: None if the engine takes text. features: data for its pictures, which only the same kind of engine reads. text:
    the prompt, if there are no ids. continues: can the engine continue an answer? counted: does `ids` have all tokens
    of the prompt? Some engines add the tokens of pictures later.
    """

    ids: list[int] | None
    features: Mapping[str, Any] | None = None
    text: str = ""
    continues: bool = True
    counted: bool = True


@dataclass(frozen=True)
class Finished:
    """The last item of a generation: the reason of the stop, and the engine's counts.

    reason: the engine's finish reason, such as "stop" or "length". `harmonystream.reasons` explains each value.
    usage: Chat Completions' usage object with prompt_tokens, completion_tokens and total_tokens, or any other API's.
    stop: the stop string that ended the generation.

    A field is None if it is unknown. A source of EventStreamResponse may also yield a Finished. Then a stop string
    counts as a normal end unless a reason is given, and clients of Messages and of Chat Completions (`stop_reason`) get
    it.
    """

    reason: str | Mapping[str, Any] | None = None
    usage: Mapping[str, Any] | None = None
    stop: str | None = None

    def __post_init__(self) -> None:
        if self.reason is not None and not isinstance(self.reason, (str, Mapping)):
            raise TypeError(f"reason is the engine's word, a mapping or None, not {shown(self.reason)}")
        check_mapping("usage", self.usage)
        check_text("stop", self.stop)


@dataclass(frozen=True)
class Sampled:
    """Ids, and the API's logprobs object for each, as ChatStream.feed takes them. Streams of other APIs refuse them."""

    ids: Any
    logprobs: Sequence[dict[str, Any]] | None = None


Output: TypeAlias = "int | Sequence[int] | str | Sampled | Finished"
"""One item of a generation: an id, several ids, text, or the end. A generation has either ids or text."""


@dataclass(frozen=True)
class Arrived:
    """Items that have arrived together, so that their output can be sent together, too. items: at least one."""

    items: Sequence[Output]


class Engine(Protocol):
    """Generates. Any object with this method is an engine.

    The iterator yields ids or text as they arrive, including markers, and may end with a `Finished`. If it cannot go
    on, it raises an exception; the adapters in this package raise `EngineError`. When it is closed, or its task is
    cancelled, it stops the generation and frees its resources.

    An engine may also have `opened`, an async context manager with the same arguments, which gives an `Opened`.
    """

    def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]: ...


class Opened(Protocol):
    """A generation for code that waits by itself, so that no iterator is between it and the items.

    `take(await wait())` returns the items that have arrived together, possibly none, until it has `ended`. If `wait`
    raises, `rest` returns the items that arrived before, or raises the error. The last item is a `Finished`.
    """

    @property
    def ended(self) -> bool: ...
    @property
    def wait(self) -> Callable[[], Awaitable[Any]]: ...
    def take(self, come: Any, /) -> Sequence[Output]: ...
    def rest(self, error: Exception, /) -> Sequence[Output]: ...


def request_fields(sampling: Sampling, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a request: those of `sampling` that are set, except for logprobs, and then its `extra`.

    names: the engine's names for fields, where they differ.
    """
    made: dict[str, Any] = {}
    for one in fields(sampling):
        value = getattr(sampling, one.name)
        if one.name not in ("extra", "headers", "logprobs") and value is not None and value != ():
            made[names.get(one.name, one.name)] = list(value) if isinstance(value, tuple) else value
    return made | dict(sampling.extra)


def are_ids(given: Any) -> TypeGuard[list[int]]:
    """Is this a list of ids? It may be empty."""
    return isinstance(given, list) and (
        not given or (set(map(type, given)) == {int} and min(given) >= 0 and max(given) < IDS)
    )


def count_of(counts: Mapping[str, Any], name: str, before: int) -> int:
    """A server's running count. A chunk without it leaves it unchanged. Raises EngineError."""
    count = counts.get(name, before)
    if type(count) is not int or count < 0:
        raise EngineError(f"the server sent {name} that is not a count: {str(count)[:200]}", "protocol")
    return count


def usage_of(given: Any) -> dict[str, Any] | None:
    """A server's usage object, without values that are not counts: a generation is whole without them.

    None if nothing is left.
    """
    found: dict[str, Any] = {}
    for name, value in given.items() if isinstance(given, Mapping) else ():
        if name.endswith("_details"):
            value = usage_of(value)
        elif name.endswith("_tokens") and (type(value) is not int or value < 0):
            value = None
        elif isinstance(value, float) and not isfinite(value):  # JSON has no such number
            value = None
        if value is not None:
            found[name] = value
    return found or None


def chat_usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    """Chat Completions' usage object."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def add_usage(total: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add a usage object to `total`, number by number, including the numbers in `..._details`."""
    for name, value in more.items():
        if isinstance(value, Mapping):
            add_usage(total.setdefault(name, {}), value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            total[name] = total.get(name, 0) + value
