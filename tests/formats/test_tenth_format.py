"""A format that is not built in: one row and no code, with everything that the others have."""

from __future__ import annotations

import pytest
from families import base, encode, tokenizer, vocab
from streams import as_tuple, chunkings, merge, run, without_ranges

import harmonystream as hs

ACME = hs.Format(
    name="acme",
    think=("<think>", "</think>"),
    section=("<acme:calls>", "</acme:calls>"),
    call=('<invoke name="', '">', "</invoke>"),
    pair=('<parameter name="', '">', "", "</parameter>"),
    bare="declared",
    stops=("[e~[",),
    turns=("]~b]",),
)
SPECIAL = ("]~!b[", "]~b]", "[e~[")
PLAIN = ("<think>", "</think>", "<acme:calls>", "</acme:calls>")
TYPES = {"city": {"type": "string"}, "days": {"type": "integer"}, "where": {"type": "object"}}
TOOLS = [
    {"type": "function", "function": {"name": "get_forecast", "parameters": {"type": "object", "properties": TYPES}}},
    {"type": "function", "function": {"name": "now", "parameters": {}}},
]
PROMPT = "]~!b[]~b]user\nRain?[e~[\n]~b]ai\n<think>\n"
OUTPUT = """Look it up: 天气.
</think>

It may rain.
<acme:calls>
<invoke name="get_forecast">
<parameter name="city">Ber"gen
 </parameter> 😀</parameter>
<parameter name="days">3</parameter>
<parameter name="where">{"lat": 60.40}</parameter>
</invoke>
<invoke name="now">
</invoke>
</acme:calls>[e~["""
EXPECTED = [
    ("MessageStart", "assistant", None, None, None),
    ("ReasoningDelta", "Look it up: 天气."),
    ("ContentDelta", "It may rain.", None),
    ("ToolCallStart", 0, "get_forecast", None, "function"),
    ("ToolCallDelta", 0, r'{"city": "Ber\"gen\n </parameter> 😀", "days": 3, "where": {"lat": 60.40}}'),
    ("ToolCallEnd", 0, True, True),
    ("ToolCallStart", 1, "now", None, "function"),
    ("ToolCallDelta", 1, "{}"),
    ("ToolCallEnd", 1, True, True),
    ("MessageEnd", "assistant", None, None, None),
    ("StreamEnd", "tool_calls"),
]
VOCABS = [(SPECIAL, PLAIN), (SPECIAL + PLAIN, ()), (SPECIAL, ()), ((), ())]


def test_text_at_every_chunking():
    assert "acme" not in hs.formats.names()
    whole = run(hs.Parser(ACME, tools=TOOLS, prompt=PROMPT), [OUTPUT])
    assert without_ranges(whole) == EXPECTED
    for stream in (OUTPUT, OUTPUT.encode()):
        for pieces in chunkings(stream):
            parser = hs.Parser(ACME, tools=TOOLS, prompt=PROMPT)
            assert run(parser, pieces) == whole
            assert (parser.format, parser.deviations) == ("acme", ())


@pytest.mark.parametrize(("special", "plain"), VOCABS)
def test_ids_at_every_chunking(special, plain):
    words, known = tokenizer(special, plain), vocab(special, plain)
    prompt, ids = encode(words, PROMPT), encode(words, OUTPUT)
    options = {"tools": TOOLS, "prompt": prompt, "check_stops": False}
    whole = run(hs.Parser(ACME, known, **options), [ids])
    assert without_ranges(whole) == EXPECTED
    for pieces in chunkings(ids):
        assert run(hs.Parser(ACME, known, **options), pieces) == whole


def test_a_stream_moves_and_forks_at_every_position():
    words, known = tokenizer(SPECIAL, PLAIN), vocab(SPECIAL, PLAIN)
    ids = encode(words, OUTPUT)
    parser = hs.Parser(ACME, known, tools=TOOLS, start="reasoning")
    told = []
    for at, tid in enumerate(ids):
        moved = hs.Parser.from_bytes(parser.to_bytes(), known, format=ACME, tools=TOOLS)
        for twin in (parser.fork(), moved):
            rest = twin.feed(ids[at:]) + twin.finish()
            assert without_ranges(merge(map(as_tuple, [*told, *rest]))) == EXPECTED
        told += parser.feed(tid)
    with pytest.raises(ValueError, match="acme"):
        hs.Parser.from_bytes(parser.to_bytes(), known, tools=TOOLS)


def test_what_is_only_mentioned_is_text():
    for text in ('Write <invoke name="f"> here.', "The <acme:calls> tag.", '<invoke name="nothing">\n</invoke>'):
        done = hs.parse(text, ACME, tools=TOOLS)
        assert (done.content, done.tool_calls) == (text, ())
    ids = encode(base(), "a [e~[ b")
    assert hs.parse(ids, ACME, vocab=vocab(SPECIAL, PLAIN)).content == "a [e~[ b"
