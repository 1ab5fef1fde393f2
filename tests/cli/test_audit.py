"""`harmonystream audit`: the counts, the table, the JSON and the picture."""

from __future__ import annotations

import json
from collections import Counter
from xml.etree import ElementTree

import pyarrow
import pytest
from command import run
from corpus_format import read_cases
from pyarrow import parquet

import harmonystream as hs

LINES = [
    "<|channel|>final<|message|>Hi<|return|>",
    '<|channel|>commentary to=functions.f<|message|>{"a": 1}',
    {"text": "<|channel|>comment<|message|>Oops<|end|><|channel|>final<|message|>Hi", "finish_reason": "length"},
    [200005, 17196, 200008, 12194, 200007, 200007, 200007],
]
INPUT = "".join(json.dumps(line) + "\n" for line in LINES)
SCHEMA = [("text", pyarrow.string()), ("finish_reason", pyarrow.string())]
TABLE = """\
outputs: 4, without a deviation: 2 (50.0 %)
calls: 1, cut: 0, unreadable: 0
finish: stop 2, tool_calls 1, length 1

deviation                 outputs   share   times
missing-start                   1  25.0 %       1
    expected: <|start|>
    line 3, at 40: <|channel|>comment<|message|>Oops<|end|><|channel|>final<|message|>Hi
stray-terminator                1  25.0 %       2
    expected: <|start|>
    line 4, at 5: <|channel|>final<|message|>Hi<|end|><|end|><|end|>
"""


def test_the_table_counts_outputs_and_shows_an_example():
    assert run("audit", stdin=INPUT) == (0, TABLE, "")


def test_the_counts_are_those_of_parse_over_the_whole_corpus(tmp_path):
    outputs = [case.stream.decode("utf-8", "replace") for case in read_cases() if isinstance(case.stream, bytes)]
    file = tmp_path / "outputs.jsonl"
    file.write_text("".join(json.dumps(output) + "\n" for output in outputs))
    status, out, err = run("audit", "--json", "--examples", "2", str(file))
    found = json.loads(out)
    assert (status, err) == (0, "")
    rows, times, clean = Counter(), Counter(), 0
    for output in outputs:
        codes = [each.code for each in hs.parse(output).deviations]
        rows.update(set(codes))
        times.update(codes)
        clean += not codes
    assert (found["rows"], found["clean"]) == (len(outputs), clean)
    assert {each["code"]: (each["rows"], each["times"]) for each in found["deviations"]} == {
        code: (rows[code], times[code]) for code in rows
    }
    assert [each["rows"] for each in found["deviations"]] == sorted(rows.values(), reverse=True)
    for each in found["deviations"]:
        assert len(each["examples"]) == min(2, each["rows"])
        for example in each["examples"]:
            deviations = hs.parse(outputs[example["line"] - 1]).deviations
            assert hs.Deviation(each["code"], example["position"]) in deviations


def test_the_picture_has_a_bar_for_each_code(tmp_path):
    picture = tmp_path / "counts.svg"
    assert run("audit", "--svg", str(picture), stdin=INPUT)[0] == 0
    root = ElementTree.fromstring(picture.read_text())
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    assert texts[0] == "Outputs: 4, without a deviation: 2"
    assert texts[1::2] == ["missing-start", "stray-terminator"]
    assert len(list(root.iter(f"{space}rect"))) == 2


def test_other_formats_and_tools_are_read():
    line = json.dumps('<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>')
    status, out, _ = run("audit", "--format", "hermes", "--tools", "f", stdin=line)
    assert (status, out.splitlines()[1]) == (0, "calls: 1, cut: 0, unreadable: 0")


def test_a_call_that_was_closed_and_cannot_be_read_is_not_cut():
    unreadable = '<tool_call>\n{"name": "f", "arguments": {\'a\': 1}}\n</tool_call>'
    cut = '<tool_call>\n{"name": "f", "arguments": {"a": 1'
    lines = [(unreadable, "stop"), (unreadable, "length"), (cut, "length"), (unreadable + cut, "length"), (cut, "stop")]
    given = "".join(json.dumps({"text": text, "finish_reason": reason}) + "\n" for text, reason in lines)
    status, out, _ = run("audit", "--format", "hermes", stdin=given)
    assert (status, out.splitlines()[1]) == (0, "calls: 6, cut: 2, unreadable: 4")
    found = json.loads(run("audit", "--format", "hermes", "--json", stdin=given)[1])
    assert (found["calls"], found["cut_calls"], found["unreadable_calls"]) == (6, 2, 4)


def test_arguments_that_are_not_an_object_are_unreadable_in_harmony_too():
    header = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    arguments = ['{"a": 1}', "", '{"a": nope}', "[1]", "not json", '{"a": 1']
    reasons = ["stop"] * 5 + ["length"]
    lines = [
        {"text": header + one + "<|call|>" * (why == "stop"), "finish_reason": why}
        for one, why in zip(arguments, reasons)
    ]
    status, out, _ = run("audit", "--tools", "f", stdin="".join(json.dumps(line) + "\n" for line in lines))
    assert (status, out.splitlines()[1]) == (0, "calls: 6, cut: 1, unreadable: 3")


def test_parquet_is_read_as_lines_are(tmp_path):
    rows = [{"text": line} if isinstance(line, str) else line for line in LINES[:3]]
    file = str(tmp_path / "outputs.parquet")
    parquet.write_table(pyarrow.Table.from_pylist([*rows, {"text": None}], pyarrow.schema(SCHEMA)), file)
    assert run("audit", file) == run("audit", stdin="".join(json.dumps(row) + "\n" for row in rows))

    parquet.write_table(pyarrow.table({"token_ids": [LINES[3]] * 300, "other": [""] * 300}), file)
    assert run("audit", file) == run("audit", stdin=(json.dumps(LINES[3]) + "\n") * 300)

    parquet.write_table(pyarrow.table({"answer": ["Hi"]}), file)
    status, _, err = run("audit", file)
    assert (status, err.partition("outputs.parquet")[2]) == (
        2,
        " has none of the columns ids, token_ids, text, but answer\n",
    )


def test_nothing_is_no_mistake():
    table = "outputs: 0, without a deviation: 0 (-)\ncalls: 0, cut: 0, unreadable: 0\nfinish: none\n"
    assert run("audit", stdin="") == (0, table, "")


@pytest.mark.parametrize(
    ("options", "given", "problem"),
    [
        (("--format", "nosuch"), "", "no format is known for the model 'nosuch'"),
        (("--format", "hermes"), "[1, 2]", "line 1: ids of the format 'hermes' need --tokenizer"),
        (("--examples", "-1"), "", "--examples is 0 or more"),
        ((), "{}", "line 1: a list of ids"),
        ((), "PAR1", "this is a Parquet file"),
        (("nosuch.parquet",), "", "cannot read nosuch.parquet: "),
    ],
)
def test_mistakes_are_reported(options, given, problem):
    status, out, err = run("audit", *options, stdin=given)
    assert (status, out) == (2, "")
    assert problem in err
