"""Conservation: every word that is fed is in an event, or a deviation says what was repaired, or a call is incomplete.
Whatever markers and quotes are missing, doubled or swapped, no row drops a word silently.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import harmonystream as hs
from fuzz import rows, tag_seeds
from harmonystream.formats import format_of

Case = dict[str, Any]
EDIT = 3  # bytes of a payload: what is done, to which piece, with which other one
MOST_EDITS = 6
WORD = re.compile(rb"\b[A-Za-z]{3,}\b")
SKIPPED = re.compile(
    rb"\b(?:call|name|arguments|parameters|function|functions|type|true|false|null|None|True|False|json|xml)\b"
)
HARMONY = (
    b"<|channel|>analysis<|message|>why not<|end|><|start|>assistant<|channel|>commentary to=functions.f "
    b'<|constrain|>json<|message|>{"key": "value"}<|call|>',
    b'<|channel|>final<|message|>text "quoted" here<|return|>',
)
NAMES = ("harmony", *rows.BUILT_IN)
TOOLS = {"unknown": None, "declared": ["f"]}


def decode(options: bytes, payload: bytes) -> Case:
    row = NAMES[options[0] % len(NAMES)]
    texts = texts_of(row)
    edits = [tuple(payload[i : i + EDIT]) for i in range(0, len(payload) - EDIT + 1, EDIT)][:MOST_EDITS]
    return {
        "row": row,
        "text": edited(row, texts[(options[1] | options[2] << 8) % len(texts)], edits),
        "tools": tuple(TOOLS)[options[3] % 2],
        "reason": (None, "stop", "length")[options[4] % 3],
    }


@cache
def texts_of(row: str) -> tuple[bytes, ...]:
    return HARMONY if row == "harmony" else tuple(text.encode() for text in tag_seeds.texts(format_of(row)))


@cache
def markers_of(row: str) -> list[bytes]:
    spelled = hs.vocab.o200k_harmony().control if row == "harmony" else rows.spellings(format_of(row))  # type: ignore[arg-type]
    return sorted((name.encode() for name in spelled if name.strip()), key=len, reverse=True)


def edited(row: str, text: bytes, edits: list[tuple[int, ...]]) -> bytes:
    """The stream with unique words in place of others, and markers and quotes dropped, doubled or swapped."""
    markers = markers_of(row)
    parts = re.split(b"(" + b"|".join(map(re.escape, [*markers, b'"'])) + b")", text)  # markup is at odd places
    odd = range(1, len(parts), 2)
    for number, (what, where, other) in enumerate(edits):
        if not odd:
            break
        at, to = odd[where % len(odd)], odd[other % len(odd)]
        if what % 6 == 0:
            parts[at] = b""
        elif what % 6 == 1:
            parts[at] *= 2
        elif what % 6 == 2:
            parts[at], parts[to] = parts[to], parts[at]
        elif what % 6 == 3:
            parts[at] = markers[other % len(markers)]
        else:
            near = parts[at - 1 if what & 8 else at + 1]
            made = b" word%c " % (65 + number) if what & 16 else b"word%c" % (65 + number)
            parts[at - 1 if what & 8 else at + 1] = near + made if what & 32 else made + near
    return b"".join(parts)


def check(row: str, text: bytes, tools: str, reason: str | None) -> None:
    parser = hs.Parser(row, tools=TOOLS[tools])
    events = [*parser.feed_text(text), *parser.finish(reason)]
    if parser.deviation_count or any(isinstance(event, hs.ToolCallEnd) and not event.complete for event in events):
        return
    lost = missing(row, text, events)
    assert not lost, (row, text, lost, events)


def missing(row: str, text: bytes, events: list[hs.Event]) -> list[str]:
    """The words of the text, outside of markers, that no event has."""
    rest = re.sub(b"|".join(map(re.escape, markers_of(row))), b"\0", text)
    words = {
        word.decode() for word in WORD.findall(SKIPPED.sub(b"\0", rest)) if b"function" not in word
    }  # a call's kind
    said = "\0".join(repr(hs.events.asdict(event)) for event in events if not isinstance(event, hs.StreamEnd))
    return sorted(word for word in words if word not in said)
