"""Reads the cases of corpus_tags/*.md; corpus_tags/README.md describes the format."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus_format import read_line, unescape
from reference import EventTuple
from tag_streams import Options

CORPUS = Path(__file__).resolve().parents[1] / "corpus_tags"


@dataclass(frozen=True)
class TagCase:
    """One input with one expected log."""

    name: str
    stream: bytes
    mode: str  # "both", "text" or "ids"
    options: Options
    log: list[EventTuple]  # without ranges, and without the message around it
    deviations: list[str]


def read_cases() -> Iterator[TagCase]:
    for path in sorted(CORPUS.glob("*.md")):
        if path.name == "README.md":
            continue
        for section in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            yield from read_section(section)


def read_section(section: str) -> Iterator[TagCase]:
    name = section.split(maxsplit=1)[0]
    blocks = re.findall(r"^```(\w+) ?([^\n]*)\n(.*?)\n?^```$", section, flags=re.M | re.S)
    kinds = [kind for kind, _, _ in blocks]
    assert kinds == ["stream", "log"] * (len(kinds) // 2) and kinds, f"{name}: {kinds}"
    for number, ((_, info, body), (_, _, log)) in enumerate(zip(blocks[::2], blocks[1::2])):
        yield read_case(name if len(kinds) == 2 else f"{name}.{number + 1}", info, body, log)


def read_case(name: str, info: str, body: str, log: str) -> TagCase:
    row, *words = shlex.split(info)
    options = dict(word.split("=", 1) for word in words)
    tools = options.pop("tools", None)
    mode = options.pop("mode", "both")
    lines = [line for line in log.splitlines() if line]
    return TagCase(
        name,
        unescape(body.replace("\n", "")),
        mode,
        Options(row, None if tools is None else tuple(filter(None, tools.split(","))), **options),  # type: ignore[arg-type]
        [read_tag_line(line) for line in lines if not line.startswith("deviation ")],
        [line.split()[1] for line in lines if line.startswith("deviation ")],
    )


def read_tag_line(line: str) -> EventTuple:
    kind, _, rest = line.partition(" ")
    if kind == "content":
        return ("ContentDelta", unescape(rest[1:-1]).decode(), None)
    if kind == "call":
        index, what, name, *ids = shlex.split(unescape(rest).decode())
        return ("ToolCallStart", int(index), name, ids[0] if ids else None, what)
    return read_line(line, ranges=False)
