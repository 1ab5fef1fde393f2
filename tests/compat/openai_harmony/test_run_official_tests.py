"""The command that runs openai-harmony's own tests runs them over the drop-in, and fails where they fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command import ENV

COMMAND = Path(__file__).parents[1] / "run_official_tests.py"

PARSES = """
def test_the_parser():
    import openai_harmony
    parser = openai_harmony.StreamableParser(openai_harmony.load_harmony_encoding("HarmonyGptOss"), None)
    for token in [200006, 173781, 200005, 17196, 200008, 12194, 200007]:
        parser.process(token)
    assert type(parser).__module__.startswith("harmonystream.compat")
    assert [(m.channel, m.content[0].text) for m in parser.messages] == [("final", "Hi")]
"""
FAILS = "def test_something_else():\n    assert False\n"
EXPECTED = "def test_decode_utf8_invalid_token():\n    {}\n"


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        (PARSES, 0, "1 passed"),
        (PARSES + FAILS, 1, "1 failed, 1 passed"),
        (EXPECTED.format("raise ValueError"), 0, "1 xfailed"),
        (EXPECTED.format("pass"), 1, "1 failed"),
    ],
    ids=["passes", "fails", "expected", "no longer fails"],
)
def test_the_command_runs_the_tests_of_a_file_over_the_drop_in(tmp_path, source, code, said):
    file = tmp_path / "test_harmony.py"
    file.write_text(source, encoding="utf-8")
    command = [sys.executable, str(COMMAND), str(file), "-q"]
    done = subprocess.run(command, cwd=tmp_path, env=ENV, capture_output=True, text=True, timeout=120)
    assert said in done.stdout, done.stdout + done.stderr
    assert done.returncode == code


def test_without_a_path_it_says_how_it_is_run():
    done = subprocess.run([sys.executable, str(COMMAND)], env=ENV, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "run_official_tests.py PATH" in done.stderr
