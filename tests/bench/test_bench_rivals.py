"""The comparison with vLLM and SGLang, without them: its streams, its rows, and what it says of absent rivals."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

import harmonystream as hs
from bench import families, publish, report, streams
from bench.rivals import __main__ as command
from bench.rivals import measure
from bench.rivals.measure import Cell
from bench.rivals.output import Output, output_of
from bench.rivals.sides import Side

FORMATS = [family.format for family in families.FAMILIES]


# --- streams ----------------------------------------------------------------------------------------------------------


def text_in(ids):
    return "".join(map(streams.text_of, ids))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("n", [1, 63, 1000])
def test_a_call_is_its_rendering_cut_into_tokens(format, n):
    family = families.OF_FORMAT[format]
    stream = streams.call(family, n)
    [[name, arguments]] = stream.expected["calls"]
    value = json.dumps(arguments["content"])[1:-1] if family.json else arguments["content"]
    assert (name, list(arguments)) == ("write_file", ["content"])
    assert (text_in(stream.opening), text_in(stream.body), text_in(stream.closing)) == (
        *(family.before, value, family.after),
    )
    assert 0 <= len(stream.body) - n < 16


@pytest.mark.parametrize("format", FORMATS)
def test_each_id_is_its_text_and_markers_are_one_token_each(format):
    stream = streams.call(families.OF_FORMAT[format], 200)
    texts = stream.message()["texts"]
    assert b"".join(map(streams.vocab().token_bytes, stream.ids)) == "".join(texts).encode()
    added = [text for text in texts if text in families.ADDED_IDS]
    assert added
    assert sorted(added) == sorted(streams.ONE_TOKEN.findall("".join(texts)))
    assert not streams.MARKUP.search(text_in(stream.body))


def test_text_of_a_prompt_and_reasoning():
    content, reasoning = streams.content(families.FAMILIES[0], 100), streams.reasoning(100)
    assert text_in(content.ids) == content.expected["content"]
    assert text_in(reasoning.ids) == reasoning.expected["reasoning"] + "</think>\n\nIt is done."
    assert text_in(reasoning.prompt) == families.THINK.prompt


def test_a_string_ends_neither_in_white_space_nor_in_half_an_escape():
    ids = streams.marked_ids
    assert streams.text_in(ids("a\\nb"), True) == "a\nb"
    assert streams.text_in(ids("a\\nb"), False) == "a\\nb"
    assert streams.text_in(ids("a\\"), True) is None
    assert streams.text_in(ids("a\\\\"), True) == "a\\"
    assert streams.text_in(ids("a\\n"), True) is None
    assert streams.text_in(ids(" a"), False) is None


@pytest.mark.parametrize("n", [1, 63, 1000])
def test_a_call_in_harmony(n):
    stream = streams.call(streams.HARMONY, n)
    [[name, arguments]] = stream.expected["calls"]
    assert json.dumps(arguments["content"])[1:-1] == text_in(stream.body)
    assert 0 <= len(stream.body) - n < 16
    [call] = hs.parse(stream.ids).tool_calls
    assert (call.name, json.loads(call.arguments)) == (name, arguments)


# --- our side ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ours():
    with Side("with_harmonystream") as side:
        yield side


def stream_of(name, n=64):
    format, _, kind = name.partition(" ")
    family = {**families.OF_FORMAT, "harmony": streams.HARMONY}.get(format)
    return getattr(streams, kind)(family, n) if family else streams.reasoning(n)


HARMONY = ["harmony content", "harmony call"]


@pytest.mark.parametrize("name", [*(f"{name} {kind}" for name in FORMATS for kind in ("call", "content")), "reasoning"])
def test_ours_reads_what_the_streams_say(ours, name):
    stream = stream_of(name)
    answer = ours.load(stream.merged())
    assert answer["wrong"] == ""
    assert min(answer["took"], ours.round_of(stream)()) > 0


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", [*HARMONY, "hermes content", "hermes call"])
def test_ours_sends_what_the_streams_say(ours, name, whole):
    stream = replace(stream_of(name), framed=True, whole=whole)
    answer = ours.load(stream)
    assert answer["wrong"] == ""
    assert min(answer["took"], ours.round_of(stream)()) > 0


def test_a_side_reports_what_it_cannot_read(ours):
    stream = streams.content(streams.HARMONY, 8)
    with pytest.raises(RuntimeError, match="FormatError: unknown format 'none'"):
        ours.load(replace(streams.content(families.THINK, 8), format="none"))
    assert ours.load(replace(stream, expected=streams.expecting(content="else")))["wrong"] == "content"


def test_outputs_are_compared():
    expected = {"reasoning": "think", "content": "say", "calls": [["f", {"a": 1}]]}

    def faults_of(reasoning="think", content="\n\nsay", name="f", arguments='{"a": 1}'):
        words = Output()
        words.text(reasoning[:2], None)
        words.text(reasoning[2:], content)
        words.call(0, name, "")
        words.call(0, None, arguments)
        return words.wrong(expected)

    assert faults_of() == ""
    assert faults_of(arguments='{"a":1}') == ""
    assert faults_of(reasoning="thin", content="say it") == "reasoning, content"
    assert faults_of(arguments='{"a": 1') == "arguments"
    assert faults_of(name="g") == "calls"


def test_what_frames_say_is_pieced_together():
    def frames(*deltas):
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        return [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in [*chunks, {"choices": []}]]

    def call(**function):
        return {"tool_calls": [{"index": 0, "function": function}]}

    sent = frames({"reasoning": "th"}, {"reasoning": "ink"}, {"content": "say"}, call(name="f"), call(arguments="{}"))
    expected = {"reasoning": "think", "content": "say", "calls": [["f", {}]]}
    assert output_of([*sent, b"data: [DONE]\n\n"]).wrong(expected) == ""
    assert output_of([*sent[1:], b"data: [DONE]\n\n"]).wrong(expected) == "reasoning"
    for broken in (sent, [*sent, b"data: [DONE]"]):
        with pytest.raises(ValueError, match="the response ends with"):
            output_of(broken)


# --- rows -------------------------------------------------------------------------------------------------------------


class FakeSide:
    """Takes so many nanoseconds for a token of a stream of n."""

    def __init__(self, name, took, wrong=""):
        self.name, self._took, self._wrong = name, took, wrong

    def load(self, stream):
        return {"took": self.round_of(stream)(), "wrong": self._wrong}

    def round_of(self, stream):
        n = int(stream.name.rpartition(" ")[2])
        return lambda: self._took(1000 if n < 2000 else 16000)


def rows_of(*sides):
    """Of the calls and reasoning; contents are at the end."""
    rows = list(measure.measured(sides, (1000, 16000), rounds=1, seconds=0.0))
    return [row for row in rows if "content" not in row.cells[0]]


def test_every_format_is_measured_and_floors_follow_the_rivals_growth():
    rows = rows_of(FakeSide("harmonystream", lambda n: 20.0), FakeSide("vLLM", lambda n: n + 0.0))
    assert [row.cells[0] for row in rows[::2]] == [
        *(f"{family.label} (`{family.format}`), call" for family in families.FAMILIES),
        "DeepSeek-R1 (`think`), reasoning",
    ]
    absent = ("not run", "–", "", "")
    assert rows[0].cells[1:] == ("1,000", "20.0 ns", "1.00 µs", "50.0×", "50×", "PASS", *absent)
    assert rows[1].cells[1:] == ("16,000", "20.0 ns", "16.0 µs", "800×", "1,000×", "FAIL", *absent)
    assert (list(rows[0].floors.values()), list(rows[1].floors.values()), rows[-1].floors) == ([True], [False], {})
    assert rows[4].cells[7] == "no parser"
    assert len(measure.head({"vLLM": "1.2"})) == len(rows[0].cells)
    assert measure.head({"vLLM": "1.2"})[2:8] == ("harmonystream", "vLLM 1.2", "faster", "floor", "", "SGLang")


def test_a_rival_that_is_linear_has_no_floor_at_16k():
    fakes = FakeSide("harmonystream", lambda n: 20.0), FakeSide("SGLang", lambda n: 1000 + n / 5)
    short, long = rows_of(*fakes)[:2]
    assert (short.floors, long.floors) == ({"Qwen3, Hermes (`hermes`), call, 1,000, SGLang": True}, {})


def test_a_wrong_output_is_named_and_ours_meets_no_floor_with_one():
    fakes = FakeSide("harmonystream", lambda n: 20.0, "content"), FakeSide("vLLM", lambda n: 2e5, "arguments")
    assert rows_of(*fakes)[0].cells[2:7] == (
        *("20.0 ns (wrong: content)", "200 µs (wrong: arguments)", "10,000×", "50×", "FAIL"),
    )


def test_a_side_that_fails_has_no_time():
    class Failing(FakeSide):
        def load(self, stream):
            raise RuntimeError("KeyError: 'x'")

    sides = FakeSide("harmonystream", lambda n: 20.0), Failing("vLLM", None)
    assert measure.taken(sides, streams.reasoning(8), 1, 0.0) == {
        "harmonystream": Cell(20.0),
        "vLLM": Cell(None, "failed: KeyError: 'x'"),
    }
    row = measure.row("a", 1000, {"harmonystream": Cell(None, "failed"), "vLLM": Cell(50.0)}, {"vLLM": 50})
    assert row == (("a", "1,000", "failed", "50.0 ns", "–", "50×", "FAIL"), {"a, 1,000, vLLM": False})


def test_frames_are_measured_beside_vllm_alone():
    took = {"harmonystream": 100.0, "vLLM": 2e4, "SGLang": 1.0}
    fakes = [FakeSide(name, lambda n, value=value: value) for name, value in took.items()]
    rows = list(measure.framed(fakes, 1000, rounds=1, seconds=0.0))
    assert [(row.cells[0].partition(",")[0], row.cells[1], len(row.floors)) for row in rows] == [
        *[("Harmony", "1,000", 1)] * 2,
        *[("Hermes", "1,000", 0)] * 2,
        *[("Harmony", "100", 1)] * 2,
    ]
    assert rows[0].cells == ("Harmony, content", "1,000", "100 ns", "20.0 µs", "200×", "200×", "PASS")
    assert len(measure.head({"vLLM": "1.2"}, measure.FRAMED, ["vLLM"])) == len(rows[0].cells)
    alone = list(measure.framed(fakes[:1], 1000, rounds=1, seconds=0.0))
    assert [(row.cells[3], row.floors) for row in alone] == [("not run", {})] * 6
    assert report.summary(rows) == ("4 of 4 floors met", True)


def test_the_command_without_rivals_prints_ours(monkeypatch, capsys):
    monkeypatch.setattr(command, "pin", lambda: None)
    options = ["--no-check", "--rounds=1", "--seconds=0", "--sizes", "32", "--markdown", "--vllm=no-such-python"]
    options.append("--sglang=no-such-python")
    monkeypatch.setattr(sys, "argv", ["bench.rivals", *options])
    assert command.main() == 0
    printed = capsys.readouterr().out
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines() if line.startswith("|")]
    for format in FORMATS:
        lines = [row for row in rows if f"(`{format}`)" in row[0]]
        assert [row[0].rpartition(", ")[2] for row in lines] == ["call", "content"]
        assert {row[3] for row in lines} == {"not run"}
    assert "vLLM: not run (" in printed
    assert printed.splitlines()[-1] == "0 of 0 floors met"
    pages = {path: path.read_text(encoding="utf-8") for path in publish.PAGES}
    assert publish.page_of(printed, pages).name == "benchmarks-rivals.md"
