"""The benchmarks run, and what they time is what they say: sizes are tiny here, and no time is looked at."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import harmonystream as hs

for needed in ("openai_harmony", "orjson"):
    pytest.importorskip(needed)

ROOT = Path(__file__).resolve().parents[2]
TOKENS = 256


@pytest.fixture(scope="module")
def bench():
    """The modules of bench/, which is no installed package."""
    sys.path.insert(0, str(ROOT))
    try:
        names = ("official", "old_release", "ours", "publish", "ratios", "report", "rows", "streams", "text_mode")
        names += ("tag_cases", "tag_measure", "tag_memory", "tag_report", "tag_streams")
        yield {name: importlib.import_module(f"bench.{name}") for name in names}
    finally:
        sys.path.remove(str(ROOT))


def run_bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", "--rounds=1", "--tokens=128", "--scale=0.01", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_the_command_prints_every_case(bench):
    done = run_bench("--no-check", "--markdown", "--old=no-such-python")
    assert (done.returncode, done.stderr) == (0, "")
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("|")]
    named = [line[0] for line in cells]
    for case in (
        "feed(id)",
        "feed(64 ids)",
        "label(",
        "a short answer",
        "a header that never ends",
        "a token of analysis",
    ):
        assert [name for name in named if name.startswith(case)], case
    for case in ("feed_text(4", "feed_text(64 KiB)", "a new Parser", "a parser", "growth", "cold load", "import"):
        assert [name for name in named if name.startswith(case)], case
    for case in (
        "`hermes`",
        "`think`",
        "feed_text(4 characters), `qwen3_coder`",
        "growth after 64k tokens of arguments",
    ):
        assert [name for name in named if name.startswith(case)], case
    assert bench["publish"].whole(done.stdout) == done.stdout
    assert "openai-harmony 0.0.4: not measured" in done.stdout
    assert "floors met" in done.stdout.splitlines()[-1]


def official_messages(bench, work):
    parser = bench["official"].parser_of(bench["streams"].encoding())
    bench["official"].read(parser, [*work.opening, *work.ids])
    parser.process_eos()
    return parser.messages


@pytest.mark.parametrize(
    "make",
    [
        "prose",
        "code_in_arguments",
        "chinese",
        "short_answer",
        "split_characters",
        "escapes_in_arguments",
        "many_messages",
    ],
)
def test_both_parsers_read_the_same_from_a_stream(bench, make):
    streams = bench["streams"]
    work = streams.short_answer() if make == "short_answer" else getattr(streams, make)(TOKENS)
    ours = hs.parse(work.opening + work.ids).messages
    theirs = official_messages(bench, work)
    assert [message.text for message in ours] == [message.content[0].text for message in theirs]
    assert [(message.channel, message.recipient) for message in ours] == [
        (message.channel, message.recipient) for message in theirs
    ]


def test_the_streams_are_what_the_cases_say(bench):
    streams = bench["streams"]
    usage = hs.parse(streams.short_answer().ids).usage
    assert usage.reasoning + usage.content + usage.arguments == 60
    endless = streams.endless_header(TOKENS)
    parser = hs.Parser()
    parser.feed(endless.opening)
    assert [deviation.code for deviation in parser.deviations] == ["header-too-long"]
    assert len(endless.ids) == TOKENS


def test_each_case_measures_its_own_stream(bench):
    for case in bench["ratios"].cases(TOKENS):
        assert case.run() > 0
        assert (
            bench["official"].per_token(
                bench["streams"].encoding(), case.work.opening, case.work.ids[:8], case.work.whole
            )
            > 0
        )


def test_a_rival_in_a_process_of_its_own(bench):
    """Any release will do to try the pipe: here it is the one of this environment."""
    rival = bench["old_release"].OldRelease(sys.executable)
    work = bench["streams"].short_answer()
    try:
        assert rival.version == version("openai-harmony")
        run = rival.round(work.name, work.opening, work.ids, work.whole)
        assert min(run(), run()) > 0
        with pytest.raises(RuntimeError, match="ended with status 1"):
            rival.round("broken", [], ["no id"], True)()
    finally:
        rival.close()


def test_floors_decide_the_verdict(bench):
    ratio, figure, report = bench["rows"].Ratio, bench["rows"].Figure, bench["report"]
    rows = [
        ratio("met", ours=10, newest=1000, floor=100),
        ratio("missed", ours=10, newest=999, floor=100),
        ratio("free", ours=10, newest=1),
        figure("small enough", 2, "µs", at_most=2),
        figure("too small", 499, "MB/s", at_least=500),
        figure("noted", 1, "ns"),
    ]
    assert [row.met for row in rows] == [True, False, None, True, False, None]
    assert [report.verdict(row) for row in rows] == ["PASS", "FAIL", "", "PASS", "FAIL", ""]
    assert report.summary(rows) == "2 of 4 floors met; missed: missed, too small"
    assert report.summary(rows[:1]) == "1 of 1 floors met"


def test_tables(bench):
    report, row = bench["report"], bench["rows"].Ratio("a case", ours=12.34, newest=1234, old=617, floor=25)
    cells = report.ratio_cells(row)
    assert cells == ("a case", "12.3 ns", "1,234 ns", "100×", "25×", "PASS", "617 ns", "50.0×")
    assert report.table(("x", "y"), [("ab", "1")], markdown=True) == "| x | y |\n| --- | --: |\n| ab | 1 |"
    assert report.table(("x", "y"), [("ab", "1")], markdown=False) == "x   y\nab  1"


def test_a_run_goes_into_the_page_and_the_readme(bench):
    publish = bench["publish"]
    head = "| per token | harmonystream | newest | faster | floor |  | old | faster |"
    ratios = "\n".join([head, "| --- " * 8 + "|", "| a | 1 | 2 | 3 | 4 | 5 | 6 | 7 |", "| b" + " | 0" * 7 + " |"])
    run = f"machine: X\n\n{ratios}\n\n| absolute |\n\nlast\n"
    start, end = publish.PAGE_BLOCK
    page = publish.published(f"text\n{start}old\n{end}\nmore", run)
    assert page == f"text\n{start}- machine: X\n\n{ratios}\n\n| absolute |\n\nlast\n\n{end}\nmore"
    start, end = publish.README_BLOCK
    assert (
        publish.excerpted(f"{start}| x |\n| a | 0 |\n{end}", run) == f"{start}| x |\n| a | 1 | 2 | 3 | 6 | 7 |\n{end}"
    )
    with pytest.raises(ValueError, match="is missing"):
        publish.published("no mark", run)


def test_a_part_of_a_run_is_not_published(bench):
    with pytest.raises(ValueError, match="the run has no table 'per token'"):
        bench["publish"].whole("machine: X\n\n| tag formats, per token | x |\n\n| absolute |\n")
