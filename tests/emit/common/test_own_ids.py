"""The id that a model writes in a call: it counts before the name, in streams and in whole answers alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

import harmonystream as hs
from harmonystream import formats

ROWS = {
    name: {what: key for key, what in reversed(row.members.items())}
    for name in formats.names()
    if isinstance(row := formats.format_of(name), hs.Format) and row.wrapped and "id" in row.members.values()
}
"""Each row whose calls are objects that may have an id -> what a key holds -> the first such key."""


def written(name: str, order: tuple[str, ...], tid: str) -> str:
    row: Any = formats.format_of(name)
    values = {"name": "f", "arguments": {"a": 1}, "id": tid}
    call = json.dumps({ROWS[name][what]: values[what] for what in order})
    opener, closer = (row.section[0], row.section[1]) if row.section else (row.call[0], row.call[2])
    first, last = (marker if isinstance(marker, str) else marker[0] for marker in (opener, closer))
    return f"{first}[{call}]{last}" if row.section and not row.call else f"{first}{call}{last}"


def ids(made: Any) -> set[str]:
    """The ids of calls in what an API sends, whole or streamed."""
    if isinstance(made, list):
        return set().union(*map(ids, made))
    if not isinstance(made, dict):
        return set()
    kind = made.get("type")
    if kind == "function_call":
        return {made["call_id"]}
    if kind == "tool_use" or (kind == "function" and made.get("id")):
        return {made["id"]}
    return set().union(*map(ids, made.values()))


@pytest.mark.parametrize(
    "order", [("id", "name", "arguments"), ("name", "id", "arguments"), ("name", "arguments", "id")]
)
@pytest.mark.parametrize("name", ROWS)
def test_an_id_counts_before_the_name_and_streams_are_as_whole_answers(name: str, order: tuple[str, ...]) -> None:
    text = written(name, order, "Xa1b2c3d4")
    given = {"id": "r", "model": "m", "created": 1}
    (call,) = hs.parse(text, name, tools=["f"], finish_reason="stop").tool_calls
    assert (call.name, call.arguments, call.complete) == ("f", '{"a": 1}', True)
    assert call.id == ("Xa1b2c3d4" if order[0] == "id" else None)
    for made in (
        lambda: hs.ChatStream(hs.Parser(name, tools=["f"]), **given),
        lambda: hs.ResponsesStream(hs.Parser(name, tools=["f"]), **given),
        lambda: hs.MessagesStream(hs.Parser(name, tools=["f"]), id="r", model="m"),
    ):
        stream: Any = made()
        frames = stream.events()
        for character in text:
            frames += stream.events(character)
        frames += stream.events(finish=True, reason="stop")
        assert len(ids(frames)) == 1
        assert ids(frames) == ids(stream.response())
        assert call.id is None or ids(frames) == {call.id}
