"""Streams of tag formats against the slow interpreter of docs/tags.md, ranges, deviations and counts included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference_tags import interpret_tags
from tag_streams import deviations, expected, items_of_bytes, items_of_ids

import harmonystream as hs
from fuzz import oracles, rows, tags

Case = dict[str, Any]
SLOW = 60  # longest stream, in pieces
REPEATED = 8  # times that a piece may be
TYPES = {  # none of them: anything
    key: frozenset([named] if isinstance(named, str) else named)
    for key, schema in rows.TYPED["parameters"]["properties"].items()
    for named in [schema.get("type", ())]
}
STRING = frozenset(["string"])
INSIDE = {  # of "oo"
    ("oo", "s"): STRING,
    ("oo", "i"): frozenset(["integer"]),
    ("oo", "x"): frozenset(["array"]),
    ("oo", "x", "*"): STRING,
}


def decode(options: bytes, payload: bytes) -> Case:
    """A built-in row, or, one in four, one of the user's."""
    decoded = tags.decode_row if options[4] % 4 == 3 else tags.decode
    case = decoded(options, payload)
    if case["how"] == "str":
        case["how"] = "text"
    stream = case["stream"][:SLOW]
    case["stream"] = [(piece[0], piece[1] % REPEATED) if isinstance(piece, tuple) else piece for piece in stream]
    return {key: value for key, value in case.items() if key not in ("strict", "cuts", "turn", "prompted")}


def declared(tools: list[Any] | None) -> tuple[list[str] | None, dict[str, Any]]:
    """The names, and the types of the parameters of the tools that have them."""
    if tools is None:
        return None, {}
    described = [tool.get("function", tool) for tool in tools if isinstance(tool, dict)]
    names = [tool for tool in tools if isinstance(tool, str)] + [tool["name"] for tool in described]
    return names, {tool["name"]: TYPES for tool in described}


def check(row: Any, how: str, stream: Sequence[Any], tools: str, reason: str | None, **options: Any) -> None:
    if isinstance(row, dict) and not rows.is_accepted(row):
        return
    alphabet = rows.alphabet_of(row)
    format, vocab = rows.row_of(row), alphabet.vocab(how)
    units = rows.units(alphabet, how, stream)
    items, controls = (items_of_bytes(units), frozenset[str]()) if how == "text" else items_of_ids(units, format, vocab)
    names, types = declared(rows.TOOLS[tools])
    inside = dict.fromkeys(types, INSIDE)
    result = interpret_tags(
        format, items, controls=controls, tools=names, types=types, inside=inside, finish=reason, **options
    )
    parser = hs.Parser(format, vocab, check_stops=False, tools=rows.TOOLS[tools], **options)
    log, _ = oracles.replay(parser, [units], reason, how == "text")
    events, noted, usage = expected(result)
    assert log == events, first_difference(log, events)
    assert parser.usage == usage
    found = deviations(parser)
    assert found is None or found == noted, f"{found}, not {noted}"
    if how != "text" and reason is None and all(options[key] == value for key, value in tags.DEFAULTS.items()):
        labels = hs.label(units, format, vocab=vocab, tools=rows.TOOLS[tools], start=options["start"])
        assert [hs.Region(label).name.lower() for label in labels] == result.regions


def first_difference(log: Sequence[Any], events: Sequence[Any]) -> str:
    i = next((i for i, (ours, theirs) in enumerate(zip(log, events)) if ours != theirs), min(len(log), len(events)))
    return f"{log[i : i + 2]}, not {events[i : i + 2]}"
