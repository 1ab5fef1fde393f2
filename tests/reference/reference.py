"""A slow, obvious interpreter of docs/harmony.md, the oracle for the native machine.

It reads a whole stream, byte by byte, keeps everything it has read, and decodes a message only when it is over. Section
numbers refer to docs/harmony.md. Headers are read in reference_header.py (section 3), reference_headerless.py and
reference_unmarked.py (section 5). Nothing here is shared with the native code.

The result of `interpret` is what a replay of the native parser must give after merging: events as tuples (class name,
fields…, start, stop), the region of every item, and the sizes of the regions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field

from reference_header import BUILTINS, Header, Opening, Symbol, resolve
from reference_headerless import read_headerless
from reference_unmarked import still_looks_like_a_role_part

TERMINATORS = ("end", "call", "return")
NORMAL_STOPS = ("stop", "tool_calls", "function_call")
HEADER_CAP = 256
ASCII_WHITESPACE = b"\t\n\v\f\r "
REGIONS = ("start", "header", "reasoning", "content", "arguments", "suppressed", "done")

EventTuple = tuple[str | int | bool | None, ...]


@dataclass(frozen=True)
class Item:
    """One token, or in text mode one byte or one spelled marker; `start` and `stop` are its position in the stream."""

    kind: str  # "text", "marker", "inert" or "unknown"
    data: bytes  # the bytes of a text item, the name of a marker (b"start")
    start: int
    stop: int


@dataclass
class Result:
    events: list[EventTuple]
    regions: list[str]
    usage: dict[str, int]


@dataclass
class Message:
    """An open message: what its header said, and the bytes of its body with the tokens they came from."""

    opening: Opening
    kind: str  # "reasoning", "content", "arguments" or "suppressed": section 4, and the region of its body
    call: tuple[str, str] | None  # name and kind
    start: int
    start_stop: int = 0
    body: list[Symbol] = field(default_factory=list)


@dataclass
class Machine:
    """Section 2. `tools` is None if unknown. `prefix` is what the prompt has already written: None for the usual
    <|start|>assistant, which leaves the machine in a header whose role is preset."""

    tools: Sequence[str] | None = None
    empty_args: str = "{}"
    prefix: InitVar[Sequence[Item] | None] = None
    state: str = "HEADER"
    header: Header = field(default_factory=lambda: Header(role_open=False, start=0))
    message: Message | None = None
    events: list[EventTuple] = field(default_factory=list)
    regions: dict[int, str] = field(default_factory=dict)
    calls: list[bool] = field(default_factory=list)  # of each call: was it complete?
    over: bool = False  # the last thing read was a terminator or <|endoftext|>

    def __post_init__(self, prefix: Sequence[Item] | None) -> None:
        if prefix is None:
            return
        self.state = "START"
        for item in prefix:
            self.read(Item(item.kind, item.data, 0, 0))
        self.events, self.regions, self.calls, self.over = [], {}, [], False
        if self.message:
            self.announce(0, 0)

    @property
    def region(self) -> str:
        """Where the next token would land."""
        return self.message.kind if self.message else self.state.lower()

    # -- section 2: the states ---------------------------------------------------------------------------------------

    def read(self, item: Item) -> None:
        if self.state == "DONE":
            self.regions[item.start] = "done"
        elif item.kind in ("text", "unknown"):
            data = "\N{REPLACEMENT CHARACTER}".encode() if item.kind == "unknown" else item.data
            for byte in data:
                self.read_byte(Symbol("byte", byte, item.start, item.stop))
        else:
            self.regions[item.start] = "header"
            name = "inert" if item.kind == "inert" else item.data.decode()
            self.read_control(Symbol(name, 0, item.start, item.stop))

    def read_byte(self, byte: Symbol) -> None:
        if self.state == "START" and byte.value in ASCII_WHITESPACE:
            self.regions[byte.start] = "start"
            return
        self.over = False
        if self.state == "START":
            self.open_header(Header(role_open=False, start=byte.start))
        if self.state == "HEADER" and self.header.size == HEADER_CAP:
            self.end_header_at_cap(byte)
        if self.state == "HEADER":
            fits = still_looks_like_a_role_part(self.header, byte, self.tools)
            self.regions[byte.start] = "header"
            self.header.add(byte)
            if not fits:
                self.end_header_at_cap(byte)
        else:
            self.add_to_body([byte])

    def read_control(self, mark: Symbol) -> None:
        if self.state == "HEADER":
            self.read_control_in_header(mark)
        elif self.state == "BODY":
            self.read_control_in_body(mark)
        elif mark.kind == "start":
            self.open_header(Header(role_open=True, start=mark.start))
        elif mark.kind == "endoftext":
            self.state = "DONE"
        elif mark.kind in ("channel", "constrain", "message"):  # in START: an implicit header, and it is read there
            self.open_header(Header(role_open=False, start=mark.start))
            self.read_control_in_header(mark)
        if mark.kind in TERMINATORS or mark.kind == "endoftext":
            self.over = True
        elif mark.kind != "inert":
            self.over = False

    def read_control_in_header(self, mark: Symbol) -> None:
        if mark.kind in ("channel", "constrain", "inert"):
            if self.header.size == HEADER_CAP:
                self.end_header_at_cap(mark)
            elif mark.kind == "inert" and not still_looks_like_a_role_part(self.header, mark, self.tools):
                self.end_header_at_cap(mark)
            if self.state == "HEADER":
                self.header.add(mark)
            else:
                self.read_control_in_body(mark)
        elif mark.kind == "message":
            self.open_message(resolve(self.header, self.tools), self.header.start, mark.stop)
        else:
            self.abandon_header("start" if mark.kind == "start" else "terminator", mark)
            if mark.kind == "start":
                self.open_header(Header(role_open=True, start=mark.start))
            else:
                self.state = "DONE" if mark.kind == "endoftext" else "START"

    def read_control_in_body(self, mark: Symbol) -> None:
        if mark.kind in TERMINATORS:
            self.close_message(mark.start, mark.stop)
            self.state = "START"
        elif mark.kind == "endoftext":
            self.close_message(mark.start, mark.stop)
            self.state = "DONE"
        elif mark.kind == "start":
            self.close_message(mark.start, mark.start)
            self.open_header(Header(role_open=True, start=mark.start))
        elif mark.kind == "channel":
            self.close_message(mark.start, mark.start)
            self.open_header(Header(role_open=False, start=mark.start))
            self.header.add(mark)
        elif self.message:
            self.message.body.append(mark)  # <|message|>, <|constrain|>, inert: dropped, but cuts a character

    def open_header(self, header: Header) -> None:
        self.header = header
        self.state = "HEADER"

    # -- section 4: messages ------------------------------------------------------------------------------------------

    def open_message(self, opening: Opening, start: int, stop: int) -> None:
        kind, call = self.classify(opening)
        self.message = Message(opening, kind, call, start)
        self.state = "BODY"
        self.announce(start, stop)

    def announce(self, start: int, stop: int) -> None:
        assert self.message
        self.events.append(("MessageStart", *self.message.opening, start, stop))
        if self.message.call:
            name, kind = self.message.call
            self.events.append(("ToolCallStart", len(self.calls), name, None, kind, stop, stop))

    def classify(self, opening: Opening) -> tuple[str, tuple[str, str] | None]:
        to = opening.recipient
        if opening.role != "assistant":
            return "suppressed", None
        no_tools = self.tools is not None and not self.tools
        if to is None or to in ("assistant", "functions.") or to.startswith("<|") or no_tools:
            return ("reasoning" if opening.channel == "analysis" else "content"), None
        if to.startswith("functions."):
            return "arguments", (to.removeprefix("functions."), "function")
        if self.tools and to in self.tools:
            return "arguments", (to, "function")
        if to.split(".")[0] in BUILTINS:
            return "arguments", (to, "builtin")
        return "arguments", (to, "other" if self.tools else "function")

    def add_to_body(self, symbols: Iterable[Symbol]) -> None:
        assert self.message
        for symbol in symbols:
            if symbol.start == symbol.stop:
                continue  # the prompt wrote it, so it is no output
            self.message.body.append(symbol)
            if symbol.kind == "byte":
                self.regions[symbol.start] = self.message.kind

    def close_message(self, start: int, stop: int, complete: bool | None = True) -> None:
        """`complete` None: the stream is over and the engine gave no reason, so balanced arguments decide."""
        assert self.message
        message, self.message = self.message, None
        text = decode(message.body)
        if text and message.kind != "suppressed":
            tokens = [symbol for symbol in message.body if symbol.kind == "byte"]
            self.events.append((*self.delta(message, text), tokens[0].start, tokens[-1].stop))
        if message.call:
            if complete is None:
                complete = is_balanced_json(text)
            if complete and not text and self.empty_args:
                text = self.empty_args
                self.events.append(("ToolCallDelta", len(self.calls), text, start, start))
            self.events.append(("ToolCallEnd", len(self.calls), complete, is_balanced_json(text), start, start))
            self.calls.append(complete)
        self.events.append(("MessageEnd", *message.opening, start, stop))
        if message.kind == "suppressed":  # its header and terminator are not the assistant's either
            self.regions |= {at: "suppressed" for at in self.regions if message.start <= at < stop}

    def delta(self, message: Message, text: str) -> EventTuple:
        if message.kind == "arguments":
            return ("ToolCallDelta", len(self.calls), text)
        if message.kind == "reasoning":
            return ("ReasoningDelta", text)
        return ("ContentDelta", text, message.opening.channel)

    # -- section 5: headers without <|message|> ----------------------------------------------------------------------

    def end_header_at_cap(self, following: Symbol) -> None:
        opening, body = read_headerless(self.header, "cap", self.tools)
        self.open_message(opening, self.header.start, first_byte(body, following).start)
        self.add_to_body(body)

    def abandon_header(self, how: str, mark: Symbol) -> None:
        """`how`: by a "terminator" (or <|endoftext|>), by "start", or by the end of the stream ("finish")."""
        opening, body = read_headerless(self.header, how, self.tools)
        worth_it = how == "terminator" and (opening.channel or opening.recipient or opening.role != "assistant")
        if body or worth_it:
            self.open_message(opening, self.header.start, first_byte(body, mark).start)
            self.add_to_body(body)
            if how != "finish":
                self.close_message(mark.start, mark.stop if how == "terminator" else mark.start)

    # -- section 6: the end -------------------------------------------------------------------------------------------

    def finish(self, reason: str | None, total: int) -> None:
        if self.state == "HEADER":
            self.abandon_header("finish", Symbol("finish", 0, total, total))
        cut = False
        if self.message:
            is_call = self.message.call
            self.close_message(total, total, None if reason is None else reason in NORMAL_STOPS)
            cut = bool(is_call) and not self.calls[-1] and reason not in NORMAL_STOPS
        if reason is not None and reason not in NORMAL_STOPS:
            outcome: str | None = reason
        elif self.calls and not cut:
            outcome = "tool_calls"
        elif reason is not None or self.over:
            outcome = "stop"
        else:
            outcome = None
        self.events.append(("StreamEnd", outcome, total, total))


def interpret(
    items: Sequence[Item],
    *,
    tools: Sequence[str] | None = None,
    prefix: Sequence[Item] | None = None,
    finish: str | None = None,
    empty_args: str = "{}",
) -> Result:
    """Run a whole stream."""
    machine = Machine(tools, empty_args, prefix)
    for item in items:
        machine.read(item)
    machine.finish(finish, items[-1].stop if items else 0)
    regions = [machine.regions[item.start] for item in items]
    usage = dict.fromkeys(REGIONS, 0)
    for item, region in zip(items, regions):
        usage[region] += item.stop - item.start
    return Result(machine.events, regions, usage)


def first_byte(body: Iterable[Symbol], otherwise: Symbol) -> Symbol:
    return next((symbol for symbol in body if symbol.kind == "byte"), otherwise)


def decode(body: Iterable[Symbol]) -> str:
    """Section 1: each run of bytes between control tokens is decoded alone, so an incomplete character ends there."""
    runs = [bytearray()]
    for symbol in body:
        if symbol.kind == "byte":
            runs[-1].append(symbol.value)
        else:
            runs.append(bytearray())
    return "".join(run.decode("utf-8", "replace") for run in runs)


def is_balanced_json(text: str) -> bool:
    """One JSON value as far as strings and nesting go; what stands between the brackets is not examined."""
    text = text.strip(" \t\n\r")
    if not text.startswith(("{", "[", '"')):
        return re.fullmatch(r"true|false|null|-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", text) is not None
    depth = 0
    in_string = escaped = False
    for position, char in enumerate(text):
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
        if depth == 0 and not in_string:
            return position == len(text) - 1
    return False
