"""The comparison with vLLM and SGLang, without them: its streams, its reports, and what it says of absent rivals."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import harmonystream as hs

for needed in ("openai_harmony", "orjson"):
    pytest.importorskip(needed)

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("families", "measure", "ours", "publish", "rows", "said", "side", "streams", "table", "__main__")
FORMATS = ("hermes", "qwen3_coder", "seed_oss", "kimi_k2", "glm", "deepseek", "dsml")


@pytest.fixture(scope="module")
def bench():
    """The modules of bench/rivals/, which is no installed package."""
    sys.path.insert(0, str(ROOT))
    try:
        yield {name: importlib.import_module(f"bench.rivals.{name}") for name in MODULES}
    finally:
        sys.path.remove(str(ROOT))


def run_bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench.rivals", "--rounds=1", "--seconds=0", "--sizes", "32", "64", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


# --- streams ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("n", [1, 63, 1000])
def test_a_call_is_its_rendering_cut_into_tokens(bench, format, n):
    family = bench["families"].OF_FORMAT[format]
    stream = bench["streams"].call(family, n)
    [[name, arguments]] = stream.expected["calls"]
    value = json.dumps(arguments["content"])[1:-1] if family.json else arguments["content"]
    assert (name, list(arguments)) == ("write_file", ["content"])
    assert "".join(stream.texts) == family.before + value + family.after
    begin, end = stream.body
    assert "".join(stream.texts[begin:end]) == value
    assert 0 <= end - begin - n < 16


@pytest.mark.parametrize("format", FORMATS)
def test_each_id_is_its_text_and_markers_are_one_token_each(bench, format):
    families, streams = bench["families"], bench["streams"]
    vocab = bench["ours"].vocab()
    stream = streams.call(families.OF_FORMAT[format], 200)
    assert b"".join(map(vocab.token_bytes, stream.ids)) == "".join(stream.texts).encode()
    spelled = "".join(stream.texts)
    added = [text for text in stream.texts if text in families.ADDED]
    assert added
    assert sorted(added) == sorted(streams.ONE_TOKEN.findall(spelled))
    begin, end = stream.body
    assert not streams.MARKUP.search("".join(stream.texts[begin:end]))


def test_text_of_a_prompt_and_reasoning(bench):
    families, streams = bench["families"], bench["streams"]
    content = streams.content(families.FAMILIES[0], 100)
    assert "".join(content.texts) == content.expected["content"]
    reasoning = streams.reasoning(100)
    assert "".join(reasoning.texts) == reasoning.expected["reasoning"] + "</think>\n\nIt is done."
    assert "".join(map(streams.text_of, reasoning.prompt)) == families.THINK.prompt


def test_a_long_call_repeats_its_block(bench):
    stream = bench["streams"].long_call(bench["families"].OF_FORMAT["kimi_k2"])
    begin, end = stream.body
    blocks = bench["streams"].BLOCKS
    size = (end - begin) // blocks
    assert size >= bench["streams"].BLOCK
    assert stream.ids[begin:end] == stream.ids[begin : begin + size] * blocks


def test_a_string_ends_neither_in_white_space_nor_in_half_an_escape(bench):
    text_in, ids = bench["streams"].text_in, bench["streams"].marked_ids
    assert text_in(ids("a\\nb"), True) == "a\nb"
    assert text_in(ids("a\\nb"), False) == "a\\nb"
    assert text_in(ids("a\\"), True) is None
    assert text_in(ids("a\\\\"), True) == "a\\"
    assert text_in(ids("a\\n"), True) is None
    assert text_in(ids(" a"), False) is None


@pytest.mark.parametrize("n", [1, 63, 1000])
def test_a_call_in_harmony(bench, n):
    stream = bench["streams"].harmony_call(n)
    begin, end = stream.body
    [[name, arguments]] = stream.expected["calls"]
    vocab = hs.vocab.o200k_harmony()
    assert json.dumps(arguments["content"])[1:-1].encode() == b"".join(map(vocab.token_bytes, stream.ids[begin:end]))
    assert 0 <= end - begin - n < 16
    [call] = hs.parse(stream.ids).tool_calls
    assert (call.name, json.loads(call.arguments)) == (name, arguments)


# --- sides --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ours(bench):
    side = bench["side"].Side("ours")
    yield side
    side.close()


@pytest.mark.parametrize("format", FORMATS)
def test_ours_reads_what_the_streams_say(bench, ours, format):
    family, streams = bench["families"].OF_FORMAT[format], bench["streams"]
    for what, stream in (("call", streams.call(family, 64)), ("content", streams.content(family, 64))):
        answer = ours.load(f"{format} {what}", stream)
        assert answer.get("wrong") == "", answer
        assert min(answer["took"], ours.again(f"{format} {what}")) > 0


def test_ours_reads_a_long_call_in_blocks(bench, ours):
    streams = bench["streams"]
    assert ours.load("long", streams.long_call(bench["families"].OF_FORMAT["dsml"])).get("wrong") == ""
    assert ours.growth("long", streams.BLOCKS) > 0


def test_ours_reads_reasoning_and_harmony(bench, ours):
    streams = bench["streams"]
    for name, stream in (("reasoning", streams.reasoning(64)), ("harmony", streams.harmony_content(64))):
        assert ours.load(name, stream).get("wrong") == ""


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("format", ["harmony", "hermes"])
def test_ours_sends_what_the_streams_say(bench, ours, format, whole):
    streams, family = bench["streams"], bench["families"].OF_FORMAT["hermes"]
    call = streams.harmony_call(64) if format == "harmony" else streams.call(family, 64)
    content = streams.harmony_content(64) if format == "harmony" else streams.content(family, 64)
    for what, stream in (("call", call), ("content", content)):
        name = f"frames {format} {what} {whole}"
        answer = ours.load(name, dataclasses.replace(stream, framed=True, whole=whole))
        assert answer.get("wrong") == "", answer
        assert min(answer["took"], ours.again(name)) > 0


def test_a_whole_response_takes_longer_than_its_body(bench, ours):
    body = dataclasses.replace(bench["streams"].harmony_call(4), framed=True)
    ours.load("body", body)
    ours.load("whole", dataclasses.replace(body, whole=True))
    assert ours.again("whole") > ours.again("body")


def test_what_frames_say_is_pieced_together(bench):
    def frames(*deltas):
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        return [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in [*chunks, {"choices": []}]]

    def call(**function):
        return {"tool_calls": [{"index": 0, "function": function}]}

    said_in = bench["said"].said_in
    sent = frames({"reasoning": "th"}, {"reasoning": "ink"}, {"content": "say"}, call(name="f"), call(arguments="{}"))
    expected = {"reasoning": "think", "content": "say", "calls": [["f", {}]]}
    assert said_in([*sent, b"data: [DONE]\n\n"]).wrong(expected) == ""
    assert said_in([*sent[1:], b"data: [DONE]\n\n"]).wrong(expected) == "reasoning"
    with pytest.raises(ValueError, match="the response ends with"):
        said_in(sent)
    with pytest.raises(ValueError, match="the response ends with"):
        said_in([*sent, b"data: [DONE]"])


def test_a_side_tells_what_it_cannot_read(bench, ours):
    stream = bench["streams"].harmony_content(8)
    unknown = {**vars(stream), "format": "no such format"}
    answer = ours.load("unknown", bench["streams"].Stream(**unknown))
    assert answer["error"].startswith("FormatError: unknown format 'no such format'")
    wrong = {**vars(stream), "expected": {"reasoning": "", "content": "something else", "calls": []}}
    assert ours.load("wrong", bench["streams"].Stream(**wrong))["wrong"] == "content"


def test_a_side_that_cannot_start_says_why(bench):
    with pytest.raises(RuntimeError, match=r"ended with status 1: ModuleNotFoundError: .*no_such_side"):
        bench["side"].Side("no_such_side")
    with pytest.raises(RuntimeError, match="no-such-python"):
        bench["side"].Side("ours", "no-such-python")


def test_what_is_said_is_compared(bench):
    expected = {"reasoning": "think", "content": "say", "calls": [["f", {"a": 1}]]}

    def said(reasoning="think", content="\n\nsay", name="f", arguments='{"a": 1}'):
        words = bench["said"].Said()
        words.text(reasoning[:2], None)
        words.text(reasoning[2:], content)
        words.call(0, name, "")
        words.call(0, None, arguments)
        return words.wrong(expected)

    assert said() == ""
    assert said(arguments='{"a":1}') == ""
    assert said(reasoning="thin", content="say it") == "reasoning, content"
    assert said(arguments='{"a": 1') == "arguments"
    assert said(name="g") == "calls"


# --- reports ------------------------------------------------------------------------------------------------------


class FakeSide:
    """Takes so many nanoseconds for a token of n."""

    def __init__(self, name, took, wrong=""):
        self.name, self._took, self._wrong = name, took, wrong
        self._sizes = {}

    def load(self, name, stream):
        self._sizes[name] = int(name.rpartition(" ")[2])
        return {"took": self.again(name), "wrong": self._wrong}

    def again(self, name):
        return self._took(self._sizes[name])


def rows_of(bench, *sides):
    """Of the calls and reasoning; contents are at the end."""
    rows = list(bench["measure"].measured(sides, (1000, 16000), rounds=1, seconds=0.0))
    return [row for row in rows if "content" not in row.name]


def test_every_format_is_measured_and_floors_follow_the_rivals_growth(bench):
    fakes = FakeSide("harmonystream", lambda n: 20.0), FakeSide("vLLM", lambda n: n + 0.0)
    rows = rows_of(bench, *fakes)
    assert [row.name for row in rows[::2]] == [
        *(f"{family.label} (`{family.format}`), call" for family in bench["families"].FAMILIES),
        "DeepSeek-R1 (`think`), reasoning",
    ]
    short, long = rows[0], rows[1]
    assert (short.ours.took, short.times("vLLM"), short.floors, short.met_by("vLLM")) == (20, 50, {"vLLM": 50}, True)
    assert (long.times("vLLM"), long.floors, long.met_by("vLLM")) == (800, {"vLLM": 1000}, False)
    assert rows[-1].floors == {}
    assert short.rivals["SGLang"].note == "not run"
    assert rows[4].rivals["SGLang"].note == "no parser"
    assert (short.times("SGLang"), short.met_by("SGLang")) == (None, None)


def test_frames_are_measured_beside_vllm_alone(bench):
    framed, table = bench["measure"].framed, bench["table"]
    took = {"harmonystream": 100.0, "vLLM": 2e4, "SGLang": 1.0}
    fakes = [FakeSide(name, lambda n, value=value: value) for name, value in took.items()]
    rows = list(framed(fakes, 1000, rounds=1, seconds=0.0))
    assert [(row.name.partition(",")[0], row.tokens, row.floors) for row in rows] == [
        ("Harmony", 1000, {"vLLM": 200}),
        ("Harmony", 1000, {"vLLM": 200}),
        ("Hermes", 1000, {}),
        ("Hermes", 1000, {}),
        ("Harmony", 100, {}),
        ("Harmony", 100, {}),
    ]
    assert [list(row.rivals) for row in rows] == [["vLLM"]] * 6
    cells = table.row_cells(rows[0])
    assert cells == ("Harmony, content", "1,000", "100 ns", "20.0 µs", "200×", "200×", "PASS")
    assert len(table.head({"vLLM": "1.2"}, table.FRAMED, ["vLLM"])) == len(cells)
    alone = list(framed(fakes[:1], 1000, rounds=1, seconds=0.0))
    assert [(row.rivals["vLLM"].note, row.floors) for row in alone] == [("not run", {})] * 6
    assert table.summary(rows, []) == ("2 of 2 floors met", True)


def test_a_part_of_a_run_is_not_published(bench):
    tables, whole = bench["publish"].TABLES, importlib.import_module("bench.publish").whole
    run = "\n\n".join(["machine", *(f"| {name} | x |" for name in tables)])
    assert whole(run, tables) == run
    with pytest.raises(ValueError, match="the run has no table 'token id to SSE bytes, per token'"):
        whole(run.replace("to SSE", ""), tables)


def test_a_rival_that_is_linear_has_no_floor_at_16k(bench):
    fakes = FakeSide("harmonystream", lambda n: 20.0), FakeSide("SGLang", lambda n: 1000 + n / 5)
    short, long = rows_of(bench, *fakes)[:2]
    assert (short.floors, long.floors) == ({"SGLang": 50}, {})


def test_a_wrong_output_is_named_and_ours_meets_no_floor_with_one(bench):
    table = bench["table"]
    fakes = FakeSide("harmonystream", lambda n: 20.0, "content"), FakeSide("vLLM", lambda n: 2e5, "arguments")
    row = rows_of(bench, *fakes)[0]
    assert row.met_by("vLLM") is False
    assert table.row_cells(row) == (
        "Qwen3, Hermes (`hermes`), call",
        "1,000",
        "20.0 ns (wrong: content)",
        "200 µs (wrong: arguments)",
        "10,000×",
        "50×",
        "FAIL",
        "not run",
        "–",
        "",
        "",
    )
    assert len(table.head({"vLLM": "1.2"})) == len(table.row_cells(row))
    assert table.head({"vLLM": "1.2"})[2:8] == ("harmonystream", "vLLM 1.2", "faster", "floor", "", "SGLang")


def test_the_last_line(bench):
    cell, row = bench["rows"].Cell, bench["rows"].Row
    figure = importlib.import_module("bench.rows").Figure
    fast = row("a", 1000, cell(1), {"vLLM": cell(50), "SGLang": cell(None, "not run")}, {"vLLM": 50})
    slow = row("b", 1000, cell(None, "failed: X"), {"vLLM": cell(50), "SGLang": cell(9)}, {"vLLM": 50, "SGLang": 9})
    assert bench["table"].summary([fast], [figure("c", 1, "×", at_most=1.1)]) == ("2 of 2 floors met", True)
    assert bench["table"].summary([fast, slow], []) == (
        "1 of 3 floors met; missed: b, 1,000, vLLM; b, 1,000, SGLang",
        False,
    )


def test_rivals_that_are_not_there(bench):
    rivals = bench["__main__"].rivals
    assert rivals(None) == (
        [],
        [
            f"{name}: not run, since no environment has it (make bench-rivals creates one)"
            for name in ("vLLM", "SGLang")
        ],
    )
    running, lines = rivals("no-such-python")
    assert running == []
    assert [line.partition(" (")[0] for line in lines] == ["vLLM: not run", "SGLang: not run"]


@pytest.mark.slow
def test_the_command_without_rivals_prints_ours(bench):
    done = run_bench("--no-check", "--markdown", "--rivals=no-such-python")
    assert done.returncode == 0, done.stderr
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("|")]
    for format in FORMATS:
        lines = [line for line in cells if f"(`{format}`)" in line[0]]
        assert [line[0].rpartition(", ")[2] for line in lines] == ["call", "call", "content"]
        assert {line[3] for line in lines} == {"not run"}
    assert [line[0] for line in cells if line[0].startswith("Harmony, ")] == [
        "Harmony, content",
        "Harmony, arguments",
        "Harmony, a whole response: content",
        "Harmony, a whole response: a call",
    ]
    assert bench["publish"].whole(done.stdout, bench["publish"].TABLES) == done.stdout
    assert "vLLM: not run (" in done.stdout
    assert " of 15 floors met" in done.stdout.splitlines()[-1]
