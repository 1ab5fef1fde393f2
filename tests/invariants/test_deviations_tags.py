"""The same for the tag formats: a shortest stream for each deviation, as text and as ids, cut in every way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from streams import chunkings, run
from tag_streams import Tokens, tokens

import harmonystream as hs
from harmonystream.deviations import CODES, EXPECTED

PARAMETERS = {"s": {"type": "string"}, "i": {"type": "integer"}, "o": {"type": "object"}}
TOOLS = [{"name": "f", "parameters": {"properties": PARAMETERS}}]
HOLD = 1024
LONG = "x" * (HOLD + 1)

FUNCTION = "<tool_call>\n<function=f>\n"
END = "</function>\n</tool_call>"
BEGIN = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>"
LAST = "<｜tool▁calls▁end｜>"
CALL = f"{BEGIN}f<｜tool▁sep｜>{{}}<｜tool▁call▁end｜>{LAST}"
SEED = "<seed:tool_call><function=f>"

# code, and which of its cases -> (format, stream up to the place where it is noted, the rest, what is left of it all:
# reasoning, content, arguments)
TAGGED = {
    "stray-closer": ("hermes", "Hi", "</think> you", ("", "Hi you", [])),
    "repeated-opener": ("hermes", "<think>Hm", "<think>, yes</think>Hi", ("Hm, yes", "Hi", [])),
    "missing-opener": ("qwen3_coder", "Hi", "<function=f>\n</function>", ("", "Hi", ["{}"])),
    "missing-opener key": (
        "glm",
        "",
        "<tool_call>fs</arg_key><arg_value>x</arg_value></tool_call>",
        ("", "", ['{"s": "x"}']),
    ),
    "missing-opener value": (
        *("glm", "<tool_call>f<arg_key>s</arg_key>", "x</arg_value></tool_call>"),
        ("", "", ['{"s": "x"}']),
    ),
    "stray-closer value": ("glm", "<tool_call>f", "</arg_value></tool_call>", ("", "", ["{}"])),
    "stray-closer call": ("deepseek", CALL.removesuffix(LAST), "<｜tool▁call▁end｜>" + LAST, ("", "", ["{}"])),
    "repeated-opener call": ("hermes", "Hi", '<tool_call><tool_call>{"name": "f"}</tool_call>', ("", "Hi", ["{}"])),
    "missing-closer pairs": ("qwen3_coder", FUNCTION, "</tool_call>", ("", "", ["{}"])),
    "missing-closer noise": ("qwen3_coder", FUNCTION, "Hi", ("", "Hi", ["{}"])),
    "missing-closer key": (
        *("seed_oss", f"{SEED}<parameter=s>x\n", "<parameter=i>1</parameter></function></seed:tool_call>"),
        ("", "", ['{"s": "x\\n", "i": 1}']),
    ),
    "missing-closer raw": ("deepseek", f"{BEGIN}f<｜tool▁sep｜>{{}}", LAST, ("", "", ["{}"])),
    "missing-closer object": (
        *("hermes", '<tool_call>{"name": "f", "arguments": {}', "</tool_call>"),
        ("", "", ["{}"]),
    ),
    "ignored-text brace": (
        *("hermes", '<tool_call>{"name": "f", "arguments": {}}', "}</tool_call>"),
        ("", "", ["{}"]),
    ),
    "missing-closer": ("glm", "<tool_call>f<arg_key>s</arg_key><arg_value>x", "</tool_call>", ("", "", ['{"s": "x"}'])),
    "misspelt-closer": ("qwen3_coder", f"{FUNCTION}<parameter=s>x", f"</parameter1>{END}", ("", "", ['{"s": "x"}'])),
    "other-body": ("qwen3_coder", FUNCTION, '{"s":"x"}' + END, ("", "", ['{"s":"x"}'])),
    "ignored-text": ("qwen3_coder", FUNCTION, f"so <parameter=s>x</parameter>{END}", ("", "", ['{"s": "x"}'])),
    "stray-closer name": (
        *("mistral", "Hi[TOOL_CALLS]f[ARGS]", '[ARGS]{"s": "x"}'),
        ("", "Hi", ['{"s": "x"}']),
    ),
    "missing-value": ("glm", "<tool_call>f<arg_key>s</arg_key>", "</tool_call>", ("", "", [])),
    "wrapped-arguments": (
        *("glm", "<tool_call>f<arg_key>input</arg_key><arg_value>", '{"s": "x"}</arg_value></tool_call>'),
        ("", "", ['{"s": "x"}']),
    ),
    "misspelt-name": (
        *("kimi_k2", "Hi", "<|tool_call_begin|>functions_f_2<|tool_call_argument_begin|>{}<|tool_call_end|>"),
        ("", "Hi", ["{}"]),
    ),
    "call-syntax": (
        *("lfm2", "<|tool_call_start|>[f(s=", "x + y)]<|tool_call_end|>"),
        ("", "", ['{"s": "x + y"}']),
    ),
    "misspelt-closer call": ("qwen3_coder", f"{FUNCTION}</function>", "</function1></tool_call>", ("", "", ["{}"])),
    "stray-closer key": (
        *("glm", "<tool_call>f<arg_key>s</arg_key>", "</arg_key><arg_value>x</arg_value></tool_call>"),
        ("", "", ['{"s": "x"}']),
    ),
    "ignored-member": (
        *("hermes", '<tool_call>{"name": "f", "arguments": {}, "x": ', '"x"}</tool_call>'),
        ("", "", ["{}"]),
    ),
    "fenced-call": (
        *("hermes", "```\n", '<tool_call>{"name": "f"}</tool_call>\n```'),
        ("", '```\n<tool_call>{"name": "f"}</tool_call>\n```', []),
    ),
    "invalid-json": ("functionary", "<function=f>{'s': 'x'}", "</function>", ("", "", ["{'s': 'x'}"])),
    "abandoned-header": ("deepseek", "Hi", BEGIN + CALL, ("", "Hi", ["{}"])),
    "unfinished-header": ("hermes", "Hi", '<tool_call>{"na', ("", 'Hi<tool_call>{"na', [])),
    "after-end": ("hermes", "Hi<|im_end|>", "<|im_end|>", ("", "Hi", [])),
    "call-in-reasoning": ("glm", "<think>Hm", "<tool_call>f</tool_call>.</think>Hi", ("Hm\n.", "Hi", ["{}"])),
    "held-too-long": (
        *("glm", "<tool_call>f<arg_key>o</arg_key><arg_value>", f"{LONG}</arg_value></tool_call>"),
        ("", "", [f'{{"o": "{LONG}"}}']),
    ),
    "value-type": (
        *("glm", "<tool_call>f<arg_key>i</arg_key><arg_value>x", "</arg_value></tool_call>"),
        ("", "", ['{"i": "x"}']),
    ),
}

# What text alone can show: a control id is no example, and never shown.
SPELLED = ("fenced-call", "unfinished-header")

# What only ids can show: an id, or a piece of text that one id stands for.
IDS: dict[str, tuple[str, Any, str]] = {
    "stray-control": ("deepseek", "<｜tool▁sep｜>", "Hi."),
    "unknown-id": ("deepseek", 1 << 20, "Hi�."),
    "invalid-utf8": ("deepseek", b"\xff", "Hi�."),
    "call-without-tools": ("deepseek", "<｜tool▁call▁begin｜>", "Hi."),
}


def code_of(case: str) -> str:
    return case.partition(" ")[0]


def of_text(case: str) -> tuple[str, bytes, int]:
    format, before, rest, _ = TAGGED[case]
    return format, (before + rest).encode(), len(before.encode())


def tokens_of(case: str) -> Tokens:
    format = (TAGGED.get(case) or IDS[case])[0]
    return tokens(format, "ordinary" if case in SPELLED else "added")


def of_ids(case: str) -> tuple[str, list[int], int]:
    if case in IDS:
        format, one, _ = IDS[case]
        t = tokens_of(case)
        one = one if isinstance(one, int) else t.names[one] if isinstance(one, str) else t.table[one]
        return format, [*t.encode(b"Hi"), one, *t.encode(b".")], len(t.encode(b"Hi"))
    format, before, rest, _ = TAGGED[case]
    encoded = tokens_of(case).encode(before.encode())
    return format, encoded + tokens_of(case).encode(rest.encode()), len(encoded)


def parser_of(case: str, stream: bytes | list[int], **options: Any) -> hs.Parser:
    format = (TAGGED.get(case) or IDS[case])[0]
    vocab = None if isinstance(stream, bytes) else tokens_of(case).vocab
    tools = [] if case == "call-without-tools" else TOOLS
    return hs.Parser(format, vocab, check_stops=False, tools=tools, max_hold=HOLD, **options)


STREAMS = [
    *(pytest.param(case, *of_text(case)[1:], id=f"{case}-text") for case in TAGGED),
    *(pytest.param(case, *of_ids(case)[1:], id=f"{case}-ids") for case in [*TAGGED, *IDS]),
]
FIELDS = ("case", "stream", "at")
each = pytest.mark.parametrize(FIELDS, STREAMS)
refused = pytest.mark.parametrize(FIELDS, [row for row in STREAMS if code_of(row.values[0]) in EXPECTED])
accepted = pytest.mark.parametrize(FIELDS, [row for row in STREAMS if code_of(row.values[0]) not in EXPECTED])


def fed(parser: hs.Parser, pieces: Sequence[Any]) -> None:
    for piece in pieces:
        parser.feed_text(piece) if isinstance(piece, bytes) else parser.feed(piece)
    parser.finish()


def left(log: list[Any]) -> tuple[str, str, list[str]]:
    reasoning = "".join(event[1] for event in log if event[0] == "ReasoningDelta")
    content = "".join(event[1] for event in log if event[0] == "ContentDelta")
    return reasoning, content, [event[2] for event in log if event[0] == "ToolCallDelta"]


def test_every_code_that_harmony_lacks_has_its_example():
    assert set(CODES[CODES.index("unknown-id") : CODES.index("repeated-recipient")]) <= {*TAGGED, *IDS}
    assert set(CODES[CODES.index("call-without-tools") :]) <= {*TAGGED, *IDS}


@each
def test_lenient_notes_it_at_its_place_and_goes_on(case, stream, at):
    parser = parser_of(case, stream)
    log = run(parser, [stream])
    assert parser.deviations == (hs.Deviation(code_of(case), at),)
    assert left(log) == (TAGGED[case][3] if case in TAGGED else ("", IDS[case][2], []))


@each
def test_the_cut_changes_nothing(case, stream, at):
    outcomes = []
    twice = [stream[:60], stream[60:]], [stream[:-6], stream[-6:]]
    for pieces in chunkings(stream) if len(stream) < HOLD else twice:
        parser = parser_of(case, stream)
        outcomes.append((run(parser, pieces), parser.deviations, parser.usage))
    assert [outcome for outcome in outcomes if outcome != outcomes[0]] == []


@refused
def test_strict_stops_at_the_same_place_for_every_cut(case, stream, at):
    stops, code = set(), code_of(case)
    for pieces in chunkings(stream):
        parser = parser_of(case, stream, strict=True)
        with pytest.raises(hs.errors.ParseError) as caught:
            fed(parser, pieces)
        error = caught.value
        assert (error.code, error.expected, error.position) == (code, EXPECTED[code], at)
        assert error.state in ("TEXT", "SECTION", "PAIRS", "VALUE", "RAW", "WRAPPED", "AFTER", "PYTHON")
        stops.add((error.state, parser.position, parser.usage, parser.deviations))
        with pytest.raises(hs.errors.ParseError):
            parser.finish()
    assert len(stops) == 1


@accepted
def test_strict_accepts_what_breaks_no_rule(case, stream, at):
    strict = parser_of(case, stream, strict=True)
    assert run(strict, [stream]) == run(parser_of(case, stream), [stream])
    assert strict.deviations == (hs.Deviation(code_of(case), at),)


@pytest.mark.parametrize("reason", [None, "stop", "length"])
def test_an_error_carries_what_was_parsed_before_it(reason):
    parser = hs.Parser("hermes", strict=True)
    with pytest.raises(hs.errors.ParseError) as caught:
        parser.feed_text("<think>Hm</think>Hi</tool_call>\n")
    assert caught.value.events == (
        hs.MessageStart("assistant"),
        hs.ReasoningDelta("Hm", 7, 9),
        hs.ContentDelta("Hi", None, 17, 19),
        hs.MessageEnd("assistant", None, None, None, 19, 19),
    )
    with pytest.raises(hs.errors.ParseError):
        parser.finish(reason)
    parser.reset()
    assert parser.feed_text("Hi")[1:] == (hs.ContentDelta("Hi", None, 0, 2),)
