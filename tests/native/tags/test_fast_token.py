"""The second shortcut of feed(int), and that of feed_text(str): they give exactly what the machine gives."""

from __future__ import annotations

import pytest
from streams import as_tuple
from tag_cases import TOOLS
from tag_streams import tokens

import harmonystream as hs

PIECES = [
    b"a",
    b"\n",
    b"\n\n",
    b"a\n",
    b"\na",
    b"a\n\nb",
    b'"',
    b"\\",
    b'{"',
    b'": [',
    b"]}",
    b"}",
    b"  ",
    b" x\n",
    b"\t",
    b"\xe6\x97",
    b"\xa5",
]
MARKUP = {
    "think": ["<think>", "</think>"],
    "glm": [
        *("<tool_call>f<arg_key>s</arg_key><arg_value>", "</arg_value>", "</tool_call>", "<tool_call>f"),
        *("<arg_key>o</arg_key><arg_value>", "<think>", "</think>"),
    ],
    "qwen3_coder": [
        *("<tool_call>\n<function=f>\n<parameter=s>\n", "</parameter>", "</function>\n</tool_call>", "<parameter=sn>"),
        *("<think>", "</think>", '<tool_call>{"name": "f", "arguments": {'),
    ],
    "hermes": [
        '<tool_call>{"name": "f", "arguments": {',
        '<tool_call>{"name": "f", "arguments": "',
        "</tool_call>",
        "<think>",
    ],
    "deepseek": [
        *("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"),
        "<think>",
    ],
}
TRIES = 1_500  # streams of each format


def streams(format: str) -> list[list[int]]:
    """Markup and pieces of text in every order, as a number's digits say."""
    some = tokens(format)
    table = {bytes([byte]): some.table[bytes([byte])] for byte in range(256)}
    letters = [[some.table.get(piece, table[piece[:1]])] for piece in PIECES]
    units = [some.encode(markup.encode()) for markup in MARKUP[format]] * 2 + letters
    found, number = [], 1
    for _ in range(TRIES):
        number = number * 6364136223846793005 % (1 << 64) + 1442695040888963407
        digits, stream = number >> 8, []
        while digits:
            digits, at = divmod(digits, len(units))
            stream += units[at]
        found.append(stream)
    return found


def state(parser: hs.Parser) -> tuple[object, ...]:
    return parser.region, parser.usage, parser.deviations, parser.calls


@pytest.mark.parametrize("format", MARKUP)
@pytest.mark.parametrize("trim", ["seams", "none"])
def test_a_token_alone_gives_what_it_gives_in_a_list(format, trim):
    """A list does not take the shortcut."""
    vocab = tokens(format).vocab
    alone, listed = (hs.Parser(format, vocab, check_stops=False, tools=TOOLS, trim=trim) for _ in range(2))
    deltas = 0
    for stream in streams(format):
        alone.reset()
        listed.reset()
        for tid in stream:
            events = alone.feed(tid)
            assert [as_tuple(event) for event in events] == [as_tuple(event) for event in listed.feed([tid])]
            assert state(alone) == state(listed)
            deltas += len(events)
        assert alone.finish() == listed.finish()
    assert deltas > 5 * TRIES


@pytest.mark.parametrize("format", MARKUP)
def test_a_piece_of_str_gives_what_its_bytes_give(format):
    """Bytes do not take the shortcut. In a call's arguments it looks at the JSON of the piece."""
    pieces = [*(markup.encode() for markup in MARKUP[format] * 2), *PIECES[:-2], b"xyz", b'x"y', "é".encode()]
    whole, bytewise = (hs.Parser(format, tools=TOOLS) for _ in range(2))
    number, deltas = 1, 0
    for _ in range(TRIES):
        whole.reset()
        bytewise.reset()
        number = number * 6364136223846793005 % (1 << 64) + 1442695040888963407
        digits = number >> 8
        while digits:
            digits, at = divmod(digits, len(pieces))
            events = whole.feed_text(pieces[at].decode())
            assert [as_tuple(event) for event in events] == [as_tuple(e) for e in bytewise.feed_text(pieces[at])]
            assert state(whole) == state(bytewise)
            deltas += len(events)
        assert whole.finish() == bytewise.finish()
    assert deltas > 5 * TRIES


def test_what_it_is_for():
    """Newlines and quotes in text, strings and JSON, one token each."""
    vocab = hs.vocab.from_bytes([b"a", b'b"\n', b'\n\n"c', b"</think>"], {})
    parser = hs.Parser("think", vocab, start="reasoning")
    assert parser.feed(0)[1:] == (hs.ReasoningDelta("a", 0, 1),)
    assert parser.feed(1) == (hs.ReasoningDelta('b"', 1, 2),)
    assert parser.feed(2) == (hs.ReasoningDelta('\n\n\n"c', 2, 3),)
    assert parser.feed(1) == (hs.ReasoningDelta('b"', 3, 4),)
    assert parser.feed(3) == ()
    assert parser.usage == hs.Usage(0, 1, 4, 0, 0, 0, 0)
