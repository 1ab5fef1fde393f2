"""The answer of a server that refuses a request."""

from __future__ import annotations

from typing import Any

from .payload import Payload, clean

__all__ = ["StoredError", "refusal", "refuse_stored"]


class StoredError(ValueError):
    """A request relies on something stored, and this server stores nothing. param: the field that refers to it."""

    def __init__(self, param: str, code: str, what: str) -> None:
        super().__init__(f"{param} is not supported: {what}")
        self.param, self.code = param, code


_FIELDS = {  # field -> the code that clients know, and what they can do
    "thread": ("thread_unsupported_request", "send the whole conversation without it"),
    "previous_response_id": ("unsupported_parameter", "responses are not stored; send the whole input"),
    "conversation": ("unsupported_parameter", "conversations are not stored; send the whole input"),
    "previous_message_id": ("unsupported_parameter", "messages are not stored; send all of them"),
}


def refuse_stored(body: Any) -> None:
    """Raises StoredError if a request of any of the three APIs relies on something that a server would have stored.

    Use it in servers that store nothing. If such a server ignored the field, it could see a history that is only one
    tool result. Anthropic's tool runners ask for a `thread`, and go on without one after this error. OpenAI's clients
    send `previous_response_id`, `conversation`, or items of type "item_reference".
    Raises TypeError for a body that is not an object.
    """
    if not isinstance(body, dict):
        raise TypeError(f"a request is an object, not {type(body).__name__}")
    for name, (code, what) in _FIELDS.items():
        if body.get(name) is not None:
            raise StoredError(name, code, what)
    items = body.get("input")
    for at, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict) and item.get("type") == "item_reference":
            raise StoredError(f"input[{at}]", "unsupported_parameter", "items are not stored; send the item itself")


def refusal(error: Exception | str, *, type: str = "invalid_request_error") -> Payload:
    """The body of an answer with a status of 400 or more. The clients of all three APIs raise it as an error.

    error: its text becomes the message. The text of a KeyError is only the missing name, so the message says that it is
    missing. An error from refuse_stored() also gives the parameter and the code.
    """
    param, code = (error.param, error.code) if isinstance(error, StoredError) else (None, None)
    reason = f"{error.args[0]} is missing" if isinstance(error, KeyError) and error.args else error
    refused: Payload = {"type": type, "message": clean(f"Bad request: {reason}"), "param": param, "code": code}
    if code is not None:
        refused["details"] = {"error_code": code}  # where Anthropic's clients look
    return {"type": "error", "error": refused}
