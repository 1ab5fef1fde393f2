"""Writes harmonystream/data/conformance.json from the two corpora. Run with `python tests/conformance/generate.py`.

The events of a case are those that its log in the corpus has, which a person can check against docs/harmony.md and
docs/tags.md. No parser is asked for them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / folder) for folder in ("support", "reference")]

import corpus_format  # noqa: E402
import corpus_format_tags  # noqa: E402
from reference import EventTuple  # noqa: E402
from streams import encode_greedily, to_ids, without_ranges  # noqa: E402
from tag_streams import Options  # noqa: E402

import harmonystream as hs  # noqa: E402
from harmonystream.conformance import CASES, Row, joined  # noqa: E402
from harmonystream.deviations import EXPECTED  # noqa: E402

ABOUT = "What a streaming parser makes of these outputs: docs/conformance.md. Written by tests/conformance/generate.py."
DEFAULTS = Options("hermes")
LONGEST = 5000
"""Characters of a case. The corpora have some of a million, for bounds of memory."""


def main() -> None:
    Path(CASES).write_text(text(), encoding="utf-8")


def text() -> str:
    tools: dict[str, dict[str, Any]] = {}
    lines = []
    for case in (*of_harmony(), *of_tags()):
        if len(case["text"] or "") > LONGEST:
            continue
        if case["tools"] is not None:
            named = {_key(tool): tool for tool in case["tools"]}
            tools |= named
            case["tools"] = list(named)
        lines.append(json.dumps(case, ensure_ascii=False))
    head = json.dumps({"about": ABOUT, "version": 1, "tools": tools}, ensure_ascii=False)
    return f'{head[:-1]}, "cases": [\n' + ",\n".join(lines) + "\n]}\n"


def _key(tool: dict[str, Any]) -> str:
    """A tool's name in the file: tools of one name may have parameters or not."""
    function = tool["function"]
    return f"{function['name']} with parameters" if "parameters" in function else str(function["name"])


def of_harmony() -> Iterator[dict[str, Any]]:
    for case in corpus_format.read_cases():
        spelled = case.stream if isinstance(case.stream, bytes) else None
        ids: list[int] | None = None
        if isinstance(case.stream, list):
            ids = case.stream
        elif case.mode in ("both", "ids"):
            ids = to_ids(case.stream, encode_greedily)
        log = without_ranges(case.log) if case.ranges else case.log
        yield {
            "name": f"harmony/{case.name}",
            "format": "harmony",
            "well_formed": EXPECTED.keys().isdisjoint(_deviations(case)),
            "text": _decoded(spelled) if case.mode in ("both", "text") else None,
            "ids": ids,
            "tools": None if case.tools is None else [_tool(name) for name in case.tools],
            "start": case.start,
            "finish": case.finish,
            "events": rows(log),
        }


def _deviations(case: corpus_format.Case) -> list[str]:
    """Those of the log; where it has none, this library says whether the output keeps to the format."""
    if case.deviations is not None:
        return case.deviations
    found = hs.parse(case.stream, tools=case.tools, start=case.start, finish_reason=case.finish).deviations
    return [each.code for each in found]


def of_tags() -> Iterator[dict[str, Any]]:
    for case in corpus_format_tags.read_cases():
        options = case.options
        unusual = (options.trim, options.empty_args, options.max_hold)
        output = _decoded(case.stream)
        if case.mode == "ids" or output is None or unusual != (DEFAULTS.trim, DEFAULTS.empty_args, DEFAULTS.max_hold):
            continue
        tools = options.declared
        yield {
            "name": f"{options.format}/{case.name}",
            "format": options.format,
            "well_formed": EXPECTED.keys().isdisjoint(case.deviations),
            "text": output,
            "ids": None,
            "tools": None if tools is None else [_tool(each) if isinstance(each, str) else each for each in tools],
            "start": options.start,
            "finish": options.finish,
            "events": rows(case.log),
        }


def _tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def _decoded(data: bytes | None) -> str | None:
    """None for what is not UTF-8, which JSON cannot hold."""
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def rows(log: Iterable[EventTuple]) -> list[Row]:
    return joined(row for row in map(_row, log) if row is not None)


def _row(event: EventTuple) -> Row | None:
    kind, *fields = event
    if kind == "ReasoningDelta":
        return ["reasoning", fields[0]]
    if kind == "ContentDelta":
        return ["content", fields[0], fields[1]]
    if kind == "ToolCallStart":
        return ["call", fields[0], fields[1]]
    if kind == "ToolCallDelta":
        return ["arguments", fields[0], fields[1]]
    if kind == "ToolCallEnd":
        return ["end", fields[0], "complete" if fields[1] else "cut"]
    if kind == "StreamEnd":
        return ["finish", fields[0]]
    assert kind in ("MessageStart", "MessageEnd"), kind
    return None


if __name__ == "__main__":
    main()
