"""What a model reads of a call that it closed and that could not be read."""

from __future__ import annotations

from collections.abc import Collection

from ..call_arguments import read_arguments
from ..completion import ToolCall
from ..tools import ToolResult
from ..tools.results import error_text

__all__ = ["unreadable_result"]

_FAULTS = {
    "ignored-text": "there is text between its arguments or after them",
    "ignored-member": "its object has an unknown member, or arguments twice",
    "missing-value": "an argument has no value",
    "missing-closer": "the end of an argument or of the call is missing",
    "invalid-json": "its arguments are not one JSON object",
    "call-syntax": "its arguments are not written as name=value",
    "held-too-long": "a part of it is too long",
}
"""Codes of deviations, in the order in which they are reported."""


def unreadable_result(call: ToolCall, noted: Collection[str]) -> ToolResult:
    """The result of the call, which did not run: an error that explains what is wrong.

    noted: the codes of the deviations in the call.
    """
    faults = [fault for code, fault in _FAULTS.items() if code in noted]
    try:
        read_arguments(call.arguments)
    except ValueError as error:
        faults.insert(0, str(error))
    reason = f"the call could not be read, and did not run: {'; '.join(faults) or 'a part of it is missing'}"
    return ToolResult(
        call.id, call.name, error_text("incomplete_call", f"{reason}. Write the whole call again"), "incomplete_call"
    )
