"""`harmonystream chat`: its engines, its tools, and what it refuses."""

from __future__ import annotations

import io
import json
import os

import pytest
from command import ENV, as_process

from harmonystream.cli import main

PLAIN = {"text": "<|channel|>final<|message|>Hi!<|return|>"}
CALL = {"text": '<|channel|>commentary to=functions.add<|message|>{"a": 1, "b": 2}<|call|>'}
ADD = 'def add(a: int, b: int) -> int:\n    "Add."\n    return a + b\n'
DONE = {"text": "<|channel|>final<|message|>Three.<|return|>"}


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs the command in this process, where vocabularies are loaded once: (status, output, errors)."""

    def command(*args: str, stdin: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        status = main(list(args))
        return status, *capsys.readouterr()

    return command


@pytest.fixture
def recorded(tmp_path):
    def option(*lines: object) -> str:
        path = tmp_path / "recording.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
        return f"recorded={path}"

    return option


def test_without_an_engine_the_recorded_conversation_is_played(run):
    status, out, err = run("chat", stdin="Hello\n")
    assert (status, err) == (0, "")
    assert out.startswith("There is no --engine: a recorded conversation is played, whatever you write.\n\nreasoning\n")
    assert "result of get_forecast\n  {" in out
    assert out.rstrip().endswith("+ 246 tokens")
    assert "\nanswer · 2 rounds · " in out


def test_each_line_is_a_turn_and_empty_ones_are_none(run, recorded):
    status, out, err = run("chat", "--engine", recorded(PLAIN), stdin="a\n\n  \nb\n")
    assert (status, err) == (0, "")
    assert out.count("answer\n  Hi!\n\nanswer · 1 round · ") == 2


@pytest.mark.parametrize(
    "source",
    [
        f"import harmonystream as hs\ntools = hs.Tools()\n@tools.add\n{ADD}",
        f'def _no() -> None:\n    "No."\n{ADD}',
    ],
    ids=["tools", "functions"],
)
def test_tools_come_from_a_file(run, recorded, tmp_path, source):
    (tmp_path / "mine.py").write_text(source)
    status, out, err = run("chat", "--engine", recorded(CALL, DONE), "--tools", str(tmp_path / "mine.py"), stdin="?\n")
    assert (status, err) == (0, "")
    assert "add runs\nresult of add\n  3\nanswer\n  Three.\n" in out


def test_a_tool_without_a_function_is_told_of_and_the_conversation_goes_on(run, recorded, tmp_path):
    (tmp_path / "mine.py").write_text('import harmonystream as hs\ntools = hs.Tools("add")\n')
    tools = ("--tools", str(tmp_path / "mine.py"))
    status, out, err = run("chat", "--engine", recorded(CALL, DONE), *tools, stdin="?\nand?\n")
    assert (status, err) == (0, "")
    assert "add has no function here\ncalls · 1 round" in out
    assert "answer\n  Three.\n" in out


def test_the_model_s_control_characters_are_shown_and_not_sent(run, recorded):
    hostile = {"text": "<|channel|>final<|message|>\x1b[2J\x07<|return|>"}
    assert "\\x1b[2J\\x07" in run("chat", "--engine", recorded(hostile), stdin="?\n")[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--engine", "nobody=http://x"],
            "unknown engine 'nobody'; known: vllm, sglang, ten",
        ),
        (["--engine", "recorded=/nowhere"], "/nowhere: No such file"),
        (["--engine", "vllm=localhost"], "an engine's url begins with http"),
        (["--tools", "/nowhere.py"], "/nowhere.py: No such file"),
        (["--max-tokens", "0"], "max_tokens is 1 or more"),
    ],
)
def test_what_it_cannot_use_is_refused_before_the_first_line(run, options, said):
    status, out, err = run("chat", *options, stdin="Hello\n")
    assert (status, out) == (2, "")
    assert err.startswith(f"harmonystream: {said}")


@pytest.mark.parametrize(
    ("source", "said"), [("1 / 0", "ZeroDivisionError: division by zero"), ("x = 1", "has neither `tools`")]
)
def test_a_broken_file_of_tools_is_refused(run, tmp_path, source, said):
    path = tmp_path / "mine.py"
    path.write_text(source)
    status, _, err = run("chat", "--tools", str(path), stdin="Hello\n")
    assert status == 2
    assert said in err


@pytest.fixture
def bare(tmp_path):
    """The environment of an installation without any optional package."""
    absent = ("jsonschema_rs", "pydantic", "docstring_parser", "tiktoken", "jinja2", "aiohttp", "rich")
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({absent}))\n")
    return {"PYTHONPATH": os.pathsep.join((str(tmp_path), ENV["PYTHONPATH"]))}


def test_the_recorded_conversation_needs_no_optional_package(bare):
    status, out, err = as_process("chat", stdin="Hello\n", env=bare)
    assert (status, err) == (0, "")
    assert "get_forecast" in out and "Yes, take one." in out


def test_tools_whose_packages_are_missing_are_refused_with_the_command_that_installs_them(bare, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def look(city: str) -> str:\n    return city\n")
    status, out, err = as_process("chat", "--tools", str(path), stdin="Hello\n", env=bare)
    assert (status, out) == (2, "")
    assert err.startswith(f"harmonystream: {path}: ") and "pip install 'harmonystream[tools]'" in err


def test_an_engine_that_is_not_there_is_an_error_of_the_turn(run):
    status, out, _ = run("chat", "--engine", "http://127.0.0.1:9", "--served", "m", stdin="a\nb\n")
    assert status == 0
    assert out.count("error: http://127.0.0.1:9/v1/completions: ") == 2
