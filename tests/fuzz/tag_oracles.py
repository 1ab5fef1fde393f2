"""What must hold of any stream of a tag format, however broken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from streams import EventTuple

import harmonystream as hs
from fuzz import oracles

MESSAGE = ("assistant", None, None, None)


def check_order(log: Sequence[EventTuple], whole: bool) -> None:
    """One message, in it text and calls that do not overlap and are numbered. `whole`: up to the StreamEnd."""
    kinds = [event[0] for event in log]
    assert kinds.count("StreamEnd") == whole and kinds.count("MessageStart") <= 1
    if whole:
        assert kinds[-1] == "StreamEnd" and log[-1][-2] == log[-1][-1] == max(event[-1] for event in log)
        assert kinds.count("MessageStart") == (len(log) > 1)
    assert kinds.count("MessageEnd") == kinds.count("MessageStart")
    inside: int | None = None
    calls = 0
    for i, event in enumerate(log):
        kind = event[0]
        if kind == "MessageStart":
            assert i == 0 and event[1:] == (*MESSAGE, 0, 0), f"{event}"
        elif kind == "MessageEnd":
            assert inside is None and i >= len(log) - 2 and event[1:5] == MESSAGE, f"{event} in call {inside}"
        elif kind == "ToolCallStart":
            assert inside is None and event[1] == calls, f"{event} is call {calls}"
            assert event[4] in ("function", "other")
            inside = calls
        elif kind == "ToolCallEnd":
            assert inside == event[1] == calls, f"{event} ends call {inside}"
            inside, calls = None, calls + 1
        elif kind == "ToolCallDelta":
            assert inside == event[1], f"{event} in call {inside}"
        elif kind != "StreamEnd":
            assert inside is None, f"{event} in call {inside}"
    assert inside is None, f"call {inside} has no end"


def arguments(log: Sequence[EventTuple]) -> list[tuple[bool, bool, str]]:
    """Of each call that has ended: is it complete, is its JSON balanced, and its arguments."""
    texts: dict[Any, str] = {}
    for event in log:
        if event[0] == "ToolCallDelta":
            texts[event[1]] = texts.get(event[1], "") + str(event[2])
    ends = [event for event in log if event[0] == "ToolCallEnd"]
    return [(bool(event[2]), bool(event[3]), texts.get(event[1], "")) for event in ends]


def check_pairs(row: hs.Format, log: Sequence[EventTuple], parser: hs.Parser, stream: bytes, empty_args: str) -> None:
    """What is written from pairs is a JSON object; a cut one is the beginning of one."""
    if row.pair is None or parser.deviation_count > 16 or any(d.code == "other-body" for d in parser.deviations):
        return
    if row.wrapped and b'"name"' in stream:
        return
    for complete, balanced, text in arguments(log):
        if complete and (text or empty_args):
            assert isinstance(loads(text), dict) and balanced, text
        elif not complete:
            assert text == "" or text.startswith('{"'), text


def check_written(row: hs.Format, log: Sequence[EventTuple], stream: bytes, empty_args: str) -> None:
    """What is read from a complete written call is a JSON object."""
    if row.body != "json" and not (row.wrapped and b'"' in stream and b"{" in stream):
        for complete, balanced, text in arguments(log):
            if complete and (text or empty_args):
                assert isinstance(loads(text), dict) and balanced, text


def loads(text: str) -> Any:
    """JSON by the grammar; Python's reader takes NaN and Infinity as well."""
    return json.loads(text, parse_constant=lambda name: float("not " + name))


def outcome(parser: hs.Parser, log: list[EventTuple], error: hs.errors.ParseError | None) -> tuple[Any, ...]:
    """All that another cut of the same stream must have in common with this one."""
    if error is None:
        return oracles.outcome(parser, log, error)
    return log, error.code, error.position, error.state, parser.deviations
