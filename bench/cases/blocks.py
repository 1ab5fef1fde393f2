"""Streams of the tag formats in blocks. Each block is a short stream, and 64 blocks make the long one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import harmonystream as hs
from bench import streams
from bench.clock import BLOCKS
from bench.families import OF_FORMAT, tool
from harmonystream.formats import Format, format_of

USUAL = 1024  # tokens in a block
CHUNK, LITTLE = 64, 4  # ids in a call of `feed`, characters in one of `feed_text`
TOOL = tool(content={"type": "string"}, o={"type": "object"}, n={"type": ["null", "string"]})
FAMILIES = {
    **OF_FORMAT,
    "deepseek_search": OF_FORMAT["deepseek"]._replace(format="deepseek_search"),
    "mimo": OF_FORMAT["qwen3_coder"]._replace(
        format="mimo",
        before="<tool_call><function=write_file><parameter=content>",
        after="</parameter></function></tool_call>",
    ),
}
NAMES = tuple(name for name in hs.formats.names() if name in FAMILIES)


def pieces_of(text: str) -> list[str]:
    return [text[at : at + LITTLE] for at in range(0, len(text), LITTLE)]


@dataclass(frozen=True)
class Blocks:
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
        return hs.Parser(self.format, None if self.text else streams.vocab(), tools=[TOOL], start=self.start)

    def opened(self) -> Any:
        """Reads one piece of the first block's."""
        parser = self.parser()
        feed = parser.feed_text if self.text else parser.feed
        feed(self.before)
        return feed

    def tokens(self, count: int) -> int:
        """How many are timed when the blocks make so many streams."""
        return self.sizes[0] + self.sizes[1] * count


def of_tokens(format: str, before: list[int], block: list[int], after: list[int], start: str = "content") -> Blocks:
    return Blocks(format, False, before, [block] * BLOCKS, after, (BLOCKS * len(block), len(after)), start=start)


def in_chunks(stream: Blocks) -> Blocks:
    """The same, fed CHUNK ids at a time."""

    def cut(ids: Sequence[int]) -> list[Sequence[int]]:
        return [ids[at : at + CHUNK] for at in range(0, len(ids), CHUNK)]

    return replace(stream, blocks=[cut(stream.blocks[0])] * BLOCKS, after=cut(stream.after))


def content(format: str, n: int = USUAL) -> Blocks:
    """English text, and nothing else; in Harmony a final message. n: tokens in a block."""
    before = streams.harmony_ids(streams.FINAL) if format == "harmony" else []
    return of_tokens(format, before, streams.prose_block(n)[0], [])


def call(format: str, n: int = USUAL) -> Blocks:
    """A call whose one string is source code; of a model without calls, English reasoning."""
    family = FAMILIES[format]
    reasons = family.format == "think"
    block, _ = streams.prose_block(n) if reasons else streams.code_block(n, family.json)
    before, after = streams.marked_ids(family.before), streams.marked_ids(family.after)
    return of_tokens(format, before, block, after, start="reasoning" if reasons else "content")


def body_of(stream: Blocks) -> Blocks:
    """Without the end, whose cost is a constant, as the opening's is."""
    return replace(stream, after=[], sizes=(stream.sizes[0], 0))


def as_text(stream: Blocks) -> Blocks:
    """The text of a stream of tokens, in pieces of LITTLE characters."""
    parts = stream.before, stream.blocks[0], stream.after
    before, block, after = ("".join(map(streams.text_of, ids)) for ids in parts)
    pieces = pieces_of(block)
    sizes = BLOCKS * len(pieces), 1
    return replace(stream, text=True, before=before, blocks=[pieces] * BLOCKS, after=pieces_of(after), sizes=sizes)


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
class Repeated:
    """A worst case: `unit` over and over, between `before` and `after`.

    `units`: how many make the long stream; None for 64k tokens, or characters of text. `capped`: the parser may look
    at 1,024 bytes, and a stream of 1k ends before that, so the short stream has 8k. A "{}" in the unit is a number.
    `mirror` closes what a unit opens: half of the stream each.
    """

    name: str
    before: str
    unit: str
    after: str = ""
    units: int | None = None
    capped: bool = False
    only_text: bool = False
    mirror: str = ""

    def stream(self, format: str, text: bool, n: int = USUAL) -> Blocks:
        """As text; or in the smallest tokens, in common ones for `units`, which are long. n: tokens in a block."""

        def cut(part: str) -> list[Any]:
            whole = streams.smallest_ids if self.units is None else streams.marked_ids
            return list(pieces_of(part)) if text else whole(part)

        size = len(self.unit) if text else len(streams.smallest_ids(self.unit))
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
        return Blocks(format, text, before, blocks, after, sizes, 8 if self.capped else 1, nested=nested)
