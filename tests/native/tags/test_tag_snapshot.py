"""The state of a tag format's stream as bytes: round trips with everything that can be held, and what is refused."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from streams import as_tuple, feed, merge, run
from tag_cases import TOOLS
from tag_streams import tokens

import harmonystream as hs

QWEN = (
    "<think>Hm\n 你好 <tool_call>no\n</think>\n\nHi 😀\n"
    "<tool_call>\n<function=f>\n<parameter=s>\na\n\n\"b\"</para\n</parameter>\n<parameter=o>{'x': [1]}</parameter>"
    "<parameter=sn>nul</parameter>noise<parameter=i>5</parameter1></function></tool_call>"
    '<tool_call>[{"id": "\\"", "arguments": "{\\"a\\": \\ud83d\\ude00}", "name": "g"}, {"name": "f"}] }</tool_call>'
    '<function=g>\n{"a": "</function>"}</function>\n</tool_call>bye\n\n<|im_end|>\nmore'
)
BEGIN, END = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
STREAMS = {
    "hermes": QWEN,
    "qwen3_coder": QWEN,
    "seed_oss": QWEN.replace("tool_call>", "seed:tool_call>").replace("think>", "seed:think>"),
    "glm": (
        "<think>a</think>\n<tool_call>f\n<arg_key> s </arg_key>\n<arg_value>\nx</arg_value>\n<arg_key>u</arg_key>"
        '<arg_value>[1, "</arg_value>"]</arg_value></tool_call><tool_call>{"name": "g", "parameters": null}</tool_call>'
        "<tool_call>is</arg_key>5</arg_value><arg_key>sn</arg_key><arg_value> null </arg_value><|user|>"
    ),
    "deepseek": (
        f'a\n{BEGIN}\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{{"a": ["\\\\"", 1]}}\n```\n'
        "<｜tool▁call▁end｜>\n"
        f"<｜tool▁call▁begin｜>g<｜tool▁sep｜>{{}}<｜tool▁call▁end｜>{END}<｜tool▁outputs▁end｜>b<｜end▁of▁sentence｜>"
    ),
    "deepseek_search": f"<｜search▁begin｜>a<think>b<｜search▁end｜>c{BEGIN}<｜tool▁call▁begin｜>f<｜tool▁sep｜>{{}}",
    "dsml": (
        'a\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="o" string="false">{"a": 1}'
        '</｜DSML｜parameter>\n<｜DSML｜parameter name="k" string="true">\nx</|DSML|parameter>\n</｜DSML｜invoke>'
        '<｜DSML｜invoke name="g"/></｜DSML｜function_calls><｜end▁of▁sentence｜>'
    ),
    "kimi_k2": (
        'a<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>\n{"a": 1}\n'
        "<|tool_call_end|><|tool_call_begin|>g<|tool_call_argument_begin|>[<|tool_calls_section_end|>b<|im_end|>"
    ),
    "minimax_m3": (
        'a\n<tool_call>\n<invoke name="f"><s>é</city2>\n"</s><o>\n<a>x<invoke>y</invoke></a></o>noise<l><item>1</item>'
        "<item><k>2</item></l><i>5<u> null </u></invoke><invoke name='g'>{}</invoke></tool_call>b[e~["
    ).replace("<", "]<]minimax[>[<"),
    "lfm2": (
        "<think>a</think>b<|tool_call_start|>[f(s=\"é\\n\", i=0x1, any=[{'a': (1, x + y), 2: r'\\\\'}]), "
        "f('p', s='it's')"
        "]<|tool_call_end|><|tool_call_start|>[f(s='''a\n'b'''<|tool_call_end|><|im_end|>"
    ),
    "pythonic": '[f(s="""a"b""", o={"a": [1, 2), l="a" \'b\')] <|python_start|>f(b={x}[0], s="\\ud83d\\ude00 c',
    "gemma4": (
        '<|channel>thought\na<channel|>b<|tool_call>call:f{s:<|"|>é"\n<|"|>,o:{a b:[1,x y],<|"|>k<|"|>:"\\u00e9"},'
        '\'k\':<|"|>a<|"|>b<|"|>}<tool_call|><|tool_call>:f{s:<|"|>a<tool_call|><turn|>'
    ),
    "think": "<think>\n\na\nb\n\n</think>\n\nc</thin",
}


def stream_of(format: str, kind: str) -> tuple[Any, hs.Vocab | None]:
    if kind == "text":
        return STREAMS[format].encode(), None
    some = tokens(format, kind)
    return [*some.encode(STREAMS[format].encode(), greedy=kind == "added"), some.names["<|pad|>"], 77], some.vocab


@pytest.mark.parametrize("format", STREAMS)
@pytest.mark.parametrize("kind", ["text", "added", "ordinary", "plain"])
@pytest.mark.parametrize("tools", [None, [], TOOLS], ids=["unknown", "none", "tools"])
def test_round_trip_at_every_position(format, kind, tools):
    stream, vocab = stream_of(format, kind)
    parser = hs.Parser(format, vocab, check_stops=False, tools=tools)
    whole = run(hs.Parser(format, vocab, check_stops=False, tools=tools), [stream])
    for position in range(len(stream) + 1):
        blob = parser.to_bytes()
        twin = hs.Parser.from_bytes(blob, vocab, tools=tools)
        assert twin.to_bytes() == blob
        assert (twin.region, twin.usage, twin.deviations, twin.calls, twin.role) == (
            *(parser.region, parser.usage, parser.deviations, parser.calls),
            parser.role,
        )
        if position % 7 == 0:
            assert run(twin, [stream[position:]]) == run(parser.fork(), [stream[position:]])
        if position < len(stream):
            feed(parser, stream[position : position + 1])
    assert (
        run(hs.Parser(format, vocab, check_stops=False, tools=tools), [stream[i : i + 1] for i in range(len(stream))])
        == whole
    )


@pytest.mark.parametrize("format", STREAMS)
@pytest.mark.parametrize("kind", ["text", "added"])
def test_a_stream_that_moves_at_every_position(format, kind):
    """Nothing but the blob goes on."""
    stream, vocab = stream_of(format, kind)
    parser = hs.Parser(format, vocab, check_stops=False, tools=TOOLS)
    log = []
    for position in range(len(stream)):
        parser = hs.Parser.from_bytes(parser.to_bytes(), vocab, tools=TOOLS)
        log += feed(parser, stream[position : position + 1])
    log += [as_tuple(event) for event in parser.finish()]
    assert merge(log) == run(hs.Parser(format, vocab, check_stops=False, tools=TOOLS), [stream])


DEEP = '<tool_call>{"arguments": "'


@pytest.mark.parametrize("size", [10, 5_000, 200_000])
def test_deep_holds(size):
    """What waits for a name, or for the end of a value, travels along."""
    rest = '", "name": "f"}</tool_call>'
    for kind in ("text", "plain", "added"):
        some = None if kind == "text" else tokens("hermes", kind)
        if some is None:
            begun, ended = DEEP.encode() + b"x" * size, rest.encode()
        else:
            begun, ended = some.encode(DEEP.encode()) + some.encode(b"x") * size, some.encode(rest.encode())
        vocab = None if some is None else some.vocab
        parser = hs.Parser("hermes", vocab, check_stops=False)
        feed(parser, begun)
        blob = parser.to_bytes()
        assert size < len(blob) < 2 * size + 1024
        twin = hs.Parser.from_bytes(blob, vocab)
        assert twin.to_bytes() == blob
        assert run(twin, [ended]) == run(parser.fork(), [ended])
        feed(parser, ended)
        assert parser.calls == 1
        assert len(parser.to_bytes()) < 1024


def test_a_held_value():
    parser = hs.Parser("glm", tools=TOOLS)
    parser.feed_text("<tool_call>f<arg_key>o</arg_key><arg_value>{'a': '" + "é" * 1000)
    twin = hs.Parser.from_bytes(parser.to_bytes(), tools=TOOLS)
    assert run(twin, ["'}</arg_value></tool_call>"])[0][2] == '{"o": {"a": "' + "é" * 1000 + '"}}'


def test_the_limit_travels_along():
    text = DEEP + "x" * 3_000 + '", "name": "f"}</tool_call>'
    for max_hold, calls in ((1024, 0), (4096, 1)):
        parser = hs.Parser("hermes", max_hold=max_hold)
        parser.feed_text(text[:900])
        twin = hs.Parser.from_bytes(parser.to_bytes())
        twin.feed_text(text[900:])
        assert twin.calls == calls
        twin.reset()
        twin.feed_text(text)
        assert twin.calls == calls


def test_options_travel_along():
    parser = hs.Parser("think", start="reasoning", trim="none", strict=True)
    parser.feed_text("\nHm")
    twin = hs.Parser.from_bytes(parser.to_bytes())
    assert (twin.format, twin.region, twin.strict) == ("think", hs.Region.REASONING, True)
    twin.reset()
    assert [*run(twin, ["\n"])][1] == ("ReasoningDelta", "\n", 0, 1)
    mine = hs.Format("mine", think=("<a>", "</a>"))
    blob = hs.Parser(mine, start="reasoning").to_bytes()
    assert hs.Parser.from_bytes(blob, format=mine).region is hs.Region.REASONING
    with pytest.raises(hs.errors.FormatError, match="unknown format 'mine'"):
        hs.Parser.from_bytes(blob)
    other = hs.Format("mine", think=("<b>", "</b>"))  # another row of this name
    with pytest.raises(ValueError, match="or to another format of this name"):
        hs.Parser.from_bytes(blob, format=other)


def test_fork_and_reset_take_what_is_held():
    parser = hs.Parser("hermes")
    parser.feed_text("Hi\n\n<tool_call>{")
    twin = parser.fork()
    parser.feed_text("no")
    assert run(twin, ['"name": "f"}</tool_call>'])[0][:3] == ("ToolCallStart", 0, "f")
    twin.reset()
    assert run(twin, ["a"])[1] == ("ContentDelta", "a", None, 0, 1)


def test_a_failed_strict_parser_stays_failed():
    parser = hs.Parser("hermes", strict=True)
    with pytest.raises(hs.errors.ParseError):
        parser.feed_text("a</think>b")
    twin = hs.Parser.from_bytes(parser.to_bytes())
    with pytest.raises(hs.errors.ParseError) as caught:
        twin.feed_text("c")
    assert (caught.value.code, caught.value.position, caught.value.state) == ("stray-closer", 1, "TEXT")


# --- what is refused ----------------------------------------------------------------------------------------------


def blobs(seed: int) -> list[tuple[str, hs.Vocab | None, bytes]]:
    found = []
    for format in STREAMS:
        for kind in ("text", "added"):
            stream, vocab = stream_of(format, kind)
            for cut in range(seed % 5, len(stream), 11):
                parser = hs.Parser(format, vocab, check_stops=False, tools=TOOLS, max_hold=4096)
                feed(parser, stream[:cut])
                found.append((format, vocab, parser.to_bytes()))
    return found


def test_truncated_blobs_are_refused():
    for _, vocab, blob in blobs(0)[::9]:
        for size in [*range(0, len(blob), 5), len(blob) - 1]:
            with pytest.raises(ValueError, match="parser state"):
                hs.Parser.from_bytes(blob[:size], vocab, tools=TOOLS)
        with pytest.raises(ValueError, match="parser state"):
            hs.Parser.from_bytes(blob + b"\0", vocab, tools=TOOLS)


def test_hostile_blobs_are_refused_or_harmless():
    """Whatever is altered: ValueError, or a parser that works within its documented errors."""
    dice, base, refused = random.Random(1), blobs(0), 0
    for _ in range(20_000):
        format, vocab, honest = dice.choice(base)
        blob = bytearray(honest)
        for _ in range(dice.randrange(1, 4)):
            blob[dice.randrange(40, len(blob))] = dice.choice([0, 1, 2, 255, dice.randrange(256)])
        try:
            parser = hs.Parser.from_bytes(blob, vocab, tools=TOOLS)
        except ValueError:
            refused += 1
            continue
        again = hs.Parser.from_bytes(parser.to_bytes(), vocab, tools=TOOLS)
        assert again.to_bytes() == parser.to_bytes()
        rest, _ = stream_of(format, "text" if vocab is None else "added")
        for twin in (parser, again):
            try:
                feed(twin, rest)
                assert twin.finish()
            except ValueError as error:  # it had ids, was finished, or has failed in strict mode
                assert (
                    "ids or text" in str(error) or "finished" in str(error) or isinstance(error, hs.errors.ParseError)
                )
    assert refused > 5_000


def test_numbers_out_of_range_are_refused():
    parser = hs.Parser("think")
    parser.feed_text("abc")
    blob = parser.to_bytes()
    at = blob.index(struct.pack("<q", 3) * 2)  # position, attributed
    for number in (-1, 2**60, 2**62, 2**63 - 1):
        with pytest.raises(ValueError, match="parser state"):
            hs.Parser.from_bytes(blob[:at] + struct.pack("<q", number) + blob[at + 8 :])


def test_a_blob_of_another_format():
    tagged, harmony = hs.Parser("hermes").to_bytes(), hs.Parser().to_bytes()
    with pytest.raises(ValueError, match="has the format 'hermes', not 'glm'"):
        hs.Parser.from_bytes(tagged, format="glm")
    for blob, other in ((tagged, b"harmony"), (harmony, b"think")):
        with pytest.raises(ValueError, match="parser state belongs to another vocabulary"):
            hs.Parser.from_bytes(blob[:4] + other.ljust(16, b"\0") + blob[20:])
    same = hs.vocab.o200k_harmony()
    with pytest.raises(ValueError, match="pass the vocabulary with which the state was made"):
        hs.Parser.from_bytes(hs.Parser("think", same, check_stops=False).to_bytes())
    for blob, other in ((hs.Parser("think", same).to_bytes(), b"harmony"), (harmony, b"think")):
        with pytest.raises(ValueError, match="parser state"):
            hs.Parser.from_bytes(blob[:4] + other.ljust(16, b"\0") + blob[20:], same)
