"""Reads and writes the cases of corpus/*.md; corpus/README.md describes the format."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reference import EventTuple
from streams import token_ids

import harmonystream as hs

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|\{(.)\*(\d+)\}|(.))")
SIMPLE = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"'}


@dataclass(frozen=True)
class Case:
    """One input with one expected log."""

    name: str
    stream: bytes | list[int]
    mode: str  # "both", "text" or "ids"
    tools: list[str] | None
    start: str
    finish: str | None
    log: list[EventTuple]  # without ranges, unless `ranges`
    ranges: bool
    deviations: list[str] | None


def unescape(text: str) -> bytes:
    def replace(match: re.Match[str]) -> bytes:
        byte, char, repeated, times, simple = match.groups()
        if byte:
            return bytes.fromhex(byte)
        if char:
            return chr(int(char, 16)).encode()
        return repeated.encode() * int(times) if repeated else SIMPLE[simple]

    out, position = b"", 0
    for match in ESCAPE.finditer(text):
        out += text[position : match.start()].encode() + replace(match)
        position = match.end()
    return out + text[position:].encode()


def read_cases() -> Iterator[Case]:
    for path in sorted(CORPUS.glob("*.md")):
        if path.name == "README.md":
            continue
        for section in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            yield from read_section(section)


def read_section(section: str) -> Iterator[Case]:
    name = section.split(maxsplit=1)[0]
    blocks = re.findall(r"^```(\w+) ?([^\n]*)\n(.*?)\n?^```$", section, flags=re.M | re.S)
    kinds = [kind for kind, _, _ in blocks]
    assert kinds[1::2] == ["log"] * (len(kinds) // 2) and len(kinds) >= 2 and len(kinds) % 2 == 0, f"{name}: {kinds}"
    for number, ((kind, info, body), (_, _, log)) in enumerate(zip(blocks[::2], blocks[1::2])):
        yield read_case(name if len(kinds) == 2 else f"{name}.{number + 1}", kind, info, body, log)


def read_case(name: str, kind: str, info: str, body: str, log: str) -> Case:
    options: dict[str, str] = dict(word.split("=", 1) for word in shlex.split(info))
    tools = options.pop("tools", None)
    stream: bytes | list[int]
    if kind == "ids":
        stream, mode = [read_token(word) for word in re.findall(r'"(?:\\.|[^"\\])*"|\S+', body)], "ids"
    else:
        stream, mode = unescape(body.replace("\n", "")), options.pop("mode", "both")
    lines = [line for line in log.splitlines() if line]
    deviations = [line.split()[1] for line in lines if line.startswith("deviation ")]
    lines = [line for line in lines if not line.startswith("deviation ")]
    ranges = bool(re.match(r"\d+\.\.\d+ ", lines[0]))
    case = Case(
        name,
        stream,
        mode,
        None if tools is None else tools.split(",") if tools else [],
        options.pop("start", "auto"),
        options.pop("finish", None),
        read_log(lines, ranges),
        ranges,
        None if not deviations else [] if deviations == ["none"] else deviations,
    )
    assert not options, f"{name}: unknown options {options}"
    return case


def read_token(word: str) -> int:
    if word.isdigit():
        return int(word)
    if word.startswith('"'):
        return token_ids()[unescape(word[1:-1])]
    return hs.vocab.o200k_harmony().control[word]


def read_log(lines: list[str], ranges: bool) -> list[EventTuple]:
    log: list[EventTuple] = []
    message: EventTuple = ()
    for line in lines:
        event = read_line(line, ranges)
        if event[0] == "MessageStart":
            message = event[1:5]
        if event[0] == "MessageEnd":  # written without its fields, which are those of its start
            event = ("MessageEnd", *message, *event[1:])
        log.append(event)
    return log


def read_line(line: str, ranges: bool) -> EventTuple:
    span: tuple[int, ...] = ()
    if ranges:
        place, line = line.split(" ", 1)
        span = tuple(int(number) for number in place.split(".."))
    kind, _, rest = line.partition(" ")
    quoted = rest[rest.find('"') + 1 : -1]  # deltas end with their text
    if kind == "message":
        fields = [None if field == "-" else field for field in shlex.split(unescape(rest).decode())]
        return ("MessageEnd", *span) if fields == ["end"] else ("MessageStart", *fields, *span)
    if kind == "reasoning":
        return ("ReasoningDelta", unescape(quoted).decode(), *span)
    if kind.startswith("content["):
        channel = unescape(kind[len("content[") : -1]).decode()
        return ("ContentDelta", unescape(quoted).decode(), None if channel == "-" else channel, *span)
    words = shlex.split(unescape(rest).decode()) if kind != "args" else [rest.split(" ", 1)[0]]
    if kind == "call":
        return ("ToolCallStart", int(words[0]), words[2], None, words[1], *span)
    if kind == "args":
        return ("ToolCallDelta", int(words[0]), unescape(quoted).decode(), *span)
    if kind == "end":
        return ("ToolCallEnd", int(words[0]), words[1] == "complete", "not-json" not in words, *span)
    assert kind == "finish", line
    return ("StreamEnd", None if rest == "-" else rest, *span)
