"""A gateway whose model plays turns, and whose tools run in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gateway_answers import whole_answer
from gateways import ASKED, ids_of, serving
from scripted import Scripted
from wire_server import Clients

import harmonystream as hs
from harmonystream.engines import Finished
from harmonystream.gateway import Model, app

END = Finished("stop", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
RESULT = "11 °C <|call|> 🐼"


def look(city: str) -> str:
    """The weather. city: where."""
    return f"{city}: {RESULT}"


def turn(text: str) -> list[Any]:
    """One id in each item, so that everything is streamed."""
    return [*([one] for one in ids_of(text)), END]


def called(name: str, arguments: str, thought: str = "Look.") -> list[Any]:
    header = f"<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
    return turn(f"<|channel|>analysis<|message|>{thought}<|end|>{header}{arguments}<|call|>")


def answered(text: str, thought: str = "Now I know.") -> list[Any]:
    final = f"<|start|>assistant<|channel|>final<|message|>{text}<|return|>"
    return turn(f"<|channel|>analysis<|message|>{thought}<|end|>{final}")


LOOKED = called("look", '{"city": "成都"}'), answered("It is 11 °C.")


@contextmanager
def serves(*turns: list[Any], tools: hs.Tools | None = None, **options: Any) -> Iterator[tuple[Clients, Scripted, Any]]:
    """Clients of a gateway whose model plays these turns."""
    engine = Scripted(*turns)
    model = Model(
        "tiny", engine, family="gpt-oss", server_tools=hs.Tools(look) if tools is None else tools, max_tokens=500
    )
    made = app([model], **options)
    with serving(made) as url:
        clients = Clients(url)
        with clients.openai, clients.anthropic:
            yield clients, engine, made.state.gateway


def whole_message(clients: Clients, *, streams: bool, beta: bool = True, **more: Any) -> Any:
    """Only the client's beta has types for these blocks; the other one passes them on."""
    client: Any = clients.anthropic.beta.messages if beta else clients.anthropic.messages
    asked = {"model": "tiny", **ASKED["messages"], **more}
    if not streams:
        return client.create(**asked)
    with client.stream(**asked) as events:
        return events.get_final_message()


def answer(clients: Clients, api: str, *, streams: bool, **more: Any) -> Any:
    """As a dict."""
    if api == "messages":
        return whole_message(clients, streams=streams, **more).to_dict()
    return whole_answer(clients, api, streams=streams, **more).to_dict()
