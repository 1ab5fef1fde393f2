"""`harmonystream parse --each`: one stream per line."""

from __future__ import annotations

import json

import pytest
from command import IDS, SHOWN, TEXT, run, start

CALL = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}'
LINES = [IDS, {"id": 7, "ids": IDS}, {"token_ids": IDS, "finish_reason": "length"}, TEXT, {"text": TEXT}]
INPUT = "".join(json.dumps(line) + "\n" for line in LINES)


def test_each_line_is_a_stream_of_its_own(tmp_path):
    """Not one stream of all ids, which these lines are without the option."""
    file = tmp_path / "outputs.jsonl"
    file.write_text(INPUT)
    status, out, err = run("parse", "--each", str(file))
    assert (status, err) == (0, "")
    shown = out.split("\n--- ")
    assert shown[0] == "--- line 1\n" + SHOWN
    assert shown[1] == "line 2\n" + SHOWN
    assert "finish: length" in shown[2]
    assert [part.splitlines()[2] for part in shown] == ["  Hi!"] * 5
    assert run("parse", "--each", stdin=INPUT) == (0, out, "")


def test_json_says_which_stream_an_event_is_of():
    status, out, err = run("parse", "--each", "--json", stdin="\n" + INPUT + "\n \n")
    events = [json.loads(line) for line in out.splitlines()]
    assert (status, err) == (0, "")
    ends = [(event["stream"], event["reason"]) for event in events if event["type"] == "StreamEnd"]
    assert ends == [(0, "stop"), (1, "stop"), (2, "length"), (3, "stop"), (4, "stop")]
    of_one = [{name: event[name] for name in event if name != "stream"} for event in events if event["stream"] == 1]
    alone = run("parse", "--json", stdin=json.dumps(IDS))[1]
    assert of_one == [json.loads(line) for line in alone.splitlines()]


def test_a_line_says_why_its_stream_ended_or_the_option_does():
    lines = [{"text": CALL, "finish_reason": "eos_token"}, {"text": CALL}]
    out = run(
        "parse", "--each", "--json", "--finish", "length", stdin="".join(json.dumps(one) + "\n" for one in lines)
    )[1]
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["reason"] for event in events if event["type"] == "StreamEnd"] == ["tool_calls", "length"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2: not JSON"),
        ("5", "line 2: a list of ids, a string, or an object with"),
        ("[1, -1]", "line 2: a list of ids"),
        ("[1, true]", "line 2: a list of ids"),
        ('{"tokens": []}', "line 2: a list of ids"),
        ('{"ids": [], "finish_reason": 5}', "line 2: finish_reason is a string"),
        ("[" * 100_000, "line 2: not JSON"),
    ],
)
def test_a_line_that_is_no_stream_ends_it_and_those_before_are_shown(line, says):
    status, out, err = run("parse", "--each", stdin=json.dumps(IDS) + "\n" + line + "\n")
    assert (status, out) == (2, "--- line 1\n" + SHOWN)
    assert err.startswith(f"harmonystream: {says}")


def test_ids_of_another_format_need_its_tokenizer():
    status, _, err = run("parse", "--each", "--format", "hermes", stdin="[1, 2]\n")
    assert status == 2
    assert "line 1: ids of the format 'hermes' need --tokenizer" in err
    assert run("parse", "--each", "--format", "hermes", stdin='"Hi!<|im_end|>"\n')[0] == 0


def test_strict_stops_at_the_first_deviation():
    lines = [json.dumps(TEXT), json.dumps("<|channel|>odd<|message|>x<|end|><|end|>"), json.dumps(TEXT)]
    status, out, _ = run("parse", "--each", "--strict", stdin="\n".join(lines))
    assert status == 1
    assert "--- line 3" not in out


def test_a_line_is_shown_when_it_has_come():
    process = start("parse", "--each", "--json")
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(IDS).encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["stream"] == 0
    process.stdin.close()
    assert process.wait(timeout=60) == 0
    process.stdout.close()
    process.stderr.close()  # type: ignore[union-attr]
