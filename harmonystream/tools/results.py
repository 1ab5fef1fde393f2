"""The result of a call: text for the model, and details for the application."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..surrogates import without_surrogates
from .text import Writer, sized

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = ["ErrorKind", "Failure", "ToolError", "ToolResult", "error_text", "text_of"]

ErrorKind: TypeAlias = Literal[
    "unknown_tool",
    "incomplete_call",
    "invalid_json",
    "invalid_arguments",
    "refused",
    "timeout",
    "failed",
    "invalid_result",
    "unavailable",
    "cancelled",
]

MAX_ERROR = 2000
"""The most characters of an error's message."""


class ToolError(Exception):
    """A tool raises this to report an error to the model, in these words."""


class Failure(Exception):  # noqa: N818  # it never leaves this package
    """A call that fails: the kind of error, the message for the model, and the exception that caused it."""

    def __init__(self, kind: ErrorKind, message: str, cause: BaseException | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.cause = cause


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call.

    text: the text for the model.
    error: the kind of error that the text reports, or None.
    seconds: how long the tool itself ran; 0.0 if it did not run.
    arguments: the arguments that the tool was called with; None if it was not called.
    value: the value that the tool returned.
    exception: the exception that it raised.
    truncated: was the text cut at the size limit?
    """

    call_id: str | None
    name: str
    text: str
    error: ErrorKind | None = None
    seconds: float = 0.0
    arguments: Mapping[str, Any] | None = None
    value: Any = field(default=None, repr=False)
    exception: BaseException | None = None
    truncated: bool = False


def error_text(kind: ErrorKind, message: str) -> str:
    """The text of an error. All errors have the form `{"error": message, "kind": kind}`."""
    if len(message) > MAX_ERROR:
        message = message[:MAX_ERROR] + "…"
    return json.dumps({"error": without_surrogates(message), "kind": kind}, ensure_ascii=False)


def text_of(value: object, limit: int) -> tuple[str, bool]:
    """A tool's result as text, and whether it was cut. A string is used unchanged. All other values become JSON."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        try:
            value = bytes(value).decode()
        except UnicodeDecodeError as error:
            raise Failure("invalid_result", "the tool returned bytes that are not UTF-8 text", error) from None
    if isinstance(value, str):
        return sized(without_surrogates(value[: limit + 1]), limit)
    writer = Writer(limit)
    try:
        writer.write(value)
    except Exception as error:  # the properties of the value may raise anything
        raise Failure("invalid_result", f"the tool's result cannot be written as JSON: {error}", error) from error
    return sized("".join(writer.pieces), limit)
