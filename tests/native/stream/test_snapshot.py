"""Parser state as bytes: round trips, and what is refused."""

from __future__ import annotations

import pickle
import random
import struct

import pytest
from streams import encode_bytewise, run, to_ids

import harmonystream as hs
from harmonystream.formats.harmony import HARMONY

TEXT = (
    "<|channel|>analysis to=x<|message|>Hm 你好 😀<|end|> <|start|>assistant<|channel|>commentary to=functions.f "
    '<|constrain|>json<|message|>{"a":["\\"",1]}<|call|><|start|>user<|message|>no<|end|>'
).encode()
IDS = to_ids(TEXT, encode_bytewise)


@pytest.mark.parametrize("stream", [IDS, TEXT], ids=["ids", "text"])
@pytest.mark.parametrize("tools", [None, [], ["f", "x"]])
def test_round_trip_at_every_position(stream, tools):
    parser = hs.Parser(tools=tools)
    for position in range(len(stream)):
        blob = parser.to_bytes()
        twin = hs.Parser.from_bytes(blob, tools=tools)
        assert twin.to_bytes() == blob
        assert (twin.region, twin.usage, twin.channel, twin.deviations) == (
            parser.region,
            parser.usage,
            parser.channel,
            parser.deviations,
        )
        assert run(twin, [stream[position:]]) == run(parser.fork(), [stream[position:]])
        piece = stream[position : position + 1]
        parser.feed_text(piece) if isinstance(stream, bytes) else parser.feed(piece)


def test_options_travel_along():
    parser = hs.Parser(start="answer", strict=True, trim="none", empty_args="null")
    parser.feed(12194)
    twin = hs.Parser.from_bytes(parser.to_bytes())
    assert twin.strict
    twin.reset()
    assert twin.channel == "final"
    ended = hs.Parser()
    ended.finish()
    assert hs.Parser.from_bytes(ended.to_bytes()).finish() == ()


def test_a_format_of_ones_own_is_handed_over_again():
    mine = HARMONY._replace(name="mine")
    parser = hs.Parser(mine, start="answer")
    parser.feed(12194)
    twin = hs.Parser.from_bytes(parser.to_bytes(), format=mine)
    assert (twin.format, twin.feed(12194)) == ("mine", parser.feed(12194))
    with pytest.raises(hs.errors.FormatError, match="unknown format 'mine'"):
        hs.Parser.from_bytes(parser.to_bytes())
    with pytest.raises(ValueError, match="has the format 'mine', not 'harmony'"):
        hs.Parser.from_bytes(parser.to_bytes(), format="harmony")


def test_a_failed_strict_parser_stays_failed():
    parser = hs.Parser(strict=True)
    with pytest.raises(hs.errors.ParseError):
        parser.feed(to_ids(b"Hello"))
    with pytest.raises(hs.errors.ParseError):
        hs.Parser.from_bytes(parser.to_bytes()).feed(1)


def test_blobs_are_small():
    parser = hs.Parser()
    parser.feed(IDS)
    assert len(parser.to_bytes()) < 1024


def test_blobs_of_other_kinds():
    parser = hs.Parser(tools=["f"])
    parser.feed(IDS[:20])
    blob = parser.to_bytes()
    control = hs.vocab.o200k_harmony().control
    small = hs.vocab.from_bytes([b"a", b"b"], {name: i + 2 for i, name in enumerate(control)})
    with pytest.raises(ValueError, match="another vocabulary"):
        hs.Parser.from_bytes(blob, small, tools=["f"])
    for tools in (None, [], ["g"], ["f", "g"]):
        with pytest.raises(ValueError, match="other tools"):
            hs.Parser.from_bytes(blob, tools=tools)
    with pytest.raises(ValueError, match="version 1; this release reads version 4"):
        hs.Parser.from_bytes(blob[:3] + b"\x01" + blob[4:], tools=["f"])
    with pytest.raises(ValueError, match="unknown format 'nonsense'"):
        hs.Parser.from_bytes(blob[:4] + b"nonsense".ljust(16, b"\0") + blob[20:], tools=["f"])
    with pytest.raises(TypeError, match="takes bytes, not str"):
        hs.Parser.from_bytes("HSP")
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(parser)
    assert hs.Parser.from_bytes(bytearray(blob), tools=["f"]).to_bytes() == blob
    assert hs.Parser.from_bytes(memoryview(blob), tools=["f"]).to_bytes() == blob


@pytest.mark.parametrize("stream", [IDS, TEXT], ids=["ids", "text"])
def test_truncated_blobs_are_refused(stream):
    parser = hs.Parser()
    parser.feed_text(stream[:60]) if isinstance(stream, bytes) else parser.feed(stream[:40])
    blob = parser.to_bytes()
    for size in range(len(blob)):
        with pytest.raises(ValueError, match="parser state"):
            hs.Parser.from_bytes(blob[:size])
    with pytest.raises(ValueError, match="parser state"):
        hs.Parser.from_bytes(blob + b"\0")


def test_hostile_blobs_are_refused_or_harmless():
    """Whatever is altered: ValueError, or a parser that works within its documented errors."""
    dice = random.Random(1)
    base = []
    for cut in range(0, len(TEXT), 7):
        parser = hs.Parser()
        parser.feed_text(TEXT[:cut])
        base.append(parser.to_bytes())
    refused = 0
    for _ in range(20_000):
        blob = bytearray(dice.choice(base))
        for _ in range(dice.randrange(1, 4)):
            blob[dice.randrange(36, len(blob))] = dice.choice([0, 1, 2, 255, dice.randrange(256)])
        try:
            parser = hs.Parser.from_bytes(blob)
        except ValueError:
            refused += 1
            continue
        assert hs.Parser.from_bytes(parser.to_bytes()).to_bytes() == parser.to_bytes()
        try:
            parser.feed_text("x<|message|>y<|channel|>final<|message|>z<|end|>")
            assert parser.finish()
        except ValueError as error:  # it had ids, was finished, or has failed in strict mode
            assert "ids or text" in str(error) or "finished" in str(error) or isinstance(error, hs.errors.ParseError)
    assert refused > 5_000


def test_numbers_out_of_range_are_refused():
    parser = hs.Parser(start="answer")
    parser.feed(12194)
    blob = parser.to_bytes()
    at = blob.rindex(struct.pack("<q", 1) * 2)  # position, attributed
    for number in (-1, 2**62, 2**63 - 1):
        with pytest.raises(ValueError, match="parser state"):
            hs.Parser.from_bytes(blob[:at] + struct.pack("<q", number) + blob[at + 8 :])


def test_the_number_of_calls_is_bounded():
    """One more call than an integer has room for would be a negative one."""
    parser = hs.Parser("hermes")
    parser.feed_text('<tool_call>{"name": "f", "arguments": {}}</tool_call>' * 201)
    blob, calls = parser.to_bytes(), struct.pack("<i", 201)
    assert (parser.calls, blob.count(calls)) == (201, 1)
    for number in (2**31 - 1, -1):
        with pytest.raises(ValueError, match="parser state"):
            hs.Parser.from_bytes(blob.replace(calls, struct.pack("<i", number)))
