"""Events for people and for pipes: `Show` paints them in a terminal or as plain text, `json_line` writes one per line.

What a model wrote is untrusted. Control characters in it are shown, never sent; and it is always indented, so that no
text can pass for one of our headings.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from .._native.stream.parser import Parser
from ..deviations import EXPECTED
from ..events import (
    ContentDelta,
    Event,
    MessageEnd,
    MessageStart,
    ReasoningDelta,
    StreamEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    asdict,
)

__all__ = ["Show", "json_line", "painter", "repairs", "visible", "wrapped"]

Write = Callable[[str, str], None]  # text, and its kind: a key of STYLES

# The colours of the terminal's own palette, which its owner has chosen to be legible.
STYLES = {
    "": "none",
    "reasoning": "dim",
    "preamble": "cyan",
    "content": "none",
    "call": "bold yellow",
    "arguments": "yellow",
    "suppressed": "dim magenta",
    "heading": "bold",
    "note": "dim",
    "good": "green",
    "bad": "bold red",
}

INDENT = "  "
CALL = "call"

# C0 but newline and tab, DEL, C1; and the marks that change the direction of what follows them
_CONTROLS = [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_VISIBLE = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROLS}
_VISIBLE_JSON = {code: f"\\u{code:04x}" for code in _CONTROLS}
_WORDS = re.compile(r"\n|[^\S\n]+|\S+")
_LINE = re.compile(r"^(?=.)", re.MULTILINE)


def visible(text: str) -> str:
    """Control characters as escapes: nothing in the result moves a cursor or changes a terminal."""
    return text.translate(_VISIBLE)


def json_line(event: Event, **more: Any) -> str:
    """The event as one line of JSON: more fields, its type, and its own."""
    return json.dumps({**more, **asdict(event)}, ensure_ascii=False).translate(_VISIBLE_JSON) + "\n"


def painter(out: TextIO, colour: bool) -> Write:
    """Writes text of a kind to `out`, at once. Raises `ImportError` if colour is wanted and rich is not installed."""
    if not colour:

        def write_plain(text: str, kind: str) -> None:
            out.write(text)
            out.flush()

        return write_plain

    from rich.color import ColorSystem
    from rich.style import Style

    styles = {kind: Style.parse(style) for kind, style in STYLES.items()}

    def write(text: str, kind: str) -> None:
        out.write(styles[kind].render(text, color_system=ColorSystem.STANDARD))
        out.flush()

    return write


def _cells(char: str) -> int:
    """How many columns a character takes; emoji sequences are counted by their parts, so a line may end early."""
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def wrapped(text: str, column: int, width: int) -> tuple[str, int]:
    """`text` with line breaks put in, and the column after it. Streams: it needs to know nothing but the column."""
    out: list[str] = []
    for word in _WORDS.findall(text):
        if word == "\n":
            out.append(word)
            column = 0
            continue
        word = word.expandtabs(4)
        cells = [_cells(char) for char in word]
        if column + sum(cells) > width and word.isspace():
            column = width  # the break takes its place
            continue
        if column + sum(cells) > width and sum(cells) <= width // 2:
            out.append("\n")
            column = 0
        for char, size in zip(word, cells):  # a long word, or a script without spaces, is broken where it must
            if column + size > width:
                out.append("\n")
                column = 0
            out.append(char)
            column += size
    return "".join(out), column


class Show:
    """Paints the events of streams as they come. `width`: the terminal's; None: lines are as the model wrote them."""

    def __init__(self, write: Write, width: int | None = None) -> None:
        self._write = write
        self._width = width - len(INDENT) if width is not None and width > 20 else None
        self._column = 0
        self._fresh = True  # at the beginning of a line
        self._message: MessageStart | None = None
        self._heading: str | None = None  # the heading above the lines that are being written
        self._reason: str | None = None

    def add(self, event: Event) -> None:
        match event:
            case ReasoningDelta(text=text):
                self._body("reasoning", "reasoning", text)
            case ContentDelta(text=text, channel=channel):
                kind = "preamble" if channel == "commentary" else "content"
                self._body(kind, self._content_heading(channel), text)
            case ToolCallDelta(arguments=text):
                self._body("arguments", CALL, text)
            case MessageStart():
                self._message, self._heading = event, None
            case ToolCallStart():
                self._call(event)
            case ToolCallEnd():
                self._end_call(event)
            case MessageEnd():
                self._end_message(event)
            case StreamEnd(reason=reason):
                self._reason = reason

    def line(self, text: str = "", kind: str = "") -> None:
        """A line of our own, from the left edge; without text only what was begun is ended."""
        if not self._fresh:
            self._write("\n", "")
        if text:
            self._write(visible(text), kind)
            self._write("\n", "")
        self._fresh, self._column = True, 0

    def quote(self, heading: str, text: str) -> None:
        """Text from a tool or another person."""
        self.line(heading, "heading")
        self._heading = heading
        self._body("note", heading, text)

    def gap(self) -> None:
        """An empty line."""
        self.line()
        self._write("\n", "")

    def summary(self, parser: Parser, unit: str) -> None:
        """How the stream ended, what it cost and what was repaired. `unit`: tokens, or bytes of text."""
        reason = self._reason if self._reason is not None else "unknown (nothing shows that the model had finished)"
        self.gap()
        self.line(f"finish: {reason}", "good" if self._reason in ("stop", "tool_calls") else "bad")
        usage = parser.usage
        regions = ", ".join(f"{count} {name}" for name, count in usage._asdict().items() if count)
        self.line(f"{unit}: {usage.total}" + (f" ({regions})" if regions else ""), "note")
        if parser.deviation_count:
            self.line(f"deviations: {parser.deviation_count}", "bad")
        for repair in repairs(parser):
            self.line(INDENT + repair, "note")

    def _body(self, kind: str, heading: str, text: str) -> None:
        if heading != self._heading:
            if self._heading is not None:  # then the heading parts the texts, and no newline need do it
                text = text.lstrip("\n")
            if not text:
                return
            self.line(heading, "heading")
            self._heading = heading
        text = visible(text)
        if self._width is not None:
            text, self._column = wrapped(text, self._column, self._width)
        if not text:
            return
        lines = _LINE.sub(INDENT, text)
        if not self._fresh and not text.startswith("\n"):
            lines = lines.removeprefix(INDENT)
        self._fresh = text.endswith("\n")  # before writing, which an interrupt may cut short
        self._write(lines, kind)

    def _content_heading(self, channel: str | None) -> str:
        message = self._message
        name = {"final": "answer", "commentary": "preamble", None: "content"}.get(channel, f"content on {channel}")
        return f"{name} ({message.content_type})" if message and message.content_type else name

    def _call(self, call: ToolCallStart) -> None:
        kind = f" ({call.kind})" if call.kind != "function" else ""
        self.line(f"call {call.index}: {call.name}{kind}" + (f", id {call.id}" if call.id else ""), "call")
        self._heading = CALL

    def _end_call(self, end: ToolCallEnd) -> None:
        state = "complete" if end.complete else "not complete"
        json_note = "" if end.balanced else "; its arguments are not one JSON value"
        self.line(f"call {end.index} is {state}{json_note}", "good" if end.complete else "bad")

    def _end_message(self, end: MessageEnd) -> None:
        self.line()
        if end.role != "assistant":
            self.line(f"suppressed: a message of {end.role}", "suppressed")
        elif self._heading is None:
            self.line(f"empty message on channel {end.channel}" if end.channel else "empty message", "note")


def repairs(parser: Parser) -> Iterator[str]:
    """The repairs, a line for each deviation that the parser has kept."""
    for code, position in parser.deviations:
        yield f"{code} at {position}" + (f": expected {EXPECTED[code]}" if code in EXPECTED else "")
    if parser.deviation_count > len(parser.deviations):
        yield f"and {parser.deviation_count - len(parser.deviations)} more"
