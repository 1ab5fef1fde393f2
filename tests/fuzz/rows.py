"""Rows of tag formats, their vocabularies, and the pieces that their streams are made of.

One byte of a payload is one piece, which is bytes, or one of SPECIAL; how the pieces become a stream (see `units`) is
the case's choice, so that one payload is the same stream as text and in four tokenizations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import harmonystream as hs
from harmonystream.formats import format_of

Piece = bytes | str
Fields = dict[str, Any]

BUILT_IN = tuple(name for name in hs.formats.names() if name != "harmony")
SPECIAL = ("inert", "hole", "empty", "unknown")  # ids that are not text; in text, an inert id's name is
INERT_NAME = b"<|x|>"
HOWS = ("text", "str", "control", "plain", "split", "bytes")

REPEAT, LITERAL = 0xFE, 0xFF
MOST_PIECES = 300
COMMON: tuple[Piece, ...] = (
    *(b"f", b"get_weather", b"two words", b"k", b"s", b"i", b"n", b"b", b"o", b"a", b"x", b"u", b"function"),
    *(b"functions.f:0", b"functions.", b":0", b"call_7", b"12", b"1.50", b"-", b"1e5", b"null", b"nul", b"NULL"),
    *(b"None", b"true", b"Fals", b'{"name": "f", "arguments": {', b'{"name": "f", "arguments": "', b'"arguments": '),
    *(
        b'"parameters": ',
        b'{"k": 1}',
        b'"name": "f"',
        b'{"name": ',
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"\\",
        b"\\u",
        b"d83d",
    ),
    *(b"\\ude00", b"\\n", b",", b":", b": "),
    *(b"'", b"(", b")", b"{'a': (1, None)}", b"```", b"```json\n", b"`", b"\n", b"\n\n", b" ", b"\t", b"\r", b"  \n "),
    *(b" " * 200, b"\n" * 90, b"y" * 250, b"z" * 64, b"[" * 40, b"<", b"</", b">", b"=", b"/>", b'">', b'"/>', b'="'),
    *(b"|", b"<|", b"text", b" and ", b".", b"\x00", b"\x1f", b"\x7f", b"$", b"#", b"-->", b"e", b"t", b"<b>", b"</b>"),
    *("日本".encode(), "é".encode(), "😀".encode(), "\ufffd".encode(), b"\xe6\x97", b"\xa5", b"\xf0\x9f", b"\x98\x80"),
    *(b"\xff", "\u2028".encode(), b"\xed\xa0\x80", b"\xc3", b"a\nb", b"\na", b"a\n", b"a\\", b'a"', b"1>", b"x</"),
    *(b"oo", b"item"),
    *SPECIAL,
)

STRINGS = {"type": "string"}
TYPED = {
    "name": "f",
    "parameters": {
        "properties": {
            **{"s": STRINGS, "i": {"type": "integer"}, "n": {"type": ["number", "null"]}, "b": {"type": "boolean"}},
            **{"o": {"type": "object"}, "a": {"type": "array"}, "x": {"type": ["string", "integer", "boolean"]}},
            **{"u": {"type": ["string", "null"]}, "k": {}, "e": {"type": ["string", "object"]}},
            "é": {"type": "number"},
            "oo": {
                "type": "object",
                "properties": {"s": STRINGS, "i": {"type": "integer"}, "x": {"type": "array", "items": STRINGS}},
            },
        }
    },
}
TOOLS: dict[str, list[Any] | None] = {
    "unknown": None,
    "none": [],
    "one": ["f"],
    "typed": [TYPED],
    "many": [{"type": "function", "function": TYPED}, "fk", "get_weather", "two words", "functions.f:0", "function"],
}


def spellings(row: hs.Format) -> list[str]:
    """Every marker of a row that is accepted, once."""
    markers: list[Any] = [*(row.think or ()), *(row.section or ()), *(row.call or ()), *(row.pair or ())]
    markers += [*(row.value_type or ()), *(row.element or ()), *(row.cdata or ())]
    markers += [row.quote, row.call_id, row.empty_call, *row.typed, *row.stops, *row.turns, *row.drop, *row.keep]
    flat = [spelling for marker in markers for spelling in (marker if isinstance(marker, tuple) else (marker,))]
    return list(dict.fromkeys(spelling for spelling in flat if spelling))


def row_of(row: str | Fields) -> hs.Format:
    """A built-in row by name, or one of the user's. Raises what Format or Parser do not like."""
    return format_of(row) if isinstance(row, str) else hs.Format(**row)


def is_accepted(row: Fields) -> bool:
    """A row is refused with FormatError, or read as any other."""
    vocab = hs.vocab.from_bytes({i: bytes([i]) for i in range(256)}, {}, name="bytes")
    try:
        hs.Parser(row_of(row), vocab, check_stops=False)
    except hs.errors.FormatError as error:
        assert str(error)
        return False
    return True


class Alphabet:
    """What the bytes of a payload stand for in one row, and its vocabularies."""

    def __init__(self, row: hs.Format) -> None:
        self.markers = [spelling.encode("utf-8", "replace") for spelling in spellings(row)]
        parts = [part for marker in self.markers for part in (marker[: len(marker) // 2], marker[:-1], marker[1:])]
        parts += [marker[:-1] + b"1>" for marker in self.markers if marker.endswith(b">")]
        pieces: list[Piece] = [*self.markers, *COMMON]
        pieces += [part for part in dict.fromkeys(parts) if part and part not in pieces]
        self.pieces = pieces[:REPEAT]
        self.is_unmarked = all(len(marker) > 1 for marker in self.markers)  # else a byte's token is a marker
        self.stops = {stop.encode("utf-8", "replace") for stop in (*row.stops, *row.turns)}
        self.vocabs: dict[str, hs.Vocab] = {}
        self.tables: dict[str, dict[Piece, list[int]]] = {}

    def read(self, payload: bytes) -> list[Any]:
        """The pieces of a payload: an index; REPEAT and a count; LITERAL and one byte. A tuple is a repeated piece."""
        stream: list[Any] = []
        i = 0
        while i < len(payload) and len(stream) < MOST_PIECES:
            code, more = payload[i], payload[i + 1] if i + 1 < len(payload) else 0
            i += 1 + (code >= REPEAT)
            if code < REPEAT:
                stream.append(self.pieces[code % len(self.pieces)])
            elif code == LITERAL:
                stream.append(bytes([more]))
            elif stream and not isinstance(stream[-1], tuple):
                stream[-1] = (stream[-1], more)
        return stream

    def write(self, text: bytes) -> bytes:
        """A payload of this text, for seeds: the longest piece at each place."""
        codes = {piece: bytes([i]) for i, piece in reversed(list(enumerate(self.pieces))) if isinstance(piece, bytes)}
        longest = max(map(len, codes))
        payload = b""
        while text:
            size = next((n for n in range(min(longest, len(text)), 0, -1) if text[:n] in codes), 0)
            payload += codes[text[:size]] if size else bytes([LITERAL, text[0]])
            text = text[size or 1 :]
        return payload

    def vocab(self, how: str) -> hs.Vocab:
        if how not in self.vocabs:
            self.vocabs[how] = self.make_vocab(how)
        return self.vocabs[how]

    def make_vocab(self, how: str) -> hs.Vocab:
        """control: markers are control ids. plain: stops are, and the others are tokens. Else: no token has one."""
        marked = set(self.markers)
        tokens = {i: bytes([i]) for i in range(256)}
        control = [marker for marker in self.markers if len(marker) > 1 and (marker in self.stops or how == "control")]
        control = control if how in ("control", "plain") else []
        pieces = [piece for piece in self.pieces if isinstance(piece, bytes) and len(piece) > 1]
        if how not in ("control", "plain"):
            pieces = [piece for piece in pieces if piece not in marked]
        for piece in pieces:
            if piece not in control:
                tokens[len(tokens)] = piece
        tokens[len(tokens)] = b""
        first = len(tokens) + 1  # one hole
        names = {marker.decode(): first + i for i, marker in enumerate([*control, INERT_NAME])}
        return hs.vocab.from_bytes(tokens, names, name=how)

    def ids(self, how: str) -> dict[Piece, list[int]]:
        if how not in self.tables:
            self.tables[how] = self.make_table(how)
        return self.tables[how]

    def make_table(self, how: str) -> dict[Piece, list[int]]:
        vocab = self.vocab(how)
        known = {vocab.token_bytes(tid): tid for tid in reversed(range(len(vocab))) if tid in vocab}
        hole = next(tid for tid in range(len(vocab)) if tid not in vocab)
        table: dict[Piece, list[int]] = {bytes([i]): [i] for i in range(256)}
        table |= {"inert": [known[INERT_NAME]], "hole": [hole], "empty": [known[b""]], "unknown": [2**31 - 1]}
        for piece in self.pieces:
            if isinstance(piece, str):
                continue
            half = len(piece) // 2
            if piece in known and how != "bytes":
                table[piece] = [known[piece]]
            elif piece[:half] in known and piece[half:] in known and how != "bytes":
                table[piece] = [known[piece[:half]], known[piece[half:]]]
            else:
                table[piece] = list(piece)
        return table


@cache
def built_in(name: str) -> Alphabet:
    return Alphabet(format_of(name))


def alphabet_of(row: str | Fields) -> Alphabet:
    return built_in(row) if isinstance(row, str) else Alphabet(row_of(row))


def flat(stream: Sequence[Any]) -> Iterable[Piece]:
    for piece in stream:
        yield from [piece[0]] * piece[1] if isinstance(piece, tuple) else [piece]


def spelled(stream: Sequence[Any]) -> bytes:
    """The stream as text. An inert id is its name; ids that are not text are nothing."""
    return b"".join(piece if isinstance(piece, bytes) else INERT_NAME * (piece == "inert") for piece in flat(stream))


def units(alphabet: Alphabet, how: str, stream: Sequence[Any]) -> Any:
    """What is fed: bytes for text and str, ids for control, plain, split (no token has a marker) and bytes."""
    if how in ("text", "str"):
        return spelled(stream)
    table = alphabet.ids(how)
    # A literal piece that is a token of no table is spelled: cases may be edited.
    return [tid for piece in flat(stream) for tid in table.get(piece, piece)]


def is_plain(stream: Sequence[Any]) -> bool:
    """Does it say the same as text and as ids that are no markers?"""
    return not any(isinstance(piece, str) for piece in flat(stream))


# -- rows of the user's ------------------------------------------------------------------------------------------------

ROW_SIZE = 16  # bytes
THINK = (None, ("<think>", "</think>"), (("<t>", "<u>"), "</t>"), ("[T]", "[/T]"), ("<think>", ("</think>", "</t>")))
SECTION = (None, ("<S>", "</S>"), (("<S>", "<SS>"), ("</S>", "[/S]")), ("<tool_call>", "</tool_call>"), ("«", "»"))
CALL = (
    *(None, ("<f=", ">", "</f>"), ("<C>", "", "</C>"), (("<C>", "<D>"), ("<sep>", ":"), "</C>"), ("<c ", '">', "</c>")),
    *(("<f=", ">", ("</f>", "</function>")), ("[C]", "|", "[/C]"), ("<C>", "<sep>", "</C>")),
)
ELEMENT = (("<", ">", "</"), ("[e ", "]", ("[/e ", "(/")), ("#", "=", "~"), (("<:", "[:"), (">", "/>"), "</:"))
PAIR = (
    *(None, ("<p=", ">", "", "</p>"), ("<k>", "</k>", "<v>", "</v>"), ("<p ", '">', "", ("</p>", "</q>"))),
    *(
        ("<k>", "<sep>", "", "</k>"),
        (("<k>", "<l>"), ("</k>", "</l>"), ("<v>", "="), "</v>"),
        ("[K]", "[=]", "", "[.]"),
    ),
)
STOPS = ((), ("<|e|>",), ("<|e|>", "[EOS]"), ("</S>",), ("<eos>", "<|im_end|>"), "<eos>")
TYPES = ({}, {'" string>': "string"}, {" json>": "json", " str>": "string"}, {"!": "json"})
ODD = (
    *(None, 5, "", (), ("a",), ("<a>", 7), ("", ""), ("\n", "x"), ("{", "}"), ("<x" * 40, "y"), ("\ud800", "<y>")),
    *({7: "json"}, ("<a>", "<a>"), (("<a>", "<ab>"), "</a>"), ((), ()), ("<a>", "", ""), ("", "", "", ""), {"a": 1}),
    *(b"ab", ["<a>", "</a>"]),
)


def decode_row(data: bytes) -> Fields:
    """The fields of a row. Most are accepted; one in four has something odd in it."""
    data = data.ljust(ROW_SIZE, b"\0")

    def one(i: int, values: Sequence[Any]) -> Any:
        return values[data[i] % len(values)]

    fields: Fields = {"name": "row", "think": one(0, THINK), "section": one(1, SECTION), "call": one(2, CALL)}
    fields |= {"pair": one(3, PAIR), "wrapped": bool(data[4] & 1), "control": bool(data[4] & 2)}
    fields |= {"bare": one(5, ("any", "no", "declared")), "name_as": one(6, ("plain", "function", "id"))}
    fields |= {"empty_call": one(7, ("", "", "/>", '"/>')), "newlines": one(8, ("keep", "strip"))}
    fields |= {"untyped": one(9, ("string", "json")), "typed": one(10, TYPES), "stops": one(11, STOPS)}
    fields |= {"turns": one(12, ((), ("<|a|>",))), "drop": one(13, ((), ("<d>", "</d>")))}
    fields |= {"keep": one(14, ((), ("<keep>",)))}
    if data[15] & 3 == 3:
        names = list(fields)
        fields[names[(data[15] >> 2) % len(names)]] = ODD[data[0] % len(ODD)]
    fields |= {"fenced": ("text", "call")[data[4] >> 2 & 1], "mention": ("text", "think")[data[4] >> 3 & 1]}
    fields |= {"after_call": ("same", "content")[data[4] >> 4 & 1]}
    if data[5] & 32 and fields["pair"] is not None:
        fields |= {"cdata": one(9, (("<![CDATA[", "]]>"), (("<q>", "[q"), ("</q>", "q]")), ("q[", "]q")))}
    if data[5] & 64 and fields["call"] is not None:
        fields |= {"call_id": one(8, ("<id>", ("[ID]", '" id="'), ":", "<C")), "name_as": "plain"}
    if data[4] & 128:
        element = one(3, (None, *ELEMENT))
        return fields | {
            "pair": None,
            "cdata": None,
            "element": element,
            "wrapped": False,
            "control": False,
            "typed": {},
        }
    if not data[4] & 32 or fields["call"] is not None:
        return fields
    if not data[4] & 64:
        return fields | {"body": "python"}
    named = {"name_as": "call"} if data[5] & 128 else {}
    return fields | {"body": "object", "quote": one(7, ("", "<|q|>", "~", ("<q>", "''")))} | named
