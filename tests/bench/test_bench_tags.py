"""The benchmarks of the tag formats: their streams are what the cases say, and what grows is found."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import harmonystream as hs

pytest.importorskip("openai_harmony")

ROOT = Path(__file__).resolve().parents[2]
FORMATS = [name for name in hs.formats() if name != "harmony"]
WITH_CALLS = [name for name in FORMATS if name != "think"]
LITTLE = 16  # tokens in a block


@pytest.fixture(scope="module")
def bench():
    """The modules of bench/, which is no installed package."""
    sys.path.insert(0, str(ROOT))
    try:
        names = ("cases", "measure", "memory", "report", "streams")
        yield {name: importlib.import_module(f"bench.tag_{name}") for name in names}
    finally:
        sys.path.remove(str(ROOT))


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


def text_of(bench, ids):
    return b"".join(map(bench["streams"].vocab().token_bytes, ids)).decode()


def case_of(bench, format, name):
    return next(case for case in bench["cases"].cases(format) if case.name == name)


def readings(bench, format, name):
    """Of the long stream of a case, as ids and as text."""
    case = case_of(bench, format, name)
    return [read(case.stream(format, text, LITTLE)) for text in (False, True)]


# --- common cases -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_content_is_text_and_nothing_else(bench, format):
    streams = bench["streams"]
    stream = streams.content(format, LITTLE)
    text = text_of(bench, stream.blocks[0]) * 64
    reasoning, content, calls, parser = read(stream)
    assert (reasoning, content, calls, parser.deviations) == ("", text, [], ())
    assert read(streams.text_stream(format, False, LITTLE))[1] == text


@pytest.mark.parametrize("format", WITH_CALLS)
def test_a_call_is_one_string(bench, format):
    streams = bench["streams"]
    stream = streams.call(format, LITTLE)
    text = text_of(bench, stream.blocks[0]) * 64
    value = json.loads(f'"{text}"') if streams.FAMILIES[format].json else text
    for way in (stream, streams.in_chunks(stream), streams.text_stream(format, True, LITTLE)):
        reasoning, content, [arguments], parser = read(way)
        assert (reasoning, content, json.loads(arguments), parser.deviations) == ("", "", {"content": value}, ())


def test_a_model_without_calls_reasons_instead(bench):
    reasoning, content, calls, _ = read(bench["streams"].call("think", LITTLE))
    assert (len(reasoning) > 64 * LITTLE, content, calls) == (True, "It is done.", [])


def test_sizes_are_counted_in_ids_however_these_are_fed(bench):
    streams = bench["streams"]
    stream = streams.call("glm", 100)
    chunks = streams.in_chunks(stream)
    assert len(chunks.blocks[0][0]) == 64
    assert sum(len(piece) for piece in chunks.blocks[0]) == len(stream.blocks[0])
    assert chunks.tokens(1) == stream.tokens(1) == 64 * len(stream.blocks[0]) + len(stream.after)
    assert stream.tokens(64) == 64 * (len(stream.blocks[0]) + len(stream.after))
    assert streams.body_of(stream).tokens(64) == 64 * len(stream.blocks[0])


@pytest.mark.parametrize("format", FORMATS)
def test_markers_are_one_token_where_the_family_has_one(bench, format):
    streams = bench["streams"]
    writer = streams.Writer(format)
    ids = streams.smallest_ids(f"a{writer.think}é")
    assert len(ids) == 4
    assert streams.vocab().token_bytes(ids[0]) == b"a"


# --- worst cases ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_every_case_repeats_its_unit_to_a_block(bench, format):
    cases, spelled = list(bench["cases"].cases(format)), bench["streams"].vocab().token_bytes
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
def test_many_calls(bench, format, name):
    for _, content, calls, parser in readings(bench, format, name):
        assert (content.strip(), set(calls), parser.deviations) == ("", {calls[0]}, ())
        assert json.loads(calls[0]) == {"content": "a"}
        assert len(calls) == 64 * 3


def test_there_are_10_000(bench):
    block = case_of(bench, "glm", "10,000 keys").stream("glm", text=True).blocks[0]
    assert "".join(block).count("<arg_key>") * 64 == 10_048


@pytest.mark.parametrize("format", ["hermes", "qwen3_coder", "seed_oss", "glm"])
def test_wrapped_calls(bench, format):
    for name, more in (("10,000 wrapped calls", 0), ("10,000 wrapped calls in an array", 1)):
        for _, _, calls, parser in readings(bench, format, name):
            assert (calls, parser.deviations) == (['{"content": "a"}'] * (64 * 3 + more), ())
    for _, _, [arguments], parser in readings(bench, format, "wrapped, name last, string: quotes and escapes"):
        assert set(json.loads(arguments)["content"]) == {'"', "\\", "\n"}
        assert parser.deviations == ()
    for _, content, calls, _ in readings(bench, format, "wrapped: no name"):
        assert (calls, content.count("a") >= 64) == ([], True)


@pytest.mark.parametrize("format", ["hermes", "qwen3_coder", "seed_oss", "glm", "dsml"])
def test_keys_and_values(bench, format):
    for _, _, [arguments], _ in readings(bench, format, "10,000 keys"):
        assert list(json.loads(arguments)) == [f"key_{k}" for k in range(64 * 3)]
    for _, _, [arguments], _ in readings(bench, format, "value: all `<`"):
        assert json.loads(arguments) == {"content": "a" + "<" * 64 * LITTLE}
    for _, _, [arguments], parser in readings(bench, format, "held value: numbers"):
        assert json.loads(arguments)["o"]["a"][-2:] == [1, 1]
        assert parser.deviations == ()


@pytest.mark.parametrize("format", WITH_CALLS)
def test_nested_json_is_closed_again(bench, format):
    names = [case.name for case in bench["cases"].cases(format) if case.mirror]
    assert len(names) >= 2
    for name in names:
        for per in (1, 64):
            for text in (False, True):
                stream = case_of(bench, format, name).stream(format, text, LITTLE)
                reasoning, content, [arguments], parser = read(stream, per)
                depth = arguments.count("[")
                assert (reasoning, content, arguments.count("]")) == ("", "", depth), name
                assert depth >= per, name
                assert {deviation.code for deviation in parser.deviations} <= {"other-body"}, name


# --- measuring --------------------------------------------------------------------------------------------------------


def scripted(monkeypatch, measure, ratios):
    """Short streams take a nanosecond, long ones these, in turn."""
    longs = iter(ratios)
    monkeypatch.setattr(measure, "per_token", lambda stream, long: (lambda: next(longs)) if long else (lambda: 1.0))


def test_growth_is_the_median_of_the_rounds(bench, monkeypatch):
    measure, stream = bench["measure"], bench["streams"].content("glm", LITTLE)
    scripted(monkeypatch, measure, [1.0, 1.1, 1.2])
    found = measure.growth(stream, "x", "ids", 3, more=3)
    assert (found.ratio, found.long, found.short, found.met) == (1.1, 1.1, 1.0, True)
    assert (found.figure().name, found.figure().met) == ("`glm`, ids: x", True)


def test_what_seems_to_miss_its_floor_is_measured_longer(bench, monkeypatch):
    measure, stream = bench["measure"], bench["streams"].content("glm", LITTLE)
    scripted(monkeypatch, measure, [1.3, 1.0, 1.0])
    assert measure.growth(stream, "x", "ids", 1, more=2).met
    scripted(monkeypatch, measure, [1.3, 1.2, 1.0])
    found = measure.growth(stream, "x", "ids", 1, more=2)
    assert (found.ratio, found.met, found.figure().met) == (1.2, False, False)


def test_streams_are_read_in_whole_by_both(bench, monkeypatch):
    """All blocks count, however many streams they make."""
    measure, streams = bench["measure"], bench["streams"]
    stream = streams.call("kimi_k2", LITTLE)
    parser = stream.parser()
    monkeypatch.setattr(measure, "CLOCK", 0)
    assert measure.read(parser, stream, 64) > 0
    assert parser.position == len(stream.before) + stream.tokens(1)
    assert measure.read(parser, stream, 16) > 0
    assert parser.position == len(stream.before) + stream.tokens(4) // 4


def test_common_cases_have_floors(bench):
    [row] = bench["measure"].common(["hermes"], LITTLE, 1)
    floors = [(figure.name, figure.at_most) for figure in row.figures()]
    assert floors == [
        ("`hermes`: content, over Harmony's", 1.3),
        ("`hermes`, feed(id): one long string", 1.1),
        ("`hermes`, feed(64 ids): one long string", 1.1),
    ]


def test_memory_is_that_of_the_parser(bench):
    size, own, _ = bench["memory"].growth(bench["streams"].call("dsml", LITTLE))
    assert (size, own) == (sys.getsizeof(hs.Parser()) + 3 * 64, 0)  # with the first block of each of its three buffers


# --- tables -----------------------------------------------------------------------------------------------------------


def growths(bench):
    growth = bench["measure"].Growth
    return [growth("glm", "calm", "ids", 90.0, 99.0, 1.0999), growth("glm", "a|b", "text", 10.0, 12.0, 1.2)]


def test_a_line_of_common_cases(bench):
    calm, grown = growths(bench)
    row = bench["measure"].Common("glm", 26.0, 1.3, calm, grown)
    cells = bench["report"].common_cells(row)
    assert cells == ("`glm`", "26.0 ns", "1.30×", "PASS", "90.0 ns", "1.10×", "PASS", "10.0 ns", "1.20×", "FAIL")
    assert len(bench["report"].COMMON_HEAD) == len(cells)


def test_a_line_has_the_worst_of_a_format(bench):
    report, cases = bench["report"], growths(bench)
    cells = report.worst_cells(cases)
    assert cells == ("`glm`", "2", "1.20×", "FAIL", "a\\|b (text)", "99.0 ns", "calm (ids)")
    assert report.case_cells(cases[0]) == ("`glm`: calm", "ids", "90.0 ns", "99.0 ns", "1.10×", "PASS")
    assert (len(report.WORST_HEAD), len(report.CASE_HEAD)) == (7, 6)
    assert [figure.met for figure in report.figures([], [cases])] == [True, False]


def test_the_command_prints_one_format():
    command = [
        sys.executable,
        "-m",
        "bench",
        "--tags",
        "think",
        "--rounds=1",
        "--tokens=128",
        "--no-check",
        "--verbose",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "--markdown", "--old=no-such-python"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    heads = [block.split(" | ")[0] for block in done.stdout.split("\n\n") if block.startswith("|")]
    assert heads == ["| tag formats, per token", "| worst cases", "| worst case", "| tag formats, absolute"]
    assert done.stdout.count("| `think`: ") == 26
    assert " floors met" in done.stdout.splitlines()[-1]
