"""Short cases of the tag formats: a text, and what is left of it, however it is cut, as text and as tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from streams import chunkings, run
from tag_streams import tokens

import harmonystream as hs

Left = tuple[str, str, list[tuple[str, ...]], list[str]]
CUT_TWICE = 40  # units up to which a text is cut at every place

PARAMETERS = {
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "o": {"type": "object"},
    "sn": {"type": ["string", "null"]},
}
TOOLS = [{"name": name, "parameters": {"properties": PARAMETERS}} for name in ("f", "g")]


def left(log: Iterable[Any], parser: hs.Parser) -> Left:
    """Reasoning, content, calls as (name, arguments), with "cut" after them if they are not complete, deviations."""
    reasoning, content, calls, arguments = "", "", [], ""
    for event in log:
        if event[0] == "ReasoningDelta":
            reasoning += event[1]
        elif event[0] == "ContentDelta":
            content += event[1]
        elif event[0] == "ToolCallStart":
            calls.append((event[2],))
            arguments = ""
        elif event[0] == "ToolCallDelta":
            arguments += event[2]
        elif event[0] == "ToolCallEnd":
            calls[-1] = (*calls[-1], arguments, *(() if event[2] else ("cut",)))
    return reasoning, content, calls, [code for code, _ in parser.deviations]


def pieces_of(stream: Any) -> Iterable[list[Any]]:
    if len(stream) <= CUT_TWICE:
        yield from chunkings(stream)
        return
    yield [stream]
    for size in (1, 2, 5, 17):
        yield [stream[at : at + size] for at in range(0, len(stream), size)]


def read(
    format: str | hs.Format,
    text: str,
    *,
    tools: Sequence[Any] | None = TOOLS,
    finish: str | None = None,
    vocabularies: Sequence[str] = ("plain",),
    **options: Any,
) -> Left:
    """What is left. `vocabularies`: see tag_streams.tokens; with these too it must be the same."""
    found: list[Left] = []
    streams: list[tuple[Any, hs.Vocab | None]] = [(text.encode(), None)]
    if isinstance(format, str):
        some = [tokens(format, name) for name in vocabularies]
        streams += [(one.encode(text.encode()), one.vocab) for one in some]
    for stream, vocab in streams:
        logs = []
        for pieces in pieces_of(stream):
            parser = hs.Parser(format, vocab, check_stops=False, tools=tools, **options)
            logs.append((run(parser, pieces, finish), parser.deviations, parser.usage, parser.position))
            found.append(left(logs[0][0], parser))
        assert [log for log in logs if log != logs[0]] == []
        assert parser.usage.total == parser.position == len(stream)
    assert [one for one in found if one != found[0]] == []
    return found[0]


def ids(format: str, *output: str | int, vocabulary: str = "added", **options: Any) -> Left:
    """What is left of tokens: text with the family's markers in it, ids, and text to be spelled: ("<think>",)."""
    some = tokens(format, vocabulary)
    stream: list[int] = []
    for piece in output:
        if isinstance(piece, tuple):
            stream += some.encode(piece[0].encode(), spelled=True)
        else:
            stream += [piece] if isinstance(piece, int) else some.encode(piece.encode())
    logs = []
    for pieces in pieces_of(stream):
        parser = hs.Parser(format, some.vocab, check_stops=False, **options)
        logs.append((run(parser, pieces), parser.deviations, parser.usage))
    assert [log for log in logs if log != logs[0]] == []
    return left(logs[0][0], parser)
