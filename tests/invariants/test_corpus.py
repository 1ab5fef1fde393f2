"""Every case of corpus/, in every form and at every chunking."""

from __future__ import annotations

import pytest
from corpus_format import Case, read_cases
from reference import Result, interpret
from streams import (
    chunkings,
    encode_bytewise,
    encode_greedily,
    items_of_ids,
    items_of_text,
    prefix_items,
    run,
    to_ids,
    without_ranges,
)

import harmonystream as hs

CASES = list(read_cases())


def forms(case: Case) -> dict[str, list[int] | bytes]:
    """The streams that a case stands for, by the name of the form."""
    if isinstance(case.stream, list):
        return {"ids": case.stream}
    forms: dict[str, list[int] | bytes] = {}
    if case.mode in ("both", "text"):
        forms["text"] = case.stream
    if case.mode in ("both", "ids"):
        forms["ids"] = to_ids(case.stream, encode_greedily)
        forms["bytes"] = to_ids(case.stream, encode_bytewise)
    return forms


def every_form(cases: list[Case]) -> pytest.MarkDecorator:
    parameters = [
        pytest.param(case, stream, id=f"{case.name}-{form}") for case in cases for form, stream in forms(case).items()
    ]
    return pytest.mark.parametrize(("case", "stream"), parameters)


def expected(case: Case, stream: list[int] | bytes) -> Result:
    items = items_of_text(stream) if isinstance(stream, bytes) else items_of_ids(stream)
    return interpret(items, tools=case.tools, prefix=prefix_items(case.start), finish=case.finish)


def test_names_are_unique():
    names = [case.name for case in CASES]
    assert sorted(names) == sorted(set(names))


def test_every_report_and_example_has_a_case():
    names = {case.name.partition(".")[0] for case in CASES}
    servers = {"H32", "H43", "H44", "H67", "H75", "H77", "H78"}  # corpus/README.md says why
    assert {name for name in names if name[0] == "H"} == {f"H{n:02}" for n in range(1, 79)} - servers
    assert {name for name in names if name[0] == "E"} == {f"E{n:02}" for n in range(1, 56)}
    assert {name for name in names if name[0] == "U"} == {f"U{n}" for n in range(1, 17)}


@every_form(CASES)
def test_reference(case: Case, stream: list[int] | bytes):
    log = expected(case, stream).events
    assert (log if case.ranges else without_ranges(log)) == case.log


@every_form(CASES)
def test_native_at_every_chunking(case: Case, stream: list[int] | bytes):
    result = expected(case, stream)
    parser = hs.Parser("harmony", tools=case.tools, start=case.start)
    deviations = None
    for chunks in chunkings(stream):
        parser.reset()
        assert run(parser, chunks, case.finish) == result.events, chunks
        assert parser.usage == hs.Usage(**result.usage), chunks
        deviations = parser.deviations if deviations is None else deviations
        assert parser.deviations == deviations, chunks


@every_form([case for case in CASES if case.deviations is not None])
def test_deviations(case: Case, stream: list[int] | bytes):
    parser = hs.Parser("harmony", tools=case.tools, start=case.start)
    run(parser, [stream], case.finish)
    assert [deviation.code for deviation in parser.deviations] == case.deviations


@every_form(CASES)
def test_one_shot_is_the_sum_of_the_stream(case: Case, stream: list[int] | bytes):
    events = expected(case, stream).events
    completion = hs.parse(stream, "harmony", tools=case.tools, start=case.start, finish_reason=case.finish)

    def text(kind: str, **where: object) -> str:
        index = where.get("index")
        deltas = [event for event in events if event[0] == kind and index in (None, event[1])]
        return "".join(str(event[2 if kind == "ToolCallDelta" else 1]) for event in deltas)

    assert completion.reasoning == text("ReasoningDelta")
    assert completion.content == text("ContentDelta")
    calls = [(event[2], event[4]) for event in events if event[0] == "ToolCallStart"]
    assert [(call.name, call.kind) for call in completion.tool_calls] == calls
    arguments = [text("ToolCallDelta", index=index) for index in range(len(calls))]
    assert [call.arguments for call in completion.tool_calls] == arguments
    complete = [event[2] for event in events if event[0] == "ToolCallEnd"]
    assert [call.complete for call in completion.tool_calls] == complete
    headers = [event[1:5] for event in events if event[0] == "MessageStart"]
    assert [(m.role, m.channel, m.recipient, m.content_type) for m in completion.messages] == headers
    assert completion.finish_reason == events[-1][1]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES if isinstance(case.stream, list)])
def test_labels(case: Case):
    result = expected(case, case.stream)
    labels = hs.label(case.stream, "harmony", tools=case.tools, start=case.start)
    assert [hs.Region(label).name.lower() for label in labels] == result.regions
