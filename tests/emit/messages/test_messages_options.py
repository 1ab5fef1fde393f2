"""The parts of what MessagesStream says. tests/emit/messages/test_messages.py has the whole."""

from __future__ import annotations

from harmonystream.emit.messages.options import call, failure


def test_a_failure_has_details_if_it_has_a_code() -> None:
    assert failure("no", None, None)["error"] == {"type": "api_error", "message": "no"}
    assert failure("no", "overloaded_error", "c")["error"]["details"] == {"error_code": "c"}


def test_a_call() -> None:
    assert call("toolu_1_0", "f")["id"] == "toolu_1_0"
