"""The gateway's errors for clients: one exception, and its body in the form of each API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import EngineError

__all__ = ["Refused", "body_of", "is_engines_fault", "refused_for", "later_error", "seconds_of", "status_of"]


class _Kind(NamedTuple):
    """The `type` of an error in OpenAI's and in Anthropic's API."""

    openai: str
    anthropic: str


_KINDS: Mapping[int, _Kind] = {
    400: _Kind("invalid_request_error", "invalid_request_error"),
    401: _Kind("invalid_request_error", "authentication_error"),
    403: _Kind("invalid_request_error", "permission_error"),
    404: _Kind("invalid_request_error", "not_found_error"),
    405: _Kind("invalid_request_error", "invalid_request_error"),
    408: _Kind("invalid_request_error", "invalid_request_error"),
    413: _Kind("invalid_request_error", "request_too_large"),
    415: _Kind("invalid_request_error", "invalid_request_error"),
    429: _Kind("rate_limit_error", "rate_limit_error"),
    500: _Kind("server_error", "api_error"),
    502: _Kind("server_error", "api_error"),
    503: _Kind("server_error", "overloaded_error"),
    504: _Kind("server_error", "timeout_error"),
}
OVERLOADED = {"messages": 529}
"""The status of a server that has too much to do, where an API has one of its own."""


class Refused(Exception):  # noqa: N818  # it is an answer
    """A request that ends with an error. The message is for the client.

    status: the HTTP status. param: the field with the mistake. code: for programs. retry_after: seconds.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code, self.retry_after = status, param, code, retry_after

    @property
    def message(self) -> str:
        return str(self)

    @property
    def name(self) -> str:
        """The code, or the type, for the log."""
        return self.code or _KINDS.get(self.status, _KINDS[500]).openai


def status_of(refused: Refused, api: str) -> int:
    """The HTTP status that an API's clients expect."""
    return OVERLOADED.get(api, refused.status) if refused.status == 503 else refused.status


def seconds_of(retry_after: float) -> int:
    """The seconds to wait, as the header `retry-after` has them."""
    return max(1, round(retry_after))


def body_of(refused: Refused, api: str, request_id: str) -> dict[str, Any]:
    """The answer's JSON, in the API's form. All endpoints except Messages use OpenAI's form."""
    kind = _KINDS.get(refused.status, _KINDS[500])
    if api == "messages":
        error: dict[str, Any] = {"type": kind.anthropic, "message": refused.message}
        if refused.code is not None:
            error["details"] = {"error_code": refused.code}
        return {"type": "error", "error": error, "request_id": request_id}
    return {
        "error": {"message": refused.message, "type": kind.openai, "param": refused.param, "code": refused.code},
    }


def later_error(refused: Refused, api: str) -> dict[str, str | None]:
    """The arguments of a stream's error(), for a response that has already begun."""
    kind = _KINDS.get(refused.status, _KINDS[500])
    fields = {"message": refused.message, "type": kind.anthropic if api == "messages" else kind.openai}
    if api == "responses":  # its clients know only a few codes
        return {**fields, "code": "rate_limit_exceeded" if refused.status == 429 else "server_error"}
    return {**fields, "code": refused.code}


def is_engines_fault(error: EngineError) -> bool:
    """Could another engine, or a later attempt, succeed? Not if the engine says that the request itself is wrong."""
    return error.kind != "status" or error.status not in (400, 413, 422)


def refused_for(error: BaseException) -> Refused:
    """The error that a client gets. It does not reveal the engine's address or message."""
    if isinstance(error, Refused):
        return error
    if not isinstance(error, EngineError):
        return Refused(500, "The gateway failed to answer this request.", code="internal_error")
    if not is_engines_fault(error):
        return Refused(400, "The engine refused this request.", code="engine_refused")
    if error.kind == "timeout":
        return Refused(504, "The engine did not answer in time.", code="engine_timeout")
    if error.kind == "connection" or error.status in (429, 503):
        what = "The engine cannot be reached, has too much to do, or has broken off. Try again later."
        return Refused(503, what, code="engine_unavailable", retry_after=1)
    return Refused(502, "The engine failed to answer this request.", code="engine_error")
