"""Requests that a server does not take, and what their clients make of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from wire_server import ASKED, PATHS, Clients, clients_of

from harmonystream.emit import StoredError, refusal, refuse_stored

STORED: dict[str, tuple[dict[str, Any], str]] = {
    "thread": ({"thread": {"type": "create"}}, "thread"),
    "previous_response_id": ({"previous_response_id": "resp_1"}, "previous_response_id"),
    "conversation": ({"conversation": {"id": "conv_1"}}, "conversation"),
    "item_reference": ({"input": [{}, {"type": "item_reference", "id": "msg_1"}]}, r"input\[1\]"),
}


@pytest.mark.parametrize("case", STORED)
def test_a_request_that_builds_on_what_is_stored_is_refused(case):
    body, param = STORED[case]
    with pytest.raises(StoredError, match=f"^{param} is not supported: "):
        refuse_stored(body)


@pytest.mark.parametrize(
    "body",
    [{}, {"thread": None, "input": "?"}, {"input": [None, 5, {"type": "message"}]}, {"previous_response_id": None}],
)
def test_all_others_are_taken(body):
    refuse_stored(body)


@pytest.mark.parametrize("body", [None, [], "text", 5])
def test_a_request_is_an_object(body):
    with pytest.raises(TypeError, match="a request is an object, not"):
        refuse_stored(body)


@contextmanager
def refusing() -> Iterator[Clients]:
    async def respond(request: Request) -> JSONResponse:
        try:
            refuse_stored(await request.json())
            raise ValueError("n is 1 to 4")
        except ValueError as error:
            return JSONResponse(refusal(error), 400)

    with clients_of(Starlette(routes=[Route(path, respond, methods=["POST"]) for path in PATHS.values()])) as clients:
        yield clients


def test_the_clients_raise_what_the_server_says():
    with refusing() as clients:
        for create, asked in (
            (clients.openai.chat.completions.create, ASKED["chat"]),
            (clients.openai.responses.create, ASKED["responses"]),
            (clients.anthropic.messages.create, ASKED["messages"]),
        ):
            given: Any = {"model": "m", **asked}
            with pytest.raises((openai.BadRequestError, anthropic.BadRequestError), match="Bad request: n is 1 to 4"):
                create(**given)
        with pytest.raises(openai.BadRequestError) as raised:
            clients.openai.responses.create(model="m", input="?", previous_response_id="resp_1")
        assert (raised.value.code, raised.value.param) == ("unsupported_parameter", "previous_response_id")


def test_anthropics_client_knows_that_it_must_go_on_without_a_thread():
    """Its tool runner sends the whole conversation then; without this code it raises."""
    with refusing() as clients, pytest.raises(anthropic.BadRequestError) as raised:
        clients.anthropic.messages.create(
            model="m",
            max_tokens=9,
            messages=[{"role": "user", "content": "?"}],
            extra_body={"thread": {"type": "create"}},
        )
    error: Any = raised.value.body
    assert error["error"]["details"]["error_code"] == "thread_unsupported_request"
    assert type(raised.value).__name__ == "ThreadUnsupportedRequestError"
