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


def test_tools_of_an_mcp_server_run_in_a_conversation(run, recorded, tmp_path):
    pytest.importorskip("mcp")
    (tmp_path / "mine.py").write_text(
        "from mcp.server.mcpserver import MCPServer\nimport harmonystream as hs\nserver = MCPServer('sums')\n"
        f"@server.tool()\n{ADD}tools = hs.Tools(mcp=[server])\n"
    )
    status, out, err = run("chat", "--engine", recorded(CALL, DONE), "--tools", str(tmp_path / "mine.py"), stdin="?\n")
    assert (status, err) == (0, "")
    assert "add runs\nresult of add\n  3\nanswer\n  Three.\n" in out


def test_a_tool_without_a_function_is_reported_and_the_conversation_goes_on(run, recorded, tmp_path):
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
            "unknown engine 'nobody'; known: vllm, ",
        ),
        (["--engine", "recorded=/nowhere"], "/nowhere: No such file"),
        (["--engine", "vllm=localhost"], "an engine's url begins with http"),
        (["--tools", "/nowhere.py"], "/nowhere.py: there is no such file of tools"),
        (["--max-tokens", "0"], "max_tokens is a whole number of 1 or more"),
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


def test_a_message_that_was_not_answered_is_not_kept(run):
    """Many templates refuse a conversation in which the user speaks twice in a row."""
    engine = ("--engine", "http://127.0.0.1:9", "--served", "m")
    status, out, _ = run("chat", *engine, "--system", "Be brief.", stdin="a\n/undo\nb\n")
    assert status == 1
    assert out.count("Your message was not answered, and is not kept.") == 2
    assert "There is nothing to take back." in out


def test_an_engine_that_is_not_there_is_an_error_of_the_turn(run):
    status, out, _ = run("chat", "--engine", "http://127.0.0.1:9", "--served", "m", stdin="a\nb\n")
    assert status == 1
    assert out.count("error: http://127.0.0.1:9/v1/completions: ") == 2


def test_the_commands_of_a_conversation(run, recorded, tmp_path):
    kept = tmp_path / "talk.json"
    typed = ["a", "b", "/undo", f"/save {kept}", "/reset", "/undo", "/tools", "/help", "/sav", "/save"]
    options = ("--engine", recorded(PLAIN), "--system", "Be brief.")
    status, out, err = run("chat", *options, stdin="\n".join(typed) + "\n")
    assert (status, err) == (0, "")
    saved = json.loads(kept.read_text("utf-8"))["messages"]
    assert [message["role"] for message in saved] == ["system", "user", "assistant"]
    for said in ("Taken back: b", "3 messages are in", "begins again", "There is nothing to take back"):
        assert said in out
    assert "There are no tools" in out and "/tools  the tools that" in out
    assert "/sav is not a command; did you mean '/save'?" in out and "/save needs the name of a file" in out


@pytest.mark.parametrize(("typed", "ran"), [("y", 1), ("n", 0), ("", 0), ("always", 2)])
def test_tools_are_approved_at_the_terminal(run, recorded, tmp_path, typed, ran):
    file = tmp_path / "mine.py"
    file.write_text(ADD)
    lines = [CALL, CALL, DONE] if typed == "always" else [CALL, DONE]
    options = ("--engine", recorded(*lines), "--tools", str(file), "--ask")
    status, out, _ = run("chat", *options, stdin=f"add\n{typed}\n")
    assert status == 0
    assert 'add({"a": 1, "b": 2})' in out and out.count("result of add\n  3") == ran
    assert ("not approved" in out) == (not ran)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "http://127.0.0.1:9", "--model", "Qwen/Qwen2.5-7B"], "pass --template"),
        (["--engine", "http://127.0.0.1:9", "--model", "gpt-5"], "no format is known for the model 'gpt-5'"),
        (["--engine", "http://127.0.0.1:9", "--no-thinking"], "gpt-oss always reasons"),
        (["--engine", "lama=http://127.0.0.1:9"], "unknown engine 'lama'"),
        (["--engine", "llama=http://127.0.0.1:9"], "unknown engine 'llama'; did you mean 'llama-server'?"),
        (["--tokenizer", "nowhere"], "there is no file nowhere"),
        (["--mcp", "here"], "begins with http"),
        (["--mcp", "http://h", "--tools", "x.py"], "leave --mcp out"),
    ],
)
def test_mistakes_are_reported_before_the_user_types(run, options, said):
    status, out, err = run("chat", *options, stdin="a\n")
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("options", "sent"), [([], "secret"), (["--engine-key", "mine"], "mine"), (["--key", "mine"], "mine")]
)
def test_the_engine_gets_the_key_of_the_option_or_of_the_environment(monkeypatch, options, sent):
    from harmonystream.cli import _arguments, chat

    monkeypatch.setenv("HARMONYSTREAM_KEY", "secret")
    args = _arguments().parse_args(["chat", "--engine", "http://e", *options])
    assert chat._engine(args)._headers["Authorization"] == f"Bearer {sent}"
