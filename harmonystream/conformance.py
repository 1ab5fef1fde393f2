"""Test cases for streaming parsers in any language: outputs, and the events that a parser must make of them.

docs/conformance.md describes the cases and the line protocol.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from ._native.stream.parser import Parser
from .events import (
    ContentDelta,
    Event,
    ReasoningDelta,
    StreamEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)

__all__ = ["CASES", "Case", "Result", "Row", "answer", "cases", "joined", "log_of", "requests", "run_cases"]

CASES = os.path.join(os.path.dirname(__file__), "data", "conformance.json")

Row = list[Any]
"""One event: its kind and its fields, as JSON has them."""


class Case(NamedTuple):
    """One output and its events. text, ids: the output. None if it does not exist in this form.

    well_formed: True if the output has no deviation from the format. Otherwise the events are those of this library's
    repairs.
    """

    name: str
    format: str
    well_formed: bool
    text: str | None
    ids: list[int] | None
    tools: list[dict[str, Any]] | None
    start: str
    finish: str | None
    events: list[Row]


class Result(NamedTuple):
    """The result of a case. verdict: "passed", "failed" or "skipped".

    request, found: the first request with a wrong answer, and that answer.
    """

    case: Case
    verdict: str
    request: dict[str, Any] | None = None
    found: Any = None


def cases(path: str = CASES) -> list[Case]:
    """The cases of a file. By default, it is this package's file. Other files may have a case on each line, as JSON.

    Raises ValueError for a line that is not a case.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict) or "cases" not in data:
        return [_case(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    known = data["tools"]
    return [
        Case(**{**each, "tools": None if each["tools"] is None else [known[name] for name in each["tools"]]})
        for each in data["cases"]
    ]


def _case(line: str, number: int) -> Case:
    """The case on a line. A field that is missing has the value of most cases."""
    try:
        given = json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ValueError(f"line {number} is not an object")
    for field in given:
        if field not in Case._fields:
            raise ValueError(f"line {number}: unknown field {field!r}; known: {', '.join(Case._fields)}")
    for field in ("name", "format", "events"):
        if field not in given:
            raise ValueError(f"line {number}: {field!r} is missing")
    if given.get("text") is None and given.get("ids") is None:
        raise ValueError(f"line {number}: 'text' or 'ids' is missing")
    if not isinstance(given["events"], list) or not all(isinstance(row, list) and row for row in given["events"]):
        raise ValueError(f'line {number}: events is a list of rows, such as ["finish", "stop"]')
    usual = {"well_formed": True, "text": None, "ids": None, "tools": None, "start": "auto", "finish": None}
    return Case(**{**usual, **given})


def requests(case: Case) -> Iterator[dict[str, Any]]:
    """The requests for a case: the whole output, the output in single characters or ids, and cut at random places."""
    draw = random.Random(case.name)
    for kind, output in (("ids", case.ids), ("text", case.text)):
        if output is None:
            continue
        one_by_one = [output[i : i + 1] for i in range(len(output))]
        for pieces in ([output] if output else [], one_by_one, _cut(output, draw), _cut(output, draw)):
            yield {
                "case": case.name,
                "format": case.format,
                "input": kind,
                "pieces": pieces,
                "tools": case.tools,
                "start": case.start,
                "finish": case.finish,
            }


def _cut(output: Any, draw: random.Random) -> list[Any]:
    places = sorted({0, len(output), *(draw.randrange(len(output) + 1) for _ in range(1 + len(output) // 6))})
    return [output[begin:end] for begin, end in pairwise(places)]


def joined(rows: Iterable[Row]) -> list[Row]:
    """The rows with neighbouring pieces of one text joined, and without empty pieces."""
    made: list[Row] = []
    for row in rows:
        if row[0] not in _TEXT_AT:
            made.append(list(row))
            continue
        at = _TEXT_AT[row[0]]
        if not row[at]:
            continue
        if made and made[-1][0] == row[0] and [*made[-1][:at], *made[-1][at + 1 :]] == [*row[:at], *row[at + 1 :]]:
            made[-1][at] += row[at]
        else:
            made.append(list(row))
    return made


_TEXT_AT = {"reasoning": 1, "content": 1, "arguments": 2}


def log_of(events: Iterable[Event]) -> list[Row]:
    """This library's events as rows."""
    return joined(row for row in map(_row, events) if row is not None)


def _row(event: Event) -> Row | None:
    if isinstance(event, ReasoningDelta):
        return ["reasoning", event.text]
    if isinstance(event, ContentDelta):
        return ["content", event.text, event.channel]
    if isinstance(event, ToolCallStart):
        return ["call", event.index, event.name]
    if isinstance(event, ToolCallDelta):
        return ["arguments", event.index, event.arguments]
    if isinstance(event, ToolCallEnd):
        return ["end", event.index, "complete" if event.complete else "cut"]
    if isinstance(event, StreamEnd):
        return ["finish", event.reason]
    return None


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """This library's answer to a request."""
    if request["input"] == "ids" and request["format"] != "harmony":
        return {"skip": "ids need the model's vocabulary"}
    parser = Parser(request["format"], tools=request["tools"], start=request["start"])
    feed = parser.feed if request["input"] == "ids" else parser.feed_text
    rows: list[Row] = []
    for piece in request["pieces"]:
        rows += log_of(feed(piece))
    return {"events": rows + log_of(parser.finish(request["finish"]))}


def run_cases(wanted: Iterable[Case], ask: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[Result]:
    """Tests a program with cases. ask: sends a request to the program, and returns its answer.

    A case is skipped if the program skips all of its requests. It passes if all other answers are as expected.
    """
    for case in wanted:
        answered = False
        for request in requests(case):
            given = ask(request)
            if "skip" in given:
                continue
            answered = True
            if not _fits(given.get("events"), case.events, given.get("without", ())):
                yield Result(case, "failed", request, given)
                break
        else:
            yield Result(case, "passed" if answered else "skipped")


def _fits(given: Any, events: list[Row], without: Any) -> bool:
    """without: the kinds of rows that the program does not have, and "space" if it does not keep white space."""
    left_out = {kind for kind in without if kind in _MAY_LACK} if isinstance(without, (list, tuple)) else set()
    expected = joined(row for row in events if row[0] not in left_out)
    if not isinstance(given, list) or not all(isinstance(row, list) and row for row in given):
        return False
    for row in given:
        if not isinstance(row[0], str):
            return False
        at = _TEXT_AT.get(row[0])
        if at is not None and not (len(row) > at and isinstance(row[at], str)):
            return False
    if "space" in left_out:
        return _without_space(joined(given)) == _without_space(expected)
    return joined(given) == expected


_MAY_LACK = ("end", "finish", "space")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object with all of its members, also those whose key comes twice."""
    return {"members": pairs}


def _without_space(rows: list[Row]) -> list[Row]:
    """The rows without white space around texts, and without empty ones. Arguments have one spelling."""
    made: list[Row] = []
    for row in rows:
        row = list(row)
        if row[0] == "arguments":
            try:
                row[2] = json.dumps(json.loads(row[2], object_pairs_hook=_members))
            except ValueError:
                row[2] = row[2].strip()
        elif row[0] in _TEXT_AT:
            row[1] = row[1].strip()
            if not row[1]:
                continue
        made.append(row)
    return made
