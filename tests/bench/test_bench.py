"""The benchmarks run, and what they time is what they say: sizes are tiny here, and no time is looked at."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import harmonystream as hs
from bench import __main__ as command
from bench import publish, report, streams
from bench.cases import alone, batch, emitters, memory, ratios, threads
from bench.clock import BLOCKS, Case, compared, last_over_first, medians
from bench.report import Row, figure
from bench.rivals import with_openai_harmony as official
from bench.rivals.sides import Side, interpreter_in, started
from bench.worker import Worker

TOKENS = 128


@pytest.fixture(scope="module")
def rival():
    """Any release will do to try the pipe: here it is the one of this environment."""
    with Side("with_openai_harmony") as side:
        yield side


# --- streams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", ["prose", "code_in_arguments", "chinese", "split_characters", "escapes_in_arguments", "many_messages"]
)
def test_both_parsers_read_the_same_from_a_stream(make):
    stream = getattr(streams, make)(256)
    both_read_the_same(stream)
    assert len(stream.body) >= 250


def test_both_parsers_read_the_same_from_a_short_answer():
    both_read_the_same(streams.short_answer())
    usage = hs.parse(streams.short_answer().ids).usage
    assert usage.reasoning + usage.content + usage.arguments == 60


def both_read_the_same(stream):
    parser = official.new_parser()
    official.read(parser, stream.ids)
    parser.process_eos()
    ours, theirs = hs.parse(stream.ids).messages, parser.messages
    assert [message.text for message in ours] == [message.content[0].text for message in theirs]
    assert [(message.channel, message.recipient) for message in ours] == [
        (message.channel, message.recipient) for message in theirs
    ]


def test_the_endless_header_is_beyond_its_cap():
    endless = streams.endless_header(TOKENS)
    parser = hs.Parser()
    parser.feed(endless.opening)
    assert [deviation.code for deviation in parser.deviations] == ["header-too-long"]
    assert len(endless.body) == TOKENS


@pytest.mark.parametrize("kind", ["content", "reasoning", "arguments"])
def test_the_hand_written_path_sends_the_same_bytes(kind):
    stream = emitters.works(TOKENS)[kind]
    emitter = emitters.opened("Chat", stream)
    made = [frame for tid in stream.body if (frame := emitter.feed(tid))]
    assert official.frames(stream.opening, stream.body) == made
    assert len(made) > TOKENS // 2


def test_the_hand_written_path_asks_again_when_a_message_begins():
    ids = streams.harmony_ids(
        f"{streams.ANALYSIS}Hm<|end|><|start|>assistant{streams.CALL}{{}}<|call|>"
        f'<|start|>assistant{streams.FINAL}"Yes"<|return|>'
    )
    frames = b"".join(official.frames([], ids)).decode().split("\n\n")
    deltas = [json.loads(frame[6:])["choices"][0]["delta"] for frame in frames[:-1]]
    call = {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}
    assert deltas == [{"reasoning": "Hm"}, call, {"content": '"'}, {"content": "Yes"}, {"content": '"'}]


@pytest.mark.parametrize("api", emitters.EMITTERS)
def test_what_is_hidden_is_read_and_not_sent(api):
    stream = emitters.works(TOKENS)["hidden reasoning"]
    shown, hidden = (emitters.opened(api, stream, hidden) for hidden in (False, True))
    assert len(b"".join(map(shown.feed, stream.body))) > 50 * TOKENS
    assert b"".join(map(hidden.feed, stream.body)) == b""
    assert hidden.parser.region is hs.Region.REASONING


# --- clocks ---------------------------------------------------------------------------------------------------------


def test_a_round_opens_once_and_reads_all_pieces():
    made = []

    def opened():
        made.append([])
        return made[-1].append

    assert Case("x", opened, ["a", "b"], units=2, repeat=3).round() > 0
    assert made == [["a", "b"] * 3]


def test_contenders_take_turns_and_the_first_round_does_not_count():
    order = []

    def contender(name, *values):
        left = iter(values)
        return lambda: order.append(name) or next(left)

    took = medians({"a": contender("a", 9, 1, 2, 3), "b": contender("b", 9, 6, 5, 4)}, rounds=3)
    assert (took, "".join(order)) == ({"a": 2, "b": 5}, "abababab")


def test_growth_is_the_median_of_ratios_and_what_seems_to_miss_is_measured_longer():
    def rounds_of(*values):
        left = iter(values)
        return lambda: next(left)

    def short():
        return 1.0

    assert compared(short, rounds_of(1.0, 1.1, 1.2), 1.1, rounds=3, more=3) == (1.0, 1.1, 1.1)
    assert compared(short, rounds_of(1.3, 1.0, 1.0), 1.1, rounds=1, more=2)[2] == 1.0
    assert compared(short, rounds_of(1.3, 1.2, 1.0), 1.1, rounds=1, more=2)[2] == 1.2


def test_the_last_block_comes_after_all_others():
    feeds = []

    def opened():
        feeds.append([])
        return feeds[-1].append

    assert last_over_first(opened, [7] * 8, rounds=1) > 0
    assert [len(fed) for fed in feeds] == [8, 8 * BLOCKS] * 2  # the first round warms up


# --- cases ----------------------------------------------------------------------------------------------------------


def test_every_case_feeds_as_many_units_as_it_says():
    for case in ratios.cases(TOKENS):
        pieces = case.ours.pieces
        fed = sum(1 if isinstance(piece, int) else len(piece) for piece in pieces)
        assert fed == case.ours.units, case.ours.name
        assert case.ours.round() > 0
    for group in alone.groups(TOKENS).values():
        names = [each.case.name for each in group]
        assert len(set(names)) == len(names)


@pytest.mark.parametrize("api", emitters.EMITTERS)
@pytest.mark.parametrize("kind", ["content", "arguments"])
def test_every_block_of_a_long_response_has_the_same_work(api, kind):
    stream = emitters.works(TOKENS)[kind]
    emitter = emitters.opened(api, stream)
    frames = [len([frame for tid in stream.body if (frame := emitter.feed(tid))]) for _ in range(3)]
    assert frames[1] == frames[2] > TOKENS // 2


def test_growth_has_a_floor_for_each_api():
    rows = list(emitters.growth(64, 1))
    assert [row.cells[0].partition(":")[0] for row in rows[2::2]] == ["Chat", "Responses", "Messages"]
    assert [row.cells[2] for row in rows] == ["at most 1.1"] * 8


def test_a_step_is_one_token_for_each_open_answer(monkeypatch):
    monkeypatch.setattr(batch, "STREAMS", 8)
    monkeypatch.setattr(batch, "STEPS", 2)
    for api in ("", "Chat"):
        busy = batch.filled(api)
        assert {busy.batch[slot].region for slot in busy.slots} == {hs.Region.CONTENT}
        assert [len(ids) for ids in busy.steps] == [8, 8]
        assert busy.round() > 0
    assert [case.round() > 0 for case in batch.cases()] == [True] * 3


def test_memory_is_measured_in_new_processes():
    rows = [*memory.sizes(64, 0.001), *memory.start_up(1)]
    assert [row.cells[2] for row in rows] == ["at most 1024"] * (len(rows) - 6) + ["at most 0"] * 3 + [
        *("at most 1e+06", "at most 60", "at most 30")
    ]
    assert rows[0].cells[1] == f"{sys.getsizeof(hs.Parser()):,} B"
    assert all(row.floors[row.cells[0]] for row in rows if row.cells[0].startswith("growth"))


# --- two threads ----------------------------------------------------------------------------------------------------


def test_without_two_free_cores_there_is_no_floor():
    busy = threads.verdict("columns", threads.Found(1.5, 1.93, 10, 60), 2, 11)
    note = "not judged: two processes get 1.93×; 2 cores, two of them free in 10 of 60 turns"
    assert (busy.cells[2:], busy.floors) == (("", "", note), {})
    judged = [threads.verdict("columns", threads.Found(got, 2.0, 11, 30), 2, 11) for got in (1.79, 1.8)]
    assert [list(row.floors.values()) for row in judged] == [[False], [True]]


class Speedups:
    """Workers with the speedups of the test."""

    def __init__(self, *speedups):
        self.speedups = list(speedups)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def speedup(self):
        return self.speedups.pop(0)


def test_only_turns_between_two_good_ones_of_processes_count(monkeypatch):
    apart, together = Speedups(2.0, 1.95, 1.5, 1.91, 2.09, 2.5, 2.0), Speedups(1.8, 0.9, 1.0, 1.7, 1.6, 1.1)
    both = {threads.processes: apart, threads.ThreadPoolExecutor: together}
    monkeypatch.setattr(threads, "Workers", lambda kind, case, cores, seconds: both[kind])
    assert threads.compared(0, [0, 1], 2, 6) == (1.75, (1.975 + 2.0) / 2, 2, 4)
    assert (len(apart.speedups), len(together.speedups)) == (2, 2)
    apart.speedups, together.speedups = [1.5, 1.5, 1.7], [1.0, 1.2]
    assert threads.compared(0, [0, 1], 1, 2) == (1.1, 1.55, 0, 2)


@pytest.mark.parametrize("at", [0, 3])
def test_what_a_worker_does(monkeypatch, at):
    monkeypatch.setattr(batch, "STREAMS", 8)
    monkeypatch.setattr(batch, "STEPS", 2)
    threads.prepare(at, seconds=0.001)
    busy = threads.OWN.busy
    positions = [busy.batch[slot].position for slot in busy.slots]
    threads.work()
    fed = [busy.batch[slot].position - before for slot, before in zip(busy.slots, positions)]
    assert fed == [threads.FEW * threads.CASES[at][2]] * 8
    busy.forget()
    if busy.api:
        assert busy.batch.close(0).response()["choices"][0]["message"]["content"] == ""


def test_threads_are_measured_in_a_process_of_their_own():
    with Worker("cases.threads") as new:
        found, cores = new.call("speedup", 0, 1, 1, 0.001)
    together, apart, free, turns = found
    assert (cores >= 1, together > 0, apart > 0, free in (0, 1), turns) == (True, True, True, True, 1)


# --- rivals in processes of their own -------------------------------------------------------------------------------


def test_a_rival_takes_turns_in_its_own_process(rival):
    assert (rival.name, rival.version) == ("openai-harmony", version("openai-harmony"))
    rows = list(ratios.measured(64, 1, rival, rival))
    assert [row.cells[0] for row in rows] == [case.ours.name for case in ratios.cases(64)]
    assert [row.cells[4] for row in rows if row.floors] == [
        *("25×", "25×", "25×", "100×", "100×", "300×", "60×", "200×", "15×", "15×")
    ]
    assert rival.call("new_parsers", 2) > 0


def test_a_failure_in_the_other_process_is_reported(rival):
    with pytest.raises(RuntimeError, match="KeyError: 'no such stream'"):
        rival.call("again", "no such stream")
    assert rival.call("new_parsers", 1) > 0  # and it goes on


def test_a_process_that_cannot_start_says_why():
    with pytest.raises(RuntimeError, match=r"ended with status 1: ModuleNotFoundError: .*no_such_side"):
        Side("no_such_side")
    with pytest.raises(RuntimeError, match="no-such-python"):
        Side("with_harmonystream", "no-such-python")


def test_a_rival_that_is_not_there_is_named():
    assert interpreter_in(".venv-no-such", None) is None
    assert interpreter_in(".venv-no-such", "given") == "given"
    absent = "vLLM: not run, since no environment has it (make bench-rivals creates one)"
    assert started("vLLM", "with_vllm", None, "bench-rivals") == (None, absent)
    side, line = started("vLLM", "with_vllm", "no-such-python", "bench-rivals")
    assert (side, line.partition(" (")[0]) == (None, "vLLM: not run")


# --- tables and pages -----------------------------------------------------------------------------------------------


def test_floors_decide_the_verdict():
    rows = [
        ratios.ratio("met", ours=10, newest=1000, floor=100),
        ratios.ratio("missed", ours=10, newest=999, floor=100),
        ratios.ratio("free", ours=10, newest=1),
        figure("small enough", 2, "µs", at_most=2),
        figure("too small", 499, "MB/s", at_least=500),
        figure("noted", 1, "ns"),
    ]
    verdicts = [row.cells[5] for row in rows[:3]] + [row.cells[3] for row in rows[3:]]
    assert verdicts == ["PASS", "FAIL", "", "PASS", "FAIL", ""]
    assert report.summary(rows) == ("2 of 4 floors met; missed: missed; too small", False)
    assert report.summary(rows[:1]) == ("1 of 1 floors met", True)


def test_a_slower_machine_may_take_longer_but_not_scale_worse(monkeypatch):
    monkeypatch.setattr(report, "slowness", lambda: 2.0)
    rows = [figure("time", 4, "µs", at_most=2), figure("longer", 4.1, "ns", at_most=2)]
    rows += [figure("speed", 250, "MB/s", at_least=500), figure("growth", 1.2, "×", at_most=1.1)]
    assert [row.cells[2] for row in rows] == [*["at most 2 (4.00 here)"] * 2, "at least 500 (250 here)", "at most 1.1"]
    assert [row.cells[3] for row in rows] == ["PASS", "FAIL", "PASS", "FAIL"]


def test_tables():
    row = ratios.ratio("a case", ours=12.34, newest=1234, old=617, floor=25)
    assert row.cells == ("a case", "12.3 ns", "1,234 ns", "100×", "25×", "PASS", "617 ns", "50.0×")
    assert len(row.cells) == len(ratios.HEAD)
    rows = [Row(("a|b", "1"))]
    assert report.table(("x", "y"), rows, markdown=True) == "| x | y |\n| --- | --: |\n| a\\|b | 1 |"
    assert report.table(("x", "y"), rows, markdown=False) == "x    y\na|b  1"


def test_a_run_goes_into_the_page_and_the_readme():
    head = "| per token | harmonystream | newest | faster | floor |  | old | faster |"
    table = "\n".join([head, "| --- " * 8 + "|", "| a | 1 | 2 | 3 | 4 | 5 | 6 | 7 |", "| b" + " | 0" * 7 + " |"])
    run = f"machine: X\n\n{table}\n\n| absolute |\n\nlast\n"
    start, end = publish.PAGE_BLOCK
    page = publish.published(f"text\n{start}old\n{end}\nmore", run)
    assert page == f"text\n{start}- machine: X\n\n{table}\n\n| absolute |\n\nlast\n\n{end}\nmore"
    start, end = publish.README_BLOCK
    readme = publish.excerpted(f"{start}| x |\n| a | 0 |\n{end}", run)
    assert readme == f"{start}| x |\n| a | 1 | 2 | 3 | 6 | 7 |\n{end}"
    with pytest.raises(ValueError, match="is missing"):
        publish.published("no mark", run)


def test_the_pages_have_the_tables_that_the_commands_print():
    pages = {path: path.read_text(encoding="utf-8") for path in publish.PAGES}
    for path, text in pages.items():
        inner = publish.block(text, publish.PAGE_BLOCK)[1]
        run = inner.strip().removeprefix("- ").replace("\n- ", "\n")
        assert publish.page_of(run, pages) == path
        assert publish.published(text, run) == text
        page = publish.published(text, f"{run}\n\n| worst case |")  # which only some runs have
        assert publish.page_of(run, pages | {path: page}) == path
    with pytest.raises(ValueError, match="no page has just the tables of this run: absolute, per token"):
        publish.page_of("machine\n\n| per token |\n\n| absolute |\n", pages)


def test_the_command_prints_every_table(monkeypatch, capsys):
    monkeypatch.setattr(command, "pin", lambda: None)
    short = {"sizes": [], "start_up": [], "tag_sizes": []}
    for name in short:  # which have tests of their own
        monkeypatch.setattr(memory, name, lambda *_: [])
    monkeypatch.setattr(threads, "measured", lambda *_: [])
    monkeypatch.setattr(alone, "medians", lambda contenders, rounds: dict.fromkeys(contenders, 1.0))
    monkeypatch.setattr(emitters, "growth", lambda *_: [figure("too much", 2, "×", at_most=1)])
    monkeypatch.setattr(command.blocks, "NAMES", ("think",))
    monkeypatch.setattr(sys, "argv", ["bench", "--rounds=1", "--tokens=64", "--markdown", "--old=no-such-python"])
    assert command.main() == 1
    printed = capsys.readouterr().out
    assert " floors met; missed: " in printed.splitlines()[-1]
    assert "; too much" in printed.splitlines()[-1] or ": too much" in printed.splitlines()[-1]
    assert "openai-harmony 0.0.4: not run" in printed
    assert publish.page_of(printed, {path: path.read_text(encoding="utf-8") for path in publish.PAGES}) == (
        Path(command.__file__).parents[1] / "docs" / "benchmarks.md"
    )
