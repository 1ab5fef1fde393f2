"""How input comes into the tag machine: pieces, ids, what is held, and ends (docs/tags.md, 2, 7 and 8)."""

from __future__ import annotations

import gc
import sys

import pytest
from counted import instructions
from streams import run
from tag_cases import TOOLS, ids, read
from tag_streams import tokens

import harmonystream as hs
from harmonystream.formats import format_of

CALL = "<tool_call>f<arg_key>s</arg_key><arg_value>x</arg_value></tool_call>"


def test_one_message_from_the_first_byte_to_the_stop():
    parser = hs.Parser("hermes")
    assert parser.feed_text("") == ()
    assert parser.role is None
    assert parser.feed_text("Hi") == (hs.MessageStart("assistant"), hs.ContentDelta("Hi", None, 0, 2))
    assert (parser.role, parser.channel, parser.recipient, parser.content_type) == ("assistant", None, None, None)
    assert parser.feed_text("<|im_end|>") == ()
    assert parser.finish() == (hs.MessageEnd("assistant", None, None, None, 2, 12), hs.StreamEnd("stop", 12, 12))
    assert parser.region is hs.Region.DONE
    assert hs.Parser("hermes").finish() == (hs.StreamEnd(None, 0, 0),)


def test_the_end_of_a_stream_ends_its_message():
    assert run(hs.Parser("hermes"), ["Hi"], "stop")[2:] == [
        ("MessageEnd", "assistant", None, None, None, 2, 2),
        ("StreamEnd", "stop", 2, 2),
    ]
    assert run(hs.Parser("hermes"), ["Hi"])[-1] == ("StreamEnd", None, 2, 2)
    assert run(hs.Parser("hermes"), ["Hi"], "length")[-1] == ("StreamEnd", "length", 2, 2)


@pytest.mark.parametrize(
    ("text", "stop", "length", "unknown"),
    [
        ("<tool_call>f", (), (), ()),
        ("<tool_call>f<arg_key>s</arg_key><arg_value>", False, False, False),
        (CALL[: -len("</tool_call>")], True, False, False),
        (CALL[:-1], True, False, False),
        (CALL, True, True, True),
        ('<tool_call>f{"a": 1', False, False, False),
        ('<tool_call>f{"a": 1}', True, False, True),
    ],
)
def test_a_call_at_the_end_of_a_stream(text, stop, length, unknown):
    for reason, complete in (("stop", stop), ("length", length), (None, unknown)):
        ends = [event for event in run(hs.Parser("glm"), [text], reason) if event[0] == "ToolCallEnd"]
        assert [end[2] for end in ends] == ([] if complete == () else [complete])


def test_ranges():
    text = f"<think>a</think>b\n{CALL}c<|user|>"
    some = tokens("glm")
    for stream, vocab, spans in (
        (text, None, [(0, 0), (7, 8), (16, 17), (18, 30), (61, 74), (74, 74), (86, 87), (87, 95)]),
        (
            some.encode(text.encode()),
            some.vocab,
            [(0, 0), (1, 2), (3, 4), (5, 7), (11, 13), (13, 13), (14, 15), (15, 16)],
        ),
    ):
        parser = hs.Parser("glm", vocab, check_stops=False)
        log = run(parser, [stream])
        assert [(event[0], *event[-2:]) for event in log if event[0] != "StreamEnd"] == [
            (name, *span)
            for name, span in zip(
                [
                    *(
                        "MessageStart",
                        "ReasoningDelta",
                        "ContentDelta",
                        "ToolCallStart",
                        "ToolCallDelta",
                        "ToolCallEnd",
                    ),
                    *("ContentDelta", "MessageEnd"),
                ],
                spans,
            )
        ]


def test_labels_are_where_tokens_land():
    some = tokens("glm")
    stream = some.encode(f"<think>a\n</think>b{CALL}c<|user|>d".encode())
    parser = hs.Parser("glm", some.vocab)
    labels = hs.label(stream, "glm", vocab=some.vocab)
    parser.feed(stream)
    parser.finish()
    assert [labels.count(region) for region in hs.Region] == list(parser.usage)
    assert [hs.Region(label).name[0] for label in labels] == [*"HRRHCHHHHHHAHHCHD"]


# --- ids ----------------------------------------------------------------------------------------------------------


def test_inert_and_unknown_ids():
    assert ids("think", "a", "<|pad|>", "b") == ("", "ab", [], ["stray-control"])
    assert ids("think", "a<think", "<|pad|>", ">b") == ("", "a<think>b", [], ["stray-control"])
    assert ids("think", "a", 1 << 30, "b") == ("", "a�b", [], ["unknown-id"])
    assert ids("think", "a", 0xFFFFFFFF) == ("", "a�", [], ["unknown-id"])


def test_an_inert_id_ends_an_incomplete_character():
    table = tokens("think").table
    halves = [table[b"\xe6\x97"], table[b"\xa5\xe6"]]
    assert ids("think", *halves) == ("", "日�", [], ["invalid-utf8"])
    assert ids("think", halves[0], "<|pad|>", table[b"\xa5"])[:2] == ("", "��")


def test_characters_split_over_tokens_in_a_value():
    some = tokens("glm", "plain")
    value = [some.table[piece] for piece in (b"\xe6\x97", b"\xa5\xe6", b"\x97", b"\xa5")]
    begun, ended = CALL.encode().split(b"x")
    found = ids("glm", *some.encode(begun), *value, *some.encode(ended), vocabulary="plain")
    assert found == ("", "", [("f", '{"s": "日日"}')], [])


def test_a_token_may_end_one_thing_and_begin_another():
    vocab = hs.vocab.from_bytes(
        [
            b"a\n<th",
            b"ink>b</think>c\n",
            b"\n<tool_call>f<arg_key>s</",
            b"arg_key><arg_value>x</arg_value></tool_call>d",
        ],
        {},
    )
    done = hs.parse([0, 1, 2, 3], "glm", vocab=vocab)
    assert (done.reasoning, done.content, [call.arguments for call in done.tool_calls]) == (
        "b",
        "a\nc\nd",
        ['{"s": "x"}'],
    )
    parser = hs.Parser("glm", vocab, check_stops=False)
    log = [event for tid in range(4) for event in parser.feed(tid)] + [*parser.finish()]
    assert [(event.start, event.stop) for event in log] == [
        *((0, 0), (0, 1), (1, 2), (2, 2), (2, 3), (3, 4), (4, 4), (4, 4), (4, 4), (4, 4)),
    ]


def test_long_tokens():
    """Longer than what a look sees."""
    long = b"x" * 5_000
    vocab = hs.vocab.from_bytes([long + b"\n<think>" + long, b"</think>" + long], {})
    done = hs.parse([0, 1, 1], "think", vocab=vocab)
    assert (done.reasoning.encode(), done.content.encode()) == (long, long + b"\n" + long * 2)
    assert [code for code, _ in done.deviations] == ["stray-closer"]


# --- what it costs ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="counts KiB as Linux does")
def test_what_is_held_is_given_back():
    import resource

    parser = hs.Parser("hermes")
    assert sys.getsizeof(parser) <= 1024
    for _ in range(20):
        parser.feed_text("<tool_call>{" + " " * 100_000)
        parser.reset()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        hs.Parser("hermes").feed_text("<tool_call>{" + " " * 1_000_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32_000  # KiB; 200 of them would be 200,000


M3 = "]<]minimax[>["
INVOKE = f'{M3}<tool_call>{M3}<invoke name="f">'
HOSTILE = {
    "openers": ("hermes", "<tool_call>"),
    "objects": ("hermes", "<tool_call>{"),
    "strings": ("hermes", '<tool_call>{\\"'),
    "closers": ("qwen3_coder", "<tool_call><function=f><parameter=s>", "</parameter> x"),
    "newlines": ("think", "a\n\n\n"),
    "noise": ("qwen3_coder", "<tool_call><function=f>", "<parameter=s>x</parameter> noise "),
    "keys": ("glm", "<tool_call>f", "<arg_key>"),
    "stops": ("hermes", "<|im_end|> "),
    "spaces": ("deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}", " "),
    "fences": ("deepseek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>```\n{}", "\n`"),
    "bare": ("qwen3_coder", "<function=f>"),
    "names": ("glm", "<tool_call>a\n"),
    "keys in a value": ("glm", "<tool_call>f<arg_key>s</arg_key><arg_value>", "<arg_key>i</arg_key> "),
    "ends of a name": ("mistral", "[TOOL_CALLS]f[ARGS]", "[ARGS]"),
    "elements": ("minimax_m3", INVOKE, f"{M3}<s>x{M3}</s>"),
    "elements that do not close": ("minimax_m3", INVOKE, f"{M3}<s>x"),
    "elements in each other": ("minimax_m3", INVOKE, f"{M3}<any>"),
    "closers of the call's name": ("minimax_m3", f"{INVOKE}{M3}<invoke>", f"{M3}</invoke> x"),
    "closers of elements that are not open": ("minimax_m3", INVOKE, f"{M3}</s>"),
    "noise between elements": ("minimax_m3", INVOKE, f"noise {M3}<s>x{M3}</s>"),
}


@pytest.fixture(scope="module")
def hostile_costs(tmp_path_factory):
    """By case: the instructions for 20,000 characters, and for four times as many."""
    steps = []
    for format, *text in HOSTILE.values():
        opening, unit = ("", *text)[-2:]
        steps += [(format, [opening + unit * (size // len(unit))], 64) for size in (20_000, 80_000)]
    counted = instructions(steps, TOOLS, tmp_path_factory.mktemp("hostile"))
    return dict(zip(HOSTILE, zip(counted[::2], counted[1::2])))


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.parametrize("case", HOSTILE)
def test_time_is_linear(case, hostile_costs):
    """Four times the text takes no more than five times as much; sixteen times would be quadratic."""
    short, long = hostile_costs[case]
    assert long < 5 * short


def test_many_pieces_of_text_are_read_as_one():
    text = "a" * 10 + "<think>\n" + "b <c" * 1000 + "</think>" + CALL * 50
    assert read("glm", text)[2] == [("f", '{"s": "x"}')] * 50


def held(format: str) -> list[tuple[str, str]]:
    """What is held in this format at its beginning: a text, and a unit that goes on with it for long."""
    row = format_of(format)
    opener = "".join(markers[0] for markers in (row.section, row.call) if markers and isinstance(markers[0], str))
    openers = {opener, *(("", *markers[0]) if (markers := row.section) and not isinstance(markers[0], str) else ())}
    befores = sorted({"", *openers, *(f"{each}{{" for each in openers), "{", "[{", '{"name": "f", '})
    return [(before, unit) for before in befores for unit in (" ", '"name": "zz", ')]


TAGGED = sorted(set(hs.formats.names()) - {"harmony"})


@pytest.fixture(scope="module")
def held_costs(tmp_path_factory):
    """By format: the instructions for one more unit, after three of them and after 20,000 bytes."""
    steps, of = [], []
    for format in TAGGED:
        for before, unit in held(format):
            of.append(format)
            # the first unit may make the buffer of what is held grow, the second one does not
            steps += [(format, [before + unit * n, unit, unit], 0) for n in (3, 20_000 // len(unit))]
    counted = instructions(steps, TOOLS, tmp_path_factory.mktemp("held"))
    found = {format: [] for format in TAGGED}
    for format, short, long in zip(of, counted[::2], counted[1::2]):
        found[format].append((short, long))
    return found


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.parametrize("format", TAGGED)
def test_what_is_held_is_not_read_again(format, held_costs):
    """A scan of 20,000 held bytes would take many times as much as the few bytes that came."""
    for (short, long), case in zip(held_costs[format], held(format)):
        assert long < 2 * short + 1000, case
