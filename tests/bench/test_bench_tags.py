"""The benchmarks of the tag formats: their streams are what the cases say, and what grows is found."""

from __future__ import annotations

import json
import sys

import pytest

import harmonystream as hs
from bench import report, streams
from bench.cases import blocks, memory, tags, worst
from bench.cases.tags import Growth

FORMATS = list(blocks.NAMES)
WITH_CALLS = [name for name in FORMATS if name != "think"]
LITTLE = 16  # tokens in a block


def read(stream, per=64):
    """(reasoning, content, the arguments of each call, the parser): of the first stream of so many blocks."""
    parser = stream.parser()
    feed = parser.feed_text if stream.text else parser.feed
    events = [*feed(stream.before)]
    for piece in (piece for block in [*stream.of(0, per), stream.after] for piece in block):
        events += feed(piece)
    events += parser.finish()
    calls: dict[int, str] = {}
    for event in events:
        if isinstance(event, hs.ToolCallStart):
            assert event.name == "write_file"
            calls[event.index] = ""
        elif isinstance(event, hs.ToolCallDelta):
            calls[event.index] += event.arguments
    texts = ["".join(e.text for e in events if isinstance(e, kind)) for kind in (hs.ReasoningDelta, hs.ContentDelta)]
    return *texts, list(calls.values()), parser


def text_of(ids):
    return b"".join(map(streams.vocab().token_bytes, ids)).decode()


def case_of(format, name):
    return next(case for case in worst.cases(format) if case.name == name)


def readings(format, name):
    """Of the long stream of a case, as ids and as text."""
    case = case_of(format, name)
    return [read(case.stream(format, text, LITTLE)) for text in (False, True)]


# --- common cases -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_content_is_text_and_nothing_else(format):
    stream = blocks.content(format, LITTLE)
    text = text_of(stream.blocks[0]) * 64
    reasoning, content, calls, parser = read(stream)
    assert (reasoning, content, calls, parser.deviations) == ("", text, [], ())
    assert read(blocks.as_text(stream))[1] == text


@pytest.mark.parametrize("format", WITH_CALLS)
def test_a_call_is_one_string(format):
    stream = blocks.call(format, LITTLE)
    text = text_of(stream.blocks[0]) * 64
    value = json.loads(f'"{text}"') if blocks.FAMILIES[format].json else text
    for way in (stream, blocks.in_chunks(stream), blocks.as_text(stream)):
        reasoning, content, [arguments], parser = read(way)
        assert (reasoning, content, json.loads(arguments), parser.deviations) == ("", "", {"content": value}, ())


def test_a_model_without_calls_reasons_instead():
    reasoning, content, calls, _ = read(blocks.call("think", LITTLE))
    assert (len(reasoning) > 64 * LITTLE, content, calls) == (True, "It is done.", [])


def test_sizes_are_counted_in_ids_however_these_are_fed():
    stream = blocks.call("glm", 100)
    chunks = blocks.in_chunks(stream)
    assert len(chunks.blocks[0][0]) == 64
    assert sum(len(piece) for piece in chunks.blocks[0]) == len(stream.blocks[0])
    assert chunks.tokens(1) == stream.tokens(1) == 64 * len(stream.blocks[0]) + len(stream.after)
    assert stream.tokens(64) == 64 * (len(stream.blocks[0]) + len(stream.after))
    assert blocks.body_of(stream).tokens(64) == 64 * len(stream.blocks[0])


@pytest.mark.parametrize("format", FORMATS)
def test_markers_are_one_token_where_the_family_has_one(format):
    writer = blocks.Writer(format)
    ids = streams.smallest_ids(f"a{writer.think}é")
    assert len(ids) == 4
    assert streams.vocab().token_bytes(ids[0]) == b"a"


# --- worst cases ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_every_case_repeats_its_unit_to_a_block(format):
    cases, spelled = list(worst.cases(format)), streams.vocab().token_bytes
    assert len({case.name for case in cases}) == len(cases) >= 13
    for case in cases:
        as_text, as_ids = case.stream(format, True), case.stream(format, False)
        assert as_text.per == as_ids.per == (8 if case.capped else 1)
        assert [len(stream.blocks) for stream in (as_text, as_ids)] == [64, 64]
        if case.units is None:
            text = "".join(as_text.blocks[0])
            assert text == case.unit * (len(text) // len(case.unit)), case
            assert len(text) >= 640, case
            assert 640 <= len(as_ids.blocks[0]) <= 2100, case
        if "{}" not in case.unit:
            spelling = b"".join(map(spelled, as_ids.blocks[0])).decode()
            assert spelling == case.unit * (len(spelling) // len(case.unit)), case


@pytest.mark.parametrize("format", WITH_CALLS)
@pytest.mark.parametrize("name", ["10,000 calls, in one section", "10,000 calls, in a section each"])
def test_many_calls(format, name):
    for _, content, calls, parser in readings(format, name):
        assert (content.strip(), set(calls), parser.deviations) == ("", {calls[0]}, ())
        assert json.loads(calls[0]) == {"content": "a"}
        assert len(calls) == 64 * 3


def test_there_are_10_000():
    block = case_of("glm", "10,000 keys").stream("glm", text=True).blocks[0]
    assert "".join(block).count("<arg_key>") * 64 == 10_048


@pytest.mark.parametrize("format", ["hermes", "qwen3_coder", "seed_oss", "glm"])
def test_wrapped_calls(format):
    for name, more in (("wrapped: 10,000 calls", 0), ("wrapped: 10,000 calls in an array", 1)):
        for _, _, calls, parser in readings(format, name):
            assert (calls, parser.deviations) == (['{"content": "a"}'] * (64 * 3 + more), ())
    for _, _, [arguments], parser in readings(format, "wrapped, name last, string: quotes and escapes"):
        assert set(json.loads(arguments)["content"]) == {'"', "\\", "\n"}
        assert parser.deviations == ()
    for _, content, calls, _ in readings(format, "wrapped: no name"):
        assert (calls, content.count("a") >= 64) == ([], True)


@pytest.mark.parametrize("format", ["hermes", "qwen3_coder", "seed_oss", "glm", "dsml"])
def test_keys_and_values(format):
    for _, _, [arguments], _ in readings(format, "10,000 keys"):
        assert list(json.loads(arguments)) == [f"key_{k}" for k in range(64 * 3)]
    for _, _, [arguments], _ in readings(format, "value: all `<`"):
        assert json.loads(arguments) == {"content": "a" + "<" * 64 * LITTLE}
    for _, _, [arguments], parser in readings(format, "held value: numbers"):
        assert json.loads(arguments)["o"]["a"][-2:] == [1, 1]
        assert parser.deviations == ()


@pytest.mark.parametrize("format", WITH_CALLS)
def test_nested_json_is_closed_again(format):
    names = [case.name for case in worst.cases(format) if case.mirror]
    assert len(names) >= 2
    for name in names:
        for per in (1, 64):
            for text in (False, True):
                stream = case_of(format, name).stream(format, text, LITTLE)
                reasoning, content, [arguments], parser = read(stream, per)
                depth = arguments.count("[")
                assert (reasoning, content, arguments.count("]")) == ("", "", depth), name
                assert depth >= per, name
                codes = {deviation.code for deviation in parser.deviations}
                assert codes <= {"other-body", "invalid-json"}, name  # it is deeper than what is checked


# --- measuring --------------------------------------------------------------------------------------------------------


def test_streams_are_read_in_whole_by_both(monkeypatch):
    """All blocks count, however many streams they make."""
    stream = blocks.call("kimi_k2", LITTLE)
    parser = stream.parser()
    monkeypatch.setattr(tags, "CLOCK", 0)
    assert tags.read(parser, stream, 64) > 0
    assert parser.position == len(stream.before) + stream.tokens(1)
    assert tags.read(parser, stream, 16) > 0
    assert parser.position == len(stream.before) + stream.tokens(4) // 4


def test_growth_compares_short_streams_with_the_long_one(monkeypatch):
    rounds = {False: 2.0, True: 3.0}
    monkeypatch.setattr(tags, "per_token", lambda stream, long: lambda: rounds[long])
    found = tags.growth(blocks.content("glm", LITTLE), "x", "ids", 3)
    assert (found.short, found.long, found.ratio, found.floor) == (2.0, 3.0, 1.5, {"`glm`, ids: x": False})


def test_common_cases_have_floors(monkeypatch):
    monkeypatch.setattr(tags, "compared", lambda *_: (20.0, 26.0, 1.3))
    row = tags.common("hermes", LITTLE, 1)
    strings = ("20.0 ns", "1.30×", "FAIL") * 2
    assert row.cells == ("`hermes`", "26.0 ns", "1.30×", "PASS", *strings)
    assert len(tags.COMMON_HEAD) == len(row.cells)
    assert row.floors == {
        "`hermes`: content, over Harmony's": True,
        "`hermes`, feed(id): one long string": False,
        "`hermes`, feed(64 ids): one long string": False,
    }


def test_a_line_has_the_worst_of_a_format_and_the_floors_of_all():
    cases = [Growth("glm", "calm", "ids", 90.0, 99.0, 1.0999), Growth("glm", "a|b", "text", 10.0, 12.0, 1.2)]
    row = tags.worst_row(cases)
    assert row.cells == ("`glm`", "2", "1.20×", "FAIL", "a|b (text)", "99.0 ns", "calm (ids)")
    assert list(row.floors.values()) == [True, False]
    listed = tags.case_row(cases[0])
    assert listed.cells == ("`glm`: calm", "ids", "90.0 ns", "99.0 ns", "1.10×", "PASS")
    assert (len(tags.WORST_HEAD), len(tags.CASE_HEAD)) == (7, 6)


@pytest.mark.parametrize("verbose", [False, True])
def test_worst_cases_are_listed_if_they_miss_or_on_demand(monkeypatch, verbose):
    ratios = iter([1.0] * 25 + [1.2])
    monkeypatch.setattr(tags, "compared", lambda *_: (1.0, 1.0, next(ratios)))
    monkeypatch.setattr(tags, "common", lambda *_: report.Row(()))
    made = list(tags.tables(["think"], LITTLE, 1, verbose))
    assert [head for head, _ in made] == [tags.COMMON_HEAD, tags.WORST_HEAD, tags.CASE_HEAD]
    assert [len(rows) for _, rows in made] == [1, 1, 26 if verbose else 1]


def test_memory_is_that_of_the_parser():
    stream = blocks.call("dsml", LITTLE)
    size, grown, _ = memory.growth(stream.parser(), stream.before, stream.blocks[0], 64 * LITTLE)
    # two of its three buffers have the header until it is known what follows it, which takes a second block
    assert (size, grown) == (sys.getsizeof(hs.Parser()) + (2 + 2 + 1) * 64, 0)


def test_memory_of_all_formats_is_measured():
    sizes, *growths = memory.tag_sizes(0.1)
    assert sizes.cells[2:4] == ("at most 1344", "PASS")
    assert [row.cells[1:4] for row in growths] == [("0.0 B", "at most 0", "PASS")] * 2
