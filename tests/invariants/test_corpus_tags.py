"""Every case of corpus_tags/, as text and as ids of three vocabularies in two tokenisations, at every chunking."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from corpus_format_tags import TagCase, read_cases
from streams import chunkings, random_chunks, without_ranges
from tag_streams import by_place, deviations, expected, forms, outcome

import harmonystream as hs

CASES = list(read_cases())
MESSAGE = ("MessageStart", "MessageEnd")
MODES = {"both": ("text", "plain", "added", "ordinary"), "text": ("text", "plain"), "ids": ("added", "ordinary")}
LONG = 1500  # units from which on only some chunkings are tried


def streams(case: TagCase) -> Iterator[tuple[str, Any, hs.Vocab | None]]:
    """The streams that a case stands for: (name of the form, stream, vocabulary)."""
    for form, stream, vocab in forms(case.stream, case.options.format):
        if form.startswith(MODES[case.mode]):
            yield form, stream, vocab


every_case = pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])


def cuts(stream: Any, vocab: hs.Vocab | None) -> Iterator[list[Any]]:
    """Text and whole words are cut everywhere; of the other tokenisations, some cuts do."""
    if len(stream) < LONG and vocab is None:
        yield from chunkings(stream)
        return
    dice = random.Random(0)
    yield [stream]
    yield [stream[i : i + 1] for i in range(len(stream))]
    for _ in range(12):
        yield random_chunks(stream, dice)


def test_names_are_unique():
    names = [case.name for case in CASES]
    assert sorted(names) == sorted(set(names))


def test_every_report_has_a_case():
    names = {case.name.partition(".")[0] for case in CASES}
    counts = {"X": 19, "Q": 9, "C": 13, "D": 9, "K": 10, "G": 13, "S": 3}
    elsewhere = {  # corpus_tags/README.md says where
        *("FX08", "FX10", "FQ05", "FC02", "FC11", "FD03", "FD09"),
        *("FK04", "FK07", "FK09", "FK10", "FG11", "FG12", "FS03"),
    }
    reports = {f"F{kind}{n:02}" for kind, count in counts.items() for n in range(1, count + 1)}
    assert {name for name in names if name[0] == "F"} == reports - elsewhere


@every_case
def test_reference(case: TagCase):
    for form, stream, vocab in streams(case):
        result = case.options.reference(stream, vocab)
        assert [event for event in without_ranges(result.events) if event[0] not in MESSAGE] == case.log, form
        assert [code for code, _ in by_place(result.deviations)] == case.deviations, form


@every_case
def test_native_at_every_chunking(case: TagCase):
    for form, stream, vocab in streams(case):
        whole = expected(case.options.reference(stream, vocab))
        parser = case.options.parser(vocab)
        for chunks in cuts(stream, vocab):
            parser.reset()
            assert outcome(parser, chunks, case.options.finish) == whole, (form, chunks)


@every_case
def test_one_shot_is_the_sum_of_the_stream(case: TagCase):
    options = case.options
    _, stream, vocab = next(streams(case))
    done = hs.parse(
        stream,
        options.format,
        vocab=vocab,
        tools=options.declared,
        start=options.start,
        trim=options.trim,  # type: ignore[arg-type]
        finish_reason=options.finish,
    )
    texts = {"ReasoningDelta": "", "ContentDelta": ""}
    for event in case.log:
        if event[0] in texts:
            texts[str(event[0])] += str(event[1])
    assert (done.reasoning, done.content) == (texts["ReasoningDelta"], texts["ContentDelta"])
    calls = [event for event in case.log if event[0] == "ToolCallStart"]
    assert [(call.name, call.id, call.kind) for call in done.tool_calls] == [event[2:5] for event in calls]
    arguments = ["".join(str(e[2]) for e in case.log if e[:2] == ("ToolCallDelta", n)) for n in range(len(calls))]
    assert [call.arguments for call in done.tool_calls] == arguments
    complete = [event[2] for event in case.log if event[0] == "ToolCallEnd"]
    assert [call.complete for call in done.tool_calls] == complete
    assert done.finish_reason == case.log[-1][1]


def test_a_parser_that_is_used_again_forgets():
    parser = hs.Parser("kimi_k2")
    parser.feed_text("<|tool_calls_section_begin|><|tool_call_begin|>x")
    parser.reset()
    assert (deviations(parser), parser.position, parser.calls) == ([], 0, 0)
