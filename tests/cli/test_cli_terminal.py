"""The command on a terminal, and the demo."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

import pytest
from command import ENV, ROOT, SHOWN_TEXT, TEXT, as_process, on_terminal, run

import harmonystream as hs
from harmonystream import cli

# --- terminals ----------------------------------------------------------------------------------------------------


def uncoloured(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_a_terminal_gets_colours_by_kind():
    text = "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant to=functions.f<|message|>{}<|call|>"
    out = on_terminal("parse", stdin=text.encode())
    assert "\x1b[2m  Hm\x1b[0m" in out
    assert "\x1b[1;33mcall 0: f\x1b[0m\n\x1b[33m  {}\x1b[0m\n\x1b[32mcall 0 is complete\x1b[0m\n" in out
    assert uncoloured(out) == run("parse", stdin=text)[1]


def test_colours_only_where_they_are_wanted():
    assert "\x1b" not in run("parse", stdin=TEXT)[1]
    assert "\x1b[32mfinish: stop" in run("parse", "--color", "always", stdin=TEXT)[1]
    assert on_terminal("parse", "--color", "never", stdin=TEXT.encode()) == SHOWN_TEXT
    assert on_terminal("parse", stdin=TEXT.encode(), env={"NO_COLOR": "1"}) == SHOWN_TEXT
    assert on_terminal("parse", stdin=TEXT.encode(), env={"TERM": "dumb"}) == SHOWN_TEXT
    assert on_terminal("parse", "--json", stdin=TEXT.encode()) == run("parse", "--json", stdin=TEXT)[1]


def test_without_rich_a_terminal_gets_plain_text_and_a_hint(tmp_path):
    (tmp_path / "rich.py").write_text("raise ImportError('not installed')")
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    hint = "harmonystream: for colours, pip install 'harmonystream[cli]'\n"
    assert on_terminal("parse", stdin=TEXT.encode(), env=env) == hint + SHOWN_TEXT
    assert as_process("parse", stdin=TEXT, env=env) == (0, SHOWN_TEXT, "")


@pytest.mark.parametrize("args", [[], ["--json"]])
def test_a_terminal_never_gets_the_models_control_characters(args):
    hostile = "".join(map(chr, range(32))) + "\x7f" + "".join(map(chr, range(128, 160))) + "\x1b]0;owned\x07\x1b[2J"
    stdin = f"<|channel|>final<|message|>{hostile}<|end|><|start|>\x1b[31mx\x1b.y<|message|>z<|end|>".encode()
    out = uncoloured(on_terminal("parse", *args, stdin=stdin, env={"COLUMNS": "999"}))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", out)
    assert ("\\u001b]0;owned\\u0007\\u001b[2J" if args else "\\x1b]0;owned\\x07\\x1b[2J") in out


def test_lines_break_at_the_width_of_the_terminal():
    stdin = ("<|channel|>final<|message|>" + "word " * 40 + "<|return|>").encode()
    lines = on_terminal("parse", "--color", "never", stdin=stdin, env={"COLUMNS": "30"}).splitlines()
    assert [line.rstrip() for line in lines[:9]] == ["answer"] + ["  word word word word word"] * 8


# --- demo ---------------------------------------------------------------------------------------------------------


def recorded() -> list[dict[str, object]]:
    return [json.loads(line) for line in cli.demo.RECORDING.read_text("utf-8").splitlines()]


def test_the_demo_shows_what_the_recording_holds():
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    headings = [
        "user",
        "reasoning",
        "preamble",
        "call 0: get_forecast",
        "result of get_forecast",
        "reasoning",
        "answer",
    ]
    assert [line for line in out.partition("The same")[0].splitlines() if line in headings] == headings
    for turn in recorded():
        parsed = hs.parse(turn["ids"]) if "ids" in turn else None
        for text in (message.text for message in parsed.messages) if parsed else (turn.get("user") or turn["result"],):
            assert "".join(f"  {line}\n" if line else "\n" for line in text.splitlines()) in out
        assert parsed is None or parsed.deviations == ()


def test_the_demo_splits_characters_over_tokens():
    vocab = hs.vocab.o200k_harmony()
    for turn in recorded():
        tokens = [vocab.token_bytes(tid) for tid in turn.get("ids", [])]
        assert not tokens or any(not valid(token) for token in tokens)


def valid(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_the_python_lines_of_the_demo_do_the_same(tmp_path):
    shown = run("demo")[1]
    assert shown.endswith(cli.demo.DEMO)
    script = tmp_path / "same.py"
    script.write_text(cli.demo.DEMO)
    done = subprocess.run([sys.executable, str(script)], env=ENV, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    bodies = re.findall(r"^(?:reasoning|preamble|answer|call 0: (.*))\n((?:  .*\n|\n(?=  ))+)", shown, re.MULTILINE)
    assert len(bodies) == 5
    same = "".join((f"{name}: " if name else "") + re.sub("(?m)^  ", "", text) for name, text in bodies)
    assert done.stdout.decode() == same


def test_the_demo_plays_at_a_readable_speed():
    tokens = sum(len(turn.get("ids", [])) for turn in recorded())
    assert 10 <= tokens / cli.demo.TOKENS_PER_SECOND <= 15
    began = time.monotonic()
    assert run("demo", "--speed", "10")[1] == run("demo", "--speed", "0")[1]
    assert time.monotonic() - began >= tokens / cli.demo.TOKENS_PER_SECOND / 10


def test_the_recording_is_what_its_script_writes():
    pytest.importorskip("openai_harmony")
    code = "import record_demo, sys; sys.stdout.buffer.write(record_demo.recording().encode())"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "examples", env=ENV, capture_output=True, timeout=60)
    assert (done.stderr, done.stdout) == (b"", cli.demo.RECORDING.read_bytes())
