"""Streams of the tag formats: vocabularies and tokenisations, what they mean to the reference, and replays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from reference import EventTuple, Item
from reference_tags import MAX_HOLD, TagResult, interpret_tags
from reference_tags_text import can_be_control, spellings_of
from streams import as_tuple, merge

import harmonystream as hs
from harmonystream.formats import Format, format_of

TAG_FORMATS = tuple(name for name in hs.formats.names() if name != "harmony")

# The long random suites run for these, which differ in how calls are written; test_rows.py runs for each row.
SHAPES = (
    *("hermes", "qwen3_coder", "mimo", "deepseek", "dsml", "kimi_k2", "glm", "think"),
    *("longcat", "mistral", "llama3", "cohere", "pythonic", "olmo3", "gemma4", "k2_horizon", "minimax_m3"),
    "minicpm5",
)
KEPT = 16  # deviations that a parser keeps
VOCABULARIES = ("added", "ordinary", "plain")

PARAMETERS: dict[str, Any] = {
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "n": {"type": "number"},
    "b": {"type": "boolean"},
    "o": {"type": "object"},
    "l": {"type": "array"},
    "u": {"type": ["integer", "null"]},
    "su": {"type": ["string", "null"]},
    "sn": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]},
    "so": {"type": ["string", "object"]},
    "any": {},
    "oo": {
        "type": "object",
        "properties": {
            "s": {"type": "string"},
            "i": {"type": "integer"},
            "oo": {"type": ["object", "null"], "additionalProperties": {"type": "boolean"}},
            "l": {"type": "array", "items": {"type": "number"}},
        },
    },
    "ll": {
        "type": "array",
        "items": {"type": "object", "properties": {"s": {"type": "string"}, "i": {"type": "integer"}}},
    },
}
INSIDE = {  # the types of what is inside of them; *: of what is not declared, and of items
    ("oo", "s"): frozenset(["string"]),
    ("oo", "i"): frozenset(["integer"]),
    ("oo", "oo"): frozenset(["object", "null"]),
    ("oo", "oo", "*"): frozenset(["boolean"]),
    ("oo", "l"): frozenset(["array"]),
    ("oo", "l", "*"): frozenset(["number"]),
    ("ll", "*"): frozenset(["object"]),
    ("ll", "*", "s"): frozenset(["string"]),
    ("ll", "*", "i"): frozenset(["integer"]),
}
TYPES = {
    **{name: frozenset([schema["type"]]) for name, schema in PARAMETERS.items() if isinstance(schema.get("type"), str)},
    "u": frozenset(["integer", "null"]),
    "su": frozenset(["string", "null"]),
    "sn": frozenset(["string", "number", "boolean"]),
    "so": frozenset(["string", "object"]),
    "any": frozenset(),
}


def schema(name: str) -> dict[str, Any]:
    """A tool with one parameter of each kind."""
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": PARAMETERS}}}


# -- vocabularies ------------------------------------------------------------------------------------------------------

# Tokens that end and begin in the middle of things.
FRAGMENTS = (
    *("\n\n", "\n\n\n", ">\n", ">\n\n", "\n<"),
    *("</", "<|", "|>", '">', '="', " <", ">{", '{"', '"}', '"}}', '": ', '", "'),
    *("Hello", " world", " the", "日本", "é"),
    *("name", "arguments", "function", "parameter", "functions", "tool", "call"),
    *("string", "true", "false", "null", "invoke", "arg", "_value", "_key", "1.5"),
    *("```", "json", "```json\n", "\\n", '\\"'),
)
HALVES = (b"\xe6\x97", b"\xa5\xe6", b"\xf0\x9f", b"\x98\x80", b"\xe2\x80", b" \xe6", b"\xef\xbd", b"<\xef")


def is_a_token(spelling: str) -> bool:
    """Do real vocabularies have such markers as one token? Not `<function=` and ends of names and keys."""
    return re.fullmatch(r"<[^=\"]*>|\[\w+\]|<\|\"\|>", spelling) is not None and "DSML" not in spelling


@dataclass(frozen=True)
class Tokens:
    """A vocabulary and the way text is cut with it."""

    vocab: hs.Vocab
    names: Mapping[str, int]  # tokens that a tokenizer would find first
    table: Mapping[bytes, int]

    def encode(self, data: bytes, greedy: bool = True, spelled: bool = False) -> list[int]:
        """`spelled`: the markers in it are ordinary text."""
        ids: list[int] = []
        names = {} if spelled else {name.encode(): tid for name, tid in self.names.items()}
        shape = b"|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or b"(?!)"
        position = 0
        while position < len(data):
            if match := re.compile(shape).match(data, position):
                ids.append(names[match[0]])
                position = match.end()
                continue
            found = re.compile(shape).search(data, position)
            stop = found.start() if found else len(data)
            size = min(stop - position, 16 if greedy else 1)
            while data[position : position + size] not in self.table:
                size -= 1
            ids.append(self.table[data[position : position + size]])
            position += size
        return ids


@cache
def tokens(name: str, vocabulary: str = "added") -> Tokens:
    """`added`: the family's markers are control tokens; `ordinary`: the first alias of each is an ordinary token, as
    added tokens are that are not special; `plain`: there are none."""
    row = format_of(name)
    kinds = spellings_of(row)
    pieces = [bytes([byte]) for byte in range(256)] + [piece.encode() for piece in FRAGMENTS] + list(HALVES)
    ends = (*row.stops, *row.turns)
    markers = dict.fromkeys(one for some in kinds.values() for one in some if is_a_token(one) or one in ends)
    if vocabulary == "ordinary":
        markers = dict.fromkeys(some[0] for some in kinds.values() if some and (is_a_token(some[0]) or some[0] in ends))
    parts = {
        "dsml": ["｜DSML｜"],
        "gemma4": ["<|channel>"],
        "minimax_m3": ["]<]minimax[>["],
    }  # tokens that are parts of markers
    special = [*markers, *row.keep, "<|pad|>", *parts.get(name, ())]
    if vocabulary == "plain":
        special = ["<|pad|>"]
    ids = {piece: 3 + at for at, piece in enumerate(pieces)}
    control = {marker: 1000 + at for at, marker in enumerate(special)}
    if vocabulary == "ordinary":
        spoken = {one.encode(): control.pop(one) for one in list(markers) if one not in (*row.stops, *row.turns)}
        vocab = hs.vocab.from_bytes({tid: piece for piece, tid in (ids | spoken).items()}, control)
        return Tokens(vocab, control | {piece.decode(): tid for piece, tid in spoken.items()}, ids)
    return Tokens(hs.vocab.from_bytes({tid: piece for piece, tid in ids.items()}, control), control, ids)


# -- what the reference reads ------------------------------------------------------------------------------------------


def items_of_bytes(data: bytes) -> list[Item]:
    return [Item("text", data[i : i + 1], i, i + 1) for i in range(len(data))]


def controls_of(row: Format, vocab: hs.Vocab) -> frozenset[str]:
    ordinary = {vocab.token_bytes(tid) for tid in range(len(vocab)) if has_bytes(vocab, tid)}
    return frozenset(one for one in can_be_control(row) if one in vocab.control or one.encode() in ordinary)


def has_bytes(vocab: hs.Vocab, tid: int) -> bool:
    try:
        return bool(vocab.token_bytes(tid)) and not vocab.is_control(tid)
    except KeyError:
        return False


def items_of_ids(ids: Sequence[int], row: Format, vocab: hs.Vocab) -> tuple[list[Item], frozenset[str]]:
    """Section 2 of docs/tags.md."""
    controls = controls_of(row, vocab)
    spelled = {one for some in spellings_of(row).values() for one in some} - controls
    names = {tid: name for name, tid in vocab.control.items()}
    items: list[Item] = []
    for at, tid in enumerate(ids):
        name = names.get(tid)
        kind, data = "inert", b""
        if name is not None:
            data = name.encode()
            if name in controls:
                kind = "control"
            elif name in spelled:
                kind = "named"
            elif name in row.keep or any(name in one for one in spelled):
                kind = "text"
        elif has_bytes(vocab, tid):
            data = vocab.token_bytes(tid)
            kind = "control" if data in {one.encode() for one in controls} else "text"
        else:
            kind = "unknown" if tid >= len(vocab) or not knows(vocab, tid) else "inert"
        items.append(Item(kind, data, at, at + 1))
    return items, controls


def knows(vocab: hs.Vocab, tid: int) -> bool:
    try:
        vocab.token_bytes(tid)
    except KeyError:
        return False
    return True


# -- both sides --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What a stream is read with. `tools`: names; their parameters are PARAMETERS if `typed`."""

    format: str
    tools: tuple[str, ...] | None = None
    typed: bool = True
    start: str = "auto"
    trim: str = "seams"
    finish: str | None = None
    empty_args: str = "{}"
    max_hold: int = MAX_HOLD

    @property
    def row(self) -> Format:
        row = format_of(self.format)
        assert isinstance(row, Format)
        return row

    @property
    def declared(self) -> list[Any] | None:
        if self.tools is None:
            return None
        return [schema(name) if self.typed else name for name in self.tools]

    def parser(self, vocab: hs.Vocab | None = None) -> hs.Parser:
        more: dict[str, Any] = {} if self.max_hold == MAX_HOLD else {"max_hold": self.max_hold}
        return hs.Parser(
            self.format,
            vocab,
            check_stops=False,
            tools=self.declared,
            start=self.start,
            trim=self.trim,  # type: ignore[arg-type]
            empty_args=self.empty_args,
            **more,
        )

    def reference(self, stream: bytes | Sequence[int], vocab: hs.Vocab | None = None) -> TagResult:
        if isinstance(stream, bytes):
            items, controls = items_of_bytes(stream), frozenset[str]()
        else:
            assert vocab is not None
            items, controls = items_of_ids(stream, self.row, vocab)
        types = dict.fromkeys(self.tools or (), TYPES) if self.typed else {}
        return interpret_tags(
            self.row,
            items,
            controls=controls,
            tools=None if self.tools is None else list(self.tools),
            types=types,
            inside=dict.fromkeys(types, INSIDE),
            start=self.start,
            trim=self.trim,
            finish=self.finish,
            empty_args=self.empty_args,
            max_hold=self.max_hold,
        )


def outcome(parser: hs.Parser, pieces: Sequence[Any], finish: str | None) -> tuple[list[EventTuple], Any, Any]:
    """The merged log, the deviations in the order of their place (None: more than are kept), and the usage."""
    events: list[EventTuple] = []
    for piece in pieces:
        fed = parser.feed_text(piece) if isinstance(piece, (bytes, str)) else parser.feed(piece)
        events += [as_tuple(event) for event in fed]
    events += [as_tuple(event) for event in parser.finish(finish)]
    return merge(events), deviations(parser), parser.usage


def deviations(parser: hs.Parser) -> list[tuple[str, int]] | None:
    """Without what bytes say of themselves."""
    if parser.deviation_count > KEPT:
        return None
    return by_place((code, position) for code, position in parser.deviations if code != "invalid-utf8")


def by_place(noted: Any) -> list[tuple[str, int]]:
    return sorted(noted, key=lambda deviation: (deviation[1], deviation[0]))


def expected(result: TagResult) -> tuple[list[EventTuple], Any, Any]:
    return result.events, by_place(result.deviations), hs.Usage(**result.usage)


def forms(data: bytes, name: str) -> Iterator[tuple[str, Any, hs.Vocab | None]]:
    """Every way in which a text can come: (name of the form, stream, vocabulary)."""
    yield "text", data, None
    for vocabulary in VOCABULARIES:
        some = tokens(name, vocabulary)
        yield f"{vocabulary}-greedy", some.encode(data), some.vocab
        yield f"{vocabulary}-bytes", some.encode(data, greedy=False), some.vocab
