"""Streams of the tag formats, in tokens and as text, in blocks of which 64 make the long one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import harmonystream as hs
from bench import streams as harmony
from bench.rivals import families
from bench.rivals import streams as calls
from harmonystream.formats import Format, format_of

NAMES = tuple(name for name in hs.formats() if name != "harmony")
BLOCKS = 64
USUAL = 1024  # tokens in a block
CHUNK, LITTLE = 64, 4  # ids in a call of `feed`, characters in one of `feed_text`

PARAMETERS = {"content": {"type": "string"}, "o": {"type": "object"}, "n": {"type": ["null", "string"]}}
TOOL = {
    "type": "function",
    "function": {"name": "write_file", "parameters": {"type": "object", "properties": PARAMETERS}},
}

SEARCH = families.OF_FORMAT["deepseek"]._replace(format="deepseek_search")
FAMILIES = {**families.OF_FORMAT, "deepseek_search": SEARCH}
# Markers of the rows that no rival's stream has, but the families' tokenizers do. True: special there.
MORE = {"<｜search▁begin｜>": False, "<｜search▁end｜>": False, "<|EOT|>": True, "[EOS]": True, "<|im_system|>": True}
ADDED = {**families.ADDED, **MORE}
ADDED_IDS = {**families.ADDED_IDS, **{text: 201_000 + at for at, text in enumerate(MORE)}}
ONE_TOKEN = re.compile("|".join(map(re.escape, ADDED_IDS)))


@cache
def vocab() -> hs.Vocab:
    """o200k_base and the families' markers, one token each: special where the model's is."""
    o200k = hs.vocab.o200k_harmony()
    tokens = {tid: o200k.token_bytes(tid) for tid in range(families.FIRST_ADDED)}
    tokens |= {ADDED_IDS[text]: text.encode() for text, special in ADDED.items() if not special}
    return hs.vocab.from_bytes(tokens, {text: ADDED_IDS[text] for text, special in ADDED.items() if special})


@cache
def byte_ids() -> tuple[int, ...]:
    """The token of each byte: they are the first."""
    own = vocab()
    of_byte = {own.token_bytes(tid): tid for tid in range(256)}
    return tuple(of_byte[bytes([byte])] for byte in range(256))


def smallest_ids(text: str) -> list[int]:
    """The most tokens that text can have: one for each byte, and for each marker that is a token."""
    ids: list[int] = []
    at = 0
    for found in ONE_TOKEN.finditer(text):
        ids += [byte_ids()[byte] for byte in text[at : found.start()].encode()]
        ids.append(ADDED_IDS[found[0]])
        at = found.end()
    return ids + [byte_ids()[byte] for byte in text[at:].encode()]


def pieces_of(text: str) -> list[str]:
    return [text[at : at + LITTLE] for at in range(0, len(text), LITTLE)]


@dataclass(frozen=True)
class Stream:
    """What `feed` gets, or `feed_text`: `before`, `blocks`, `after`. Only the last two are timed.

    A short stream has `per` of the blocks, a long one all. `sizes`: tokens, or pieces of text, in the blocks and in
    `after`. `nested` is a short stream where the first half of the blocks opens what the second closes.
    """

    format: str
    text: bool
    before: Any
    blocks: Sequence[Sequence[Any]]
    after: Sequence[Any]
    sizes: tuple[int, int]
    per: int = 1
    start: str = "content"
    nested: Sequence[Any] | None = None

    def of(self, at: int, per: int) -> Sequence[Sequence[Any]]:
        """The blocks of a stream: `per` of them, from this one."""
        whole = per == BLOCKS or self.nested is None
        return self.blocks[at : at + per] if whole else [self.nested or ()] * per

    def parser(self) -> hs.Parser:
        if self.format == "harmony":
            return hs.Parser()
        return hs.Parser(self.format, None if self.text else vocab(), tools=[TOOL], start=self.start)

    def tokens(self, streams: int) -> int:
        """That are timed when the blocks make so many streams."""
        return self.sizes[0] + self.sizes[1] * streams


def of_tokens(format: str, before: list[int], block: list[int], after: list[int], start: str = "content") -> Stream:
    return Stream(format, False, before, [block] * BLOCKS, after, (BLOCKS * len(block), len(after)), start=start)


def in_chunks(stream: Stream) -> Stream:
    """The same, fed CHUNK ids at a time."""

    def cut(ids: Sequence[int]) -> list[Sequence[int]]:
        return [ids[at : at + CHUNK] for at in range(0, len(ids), CHUNK)]

    return replace(stream, blocks=[cut(stream.blocks[0])] * BLOCKS, after=cut(stream.after))


def content(format: str, n: int = USUAL) -> Stream:
    """English text, and nothing else. n: tokens in a block."""
    block, _ = calls.first_ids(calls.prose(), n, escaped=False)
    return of_tokens(format, [], block, [])


def harmony_content(n: int = USUAL) -> Stream:
    """The same text in Harmony's final message."""
    block, _ = calls.first_ids(calls.prose(), n, escaped=False)
    return of_tokens("harmony", harmony.marked_ids(harmony.FINAL), block, [])


def call(format: str, n: int = USUAL) -> Stream:
    """A call whose one string is source code; of a model without calls, English reasoning."""
    family = FAMILIES[format]
    if family.format == "think":
        block, _ = calls.first_ids(calls.prose(), n, escaped=False)
        return of_tokens(format, [], block, calls.marked_ids(family.after), start="reasoning")
    block, _ = calls.first_ids(calls.code(), n, family.json)
    return of_tokens(format, calls.marked_ids(family.before), block, calls.marked_ids(family.after))


def body_of(stream: Stream) -> Stream:
    """Without the end, whose cost is a constant, as the opening's is."""
    return replace(stream, after=[], sizes=(stream.sizes[0], 0))


def text_stream(format: str, in_call: bool, n: int = USUAL) -> Stream:
    """The text of `content` or `call`, in pieces of LITTLE characters."""
    made = call(format, n) if in_call else content(format, n)
    before, block, after = ("".join(map(calls.text_of, ids)) for ids in (made.before, made.blocks[0], made.after))
    pieces = pieces_of(block)
    return Stream(format, True, before, [pieces] * BLOCKS, pieces_of(after), (BLOCKS * len(pieces), 1))


# --- writing --------------------------------------------------------------------------------------------------------


def first(marker: str | tuple[str, ...]) -> str:
    return marker if isinstance(marker, str) else marker[0]


class Writer:
    """What a row's model writes, from the row itself; "" for what its format does not have."""

    def __init__(self, format: str) -> None:
        row = format_of(format)
        assert isinstance(row, Format)
        self.row = row
        self.think, self.think_end = map(first, row.think or ("", ""))
        self.section, self.section_end = map(first, row.section or ("", ""))
        self.opener, self.name_end, self.closer = map(first, row.call or ("", "", ""))
        self.key, self.key_end, self.value, self.value_end = map(first, row.pair or ("", "", "", ""))
        self.outer, self.outer_end = (self.section, self.section_end) if row.section else (self.opener, self.closer)
        self.head = f"{self.opener}write_file{self.name_end}"

    def pair(self, key: str) -> str:
        """The beginning of a value; of a string where the key's end says so."""
        ends = {kind: end for end, kind in self.row.typed.items()}
        end = ends.get("string" if key == "content" else "json", self.key_end)
        return f"{self.key}{key}{end}{self.value}"


@dataclass(frozen=True)
class Case:
    """A worst case: `unit` over and over, between `before` and `after`.

    `units` says how many make the long stream; None: so many that it has 64k tokens, or
    characters of text. `capped`: what is looked at may be 1,024 bytes, and a stream of 1k ends before that, so the
    short stream has 8k. A "{}" in the unit is a number. `mirror` closes what a unit opens: half of the stream each.
    """

    name: str
    before: str
    unit: str
    after: str = ""
    units: int | None = None
    capped: bool = False
    only_text: bool = False
    mirror: str = ""

    def stream(self, format: str, text: bool, n: int = USUAL) -> Stream:
        """As text; or in the smallest tokens, in common ones for `units`, which are long. n: tokens in a block."""

        def cut(part: str) -> list[Any]:
            whole = smallest_ids if self.units is None else calls.marked_ids
            return list(pieces_of(part)) if text else whole(part)

        size = len(self.unit) if text else len(smallest_ids(self.unit))
        each = max(2, n // size if self.units is None else self.units * n // USUAL // BLOCKS + 1)
        nested = None
        if "{}" in self.unit:
            units = [self.unit.replace("{}", str(k)) for k in range(each * BLOCKS)]
            blocks = [cut("".join(units[at : at + each])) for at in range(0, len(units), each)]
        else:
            blocks = [cut(self.unit * each)] * BLOCKS
        if self.mirror:
            blocks[BLOCKS // 2 :] = [cut(self.mirror * each)] * (BLOCKS // 2)
            nested = cut(self.unit * (each // 2) + self.mirror * (each // 2))
        before, after = self.before if text else cut(self.before), cut(self.after)
        sizes = sum(map(len, blocks)), len(after)
        return Stream(format, text, before, blocks, after, sizes, 8 if self.capped else 1, nested=nested)
