"""The conformance cases: our own parser passes whole, and a parser with a fault does not."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import generate
import pytest
import rank_file
from command import run

from harmonystream.conformance import CASES, answer, cases, joined, requests, run_cases

PEER = Path(__file__).resolve().parents[1] / "peers" / "openai_harmony_answers.py"
KNOWN = cases()


def test_the_file_is_what_the_generator_makes():
    assert Path(CASES).read_text(encoding="utf-8") == generate.text(), "run python tests/conformance/generate.py"


def test_cases_have_names_of_their_own_and_an_output():
    assert len({case.name for case in KNOWN}) == len(KNOWN)
    assert all(case.ids is not None or case.text is not None for case in KNOWN)
    assert {row[0] for case in KNOWN for row in case.events} == {
        *("reasoning", "content", "call", "arguments", "end", "finish"),
    }


def test_our_own_parser_passes_whole():
    results = list(run_cases(KNOWN, answer))
    assert [result.case.name for result in results if result.verdict != "passed"] == []
    assert len(results) == len(KNOWN) > 800


def test_an_output_is_asked_for_whole_in_single_pieces_and_cut():
    case = next(case for case in KNOWN if case.ids and case.text and len(case.ids) > 8)
    asked = list(requests(case))
    assert [request["input"] for request in asked] == ["ids"] * 4 + ["text"] * 4
    for request in asked:
        output = [unit for piece in request["pieces"] for unit in piece]
        assert output == list(case.ids if request["input"] == "ids" else case.text)
    assert max(map(len, asked[1]["pieces"])) == 1
    assert asked == list(requests(case))  # the same cuts each time


def lossy(request: dict[str, Any]) -> dict[str, Any]:
    """A parser that loses the first character of the second piece."""
    pieces = [*request["pieces"]]
    if len(pieces) > 1:
        pieces[1] = pieces[1][1:]
    return answer({**request, "pieces": pieces})


def changed(kind: str, row: list[Any]) -> Any:
    def ask(request: dict[str, Any]) -> dict[str, Any]:
        given = answer(request)
        return {"events": [row if each[0] == kind else each for each in given.get("events", [])]}

    return ask


@pytest.mark.parametrize(
    "broken",
    [
        lossy,
        changed("reasoning", ["content", "leaked", None]),
        changed("end", ["end", 0, "cut"]),
        changed("arguments", ["arguments", 0]),
        changed("finish", ["finish", "length"]),
        lambda request: {"events": None},
        lambda request: {"error": "boom"},
        lambda request: {"events": [], "without": ["end", "finish", "call", "content"]},
    ],
)
def test_a_broken_parser_fails(broken):
    failed = [result for result in run_cases(KNOWN, broken) if result.verdict == "failed"]
    assert len(failed) > 100
    assert all(result.request["case"] == result.case.name for result in failed)


def test_what_a_program_has_not_is_not_asked_of_it():
    def without_ends(request: dict[str, Any]) -> dict[str, Any]:
        rows = [row for row in answer(request).get("events", []) if row[0] not in ("end", "finish")]
        return {"events": rows, "without": ["end", "finish"]}

    of_harmony = [case for case in KNOWN if case.format == "harmony"]
    assert {result.verdict for result in run_cases(of_harmony, without_ends)} == {"passed"}
    assert {result.verdict for result in run_cases(of_harmony[:3], lambda request: {"skip": "no"})} == {"skipped"}


def spread(row: list[Any]) -> list[Any]:
    """The same row with white space that does not count."""
    if row[0] in ("reasoning", "content"):
        return [row[0], f"\n{row[1]} ", *row[2:]]
    if row[0] == "arguments":
        return [*row[:2], re.sub(r"^\{", "{\n ", row[2]) if is_json(row[2]) else row[2]]
    return row


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_white_space_does_not_count_if_a_program_does_not_keep_it():
    known = [
        case for case in KNOWN if case.well_formed and not any(row[-1] in ("cut", "length") for row in case.events)
    ]
    without: list[str] = []

    def spaced(request: dict[str, Any]) -> dict[str, Any]:
        found = answer(request)
        rows = [spread(row) for row in joined(found["events"])] if "events" in found else []
        return {**found, "events": rows, "without": without} if rows else found

    assert sum(result.verdict == "failed" for result in run_cases(known, spaced)) > len(known) * 0.8
    without.append("space")
    assert [result.case.name for result in run_cases(known, spaced) if result.verdict != "passed"] == []

    def changed_value(request: dict[str, Any]) -> dict[str, Any]:
        """`true` is not 1, and 1 is not 1.0."""
        found = answer(request)
        rows = [[*row[:2], row[2].replace("true", "1").replace("3}", "3.0}")] if row[0] == "arguments" else row
                for row in joined(found.get("events", []))]  # fmt: skip
        return {**found, "events": rows, "without": without} if "events" in found else found

    of_values = [case for case in known if any(row[0] == "arguments" and ("true" in row[2] or "3}" in row[2])
                                               for row in case.events)]  # fmt: skip
    assert len(of_values) > 10
    assert {result.verdict for result in run_cases(of_values, changed_value)} == {"failed"}


def test_neighbours_are_joined():
    rows = [
        ["content", "a", None],
        ["content", "", "x"],
        ["content", "b", None],
        ["content", "c", "x"],
    ]
    assert joined(rows) == [["content", "ab", None], ["content", "c", "x"]]


# --- the command --------------------------------------------------------------------------------------------------


def command(*words: str) -> str:
    return shlex.join([sys.executable, *words])


def test_the_command_holds_a_program_against_the_cases():
    own = command("-m", "harmonystream", "conformance", "--answer")
    status, out, err = run("conformance", "--against", own, "--format", "hermes", "--format", "glm")
    assert (status, err) == (0, "")
    heads = [line.split(",")[0] for line in out.splitlines()[1:]]
    assert set(heads) == {"hermes", "glm"}
    assert all(line.split()[-2:] == ["0", "0"] for line in out.splitlines()[1:])


def test_the_command_shows_what_a_wrong_program_found(tmp_path):
    program = tmp_path / "wrong.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'events': [['content', 'no', None], ['finish', None]]}), flush=True)\n"
    )
    status, out, err = run("conformance", "--case", "hermes/Q1", "--against", command(str(program)))
    assert (status, err) == (1, "")
    assert 'expected: [["content", "Hello.", null], ["finish", null]]' in out
    assert 'found:    [["content", "no", null], ["finish", null]]' in out
    status, out, _ = run("conformance", "--json", "--case", "hermes/Q1", "--against", command(str(program)))
    assert (status, json.loads(out)["verdict"]) == (1, "failed")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--against", "/no/such/program"), "cannot be run"),
        (("--against", command("-c", "pass")), "no answer to the case"),
        (("--against", command("-c", "input(); print(1)")), "is not an object"),
        (("--against", command("-c", "import time; time.sleep(60)"), "--timeout", "0.3"), "no answer to the case"),
        (("--case", "nosuch"), "no case has this name"),
    ],
)
def test_programs_that_do_not_answer_are_reported(options, problem):
    status, out, err = run("conformance", "--format", "hermes", *options)
    assert (status, out) == (2, "")
    assert problem in err


def test_cases_can_be_listed():
    status, out, _ = run("conformance", "--list", "--format", "glm", "--well-formed")
    listed = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [case["name"] for case in listed] == [
        case.name for case in KNOWN if case.format == "glm" and case.well_formed
    ]


ACME = """
name = "acme"
think = ["<think>", "</think>"]
section = ["<calls>", "</calls>"]
call = ['<run tool="', '">', "</run>"]
pair = ['<set name="', '">', "", "</set>"]
stops = ["<|done|>"]
"""


def test_listed_cases_can_be_read_again(tmp_path):
    status, out, _ = run("conformance", "--list", "--format", "glm", "--format", "harmony")
    file = tmp_path / "cases.jsonl"
    file.write_text(out + "\n", encoding="utf-8")
    assert (status, cases(str(file))) == (0, [case for case in KNOWN if case.format in ("glm", "harmony")])


def test_a_format_of_ones_own_has_cases_of_its_own(tmp_path):
    row = tmp_path / "acme.toml"
    row.write_text(ACME, encoding="utf-8")
    case = {"name": "acme/1", "format": str(row), "start": "reasoning", "text": "Hm.</think>Hi\u2028<|done|>"}
    case |= {"events": [["reasoning", "Hm."], ["content", "Hi\u2028", None], ["finish", "stop"]], "finish": "stop"}
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps(case, ensure_ascii=False), encoding="utf-8")
    status, out, err = run("conformance", "--cases", str(file))
    assert (status, err, out.splitlines()[1].split()[-3:]) == (0, "", ["1", "0", "0"])
    file.write_text(json.dumps(case | {"text": "Hm.</think>Ho<|done|>"}), encoding="utf-8")
    status, out, _ = run("conformance", "--cases", str(file))
    assert status == 1
    assert '  found:    [["reasoning", "Hm."], ["content", "Ho", null], ["finish", "stop"]]' in out


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2 is not JSON: "),
        ("7", "line 2 is not an object"),
        ('{"name": "a", "text": "", "events": []}', "line 2: 'format' is missing"),
        ('{"name": "a", "format": "glm", "events": []}', "line 2: 'text' or 'ids' is missing"),
        ('{"name": "a", "format": "glm", "text": "", "events": [7]}', "line 2: events is a list of rows"),
        ('{"name": "a", "format": "glm", "text": "", "events": [], "x": 1}', "line 2: unknown field 'x'; known: name"),
        ('{"name": "a", "format": "no.toml", "text": "", "events": []}', "the case a: no.toml"),
        ('{"name": "a", "format": "glm", "text": "", "events": [], "start": "middle"}', "the case a: start is 'auto'"),
    ],
)
def test_a_line_that_is_not_a_case_is_reported(line, problem, tmp_path):
    file = tmp_path / "cases.jsonl"
    file.write_text("\n" + line, encoding="utf-8")
    status, out, err = run("conformance", "--cases", str(file))
    assert (status, out) == (2, "")
    assert problem in err


def test_a_format_without_cases_is_reported_beside_those_that_have_some():
    status, out, err = run("conformance", "--format", "acme.toml")
    assert (status, out) == (2, "")
    assert err.startswith("harmonystream: no case has this name and this format; the formats of the cases are harmony,")


def test_a_program_of_openai_harmony_speaks_the_protocol(monkeypatch):
    pytest.importorskip("openai_harmony")
    monkeypatch.setenv("TIKTOKEN_ENCODINGS_BASE", rank_file.folder())
    status, out, err = run("conformance", "--case", "harmony/E01", "--against", command(str(PEER)))
    assert (status, err) == (0, ""), out
