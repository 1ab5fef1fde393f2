"""The exceptions that the package raises on purpose. Any other is a bug."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .events import Event

__all__ = [
    "EmitterError",
    "EngineError",
    "FormatError",
    "HarmonyStreamError",
    "ParseError",
    "GrammarError",
    "PromptError",
    "VocabError",
    "missing_extra",
    "suggestion",
]


def suggestion(name: object, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: similar names, or else all known names."""
    from difflib import get_close_matches

    names = list(known)
    folded = {each.lower().replace("-", "_"): each for each in reversed(names)}
    given = str(name).lower().replace("-", "_")
    close = (
        get_close_matches(given, folded, 3, 0.7) or [each for each in folded if len(given) > 2 and given in each][:3]
    )
    if close:
        return f"did you mean {' or '.join(repr(folded[each]) for each in close)}?"
    return f"known: {', '.join(names) or 'none'}"


def missing_extra(extra: str, error: ImportError) -> ImportError:
    """The error for a missing package, with the command that installs it."""
    message = f"this needs the package {error.name}: pip install 'harmonystream[{extra}]'"
    return ImportError(message, name=error.name)


class HarmonyStreamError(Exception):
    """The parent of every error defined here."""


class VocabError(HarmonyStreamError, ValueError):
    """A vocabulary is damaged, incomplete, or not the expected one."""


class FormatError(HarmonyStreamError, ValueError):
    """A format is unknown, or its description contradicts itself or the vocabulary."""


class GrammarError(HarmonyStreamError, ValueError):
    """A grammar cannot be made of this format or these tools, or cannot be written in a backend's language."""


class PromptError(HarmonyStreamError, ValueError):
    """Messages, tools or a template cannot become a prompt. The error's text names the message and the field."""


class ParseError(HarmonyStreamError, ValueError):
    """A deviation from the format, in strict mode only.

    `code` names the deviation, and `position` is the offset of the token (text mode: of the byte) that caused it.
    `state` is the parser's state, and `expected` lists what would have been well formed there. `events` are the events
    that the same call had parsed before, and the ends of the call and message that were open.
    """

    def __init__(self, code: str, position: int, state: str, expected: str, events: tuple[Event, ...] = ()) -> None:
        super().__init__(f"{code} at position {position}, in state {state}: expected {expected}")
        self.code = code
        self.position = position
        self.state = state
        self.expected = expected
        self.events = events

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.code, self.position, self.state, self.expected, self.events), vars(self)


class EmitterError(HarmonyStreamError):
    """Emitters or their callbacks have raised in a step of `Batch`. All other streams have read the step.

    `errors` has the exceptions by slot. Close these slots. `frames` is the call's result, with None for each of these
    slots.
    """

    def __init__(self, errors: dict[int, Exception], frames: list[bytes | None]) -> None:
        slot, error = next(iter(errors.items()))
        try:
            shown = repr(error)
        except Exception:
            shown = type(error).__name__
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        super().__init__(f"the emitter in slot {slot} has raised {shown}{more}")
        self.errors = errors
        self.frames = frames
        self.__cause__ = error

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.errors, self.frames)


class EngineError(HarmonyStreamError):
    """An engine refused a request, could not be reached, or broke off before the generation had ended.

    `kind` is "connection" (none was possible, or it was lost), "status" (the HTTP status was not 200), "timeout" (the
    engine was silent for too long), "protocol" (this adapter cannot read what it sent) or "engine" (it reported an
    error of its own). `status` is the HTTP status, or None if there was none.
    """

    def __init__(self, message: str, kind: str = "engine", status: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.kind, self.status)


def __dir__() -> list[str]:
    return sorted(__all__)
