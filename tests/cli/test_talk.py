"""A conversation on a real terminal: Ctrl-C stops the generation and not the program."""

from __future__ import annotations

import json
import os
import pty
import subprocess

import pytest
from command import COMMAND, ENV, arrives, heed_interrupts

CONTROL_C, CONTROL_D = b"\x03", b"\x04"


def _own_terminal() -> None:
    """In the child: a session of its own, whose terminal is standard input, as a shell would have it."""
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    heed_interrupts()


@pytest.mark.skipif(os.name != "posix", reason="a terminal of POSIX")
def test_ctrl_c_stops_the_generation_and_ctrl_d_leaves():
    master, slave = pty.openpty()
    options = {"stdin": slave, "stdout": slave, "stderr": slave, "env": ENV | {"COLUMNS": "80"}}
    process = subprocess.Popen([*COMMAND, "chat", "--color", "never"], preexec_fn=_own_terminal, **options)
    os.close(slave)
    try:
        seen = _await(master, b"> ") + _interrupt(master, b"Ctrl-D leaves.\r\n\x1b[?2004h> ")
        for _ in range(2):
            os.write(master, b"Hello\r")
            seen += _await(master, b"reasoning\r\n")
            os.write(master, CONTROL_C)
            seen += _await(master, b"stopped\r\n\r\n\x1b[?2004h> ")
        os.write(master, CONTROL_D)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert b"Traceback" not in seen


CALLS = [
    {"text": '<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}<|call|>'},
    {"text": "<|channel|>final<|message|>Done.<|return|>"},
]


@pytest.mark.skipif(os.name != "posix", reason="a terminal of POSIX")
def test_ctrl_c_at_the_question_of_approval_stops_the_turn(tmp_path):
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in CALLS))
    (tmp_path / "t.py").write_text("def add(a: int) -> int:\n    open('ran', 'w').close()\n    return a\n")
    master, slave = pty.openpty()
    options = {"stdin": slave, "stdout": slave, "stderr": slave, "env": ENV | {"COLUMNS": "80"}, "cwd": tmp_path}
    command = [*COMMAND, "chat", "--color", "never", "--engine", "recorded=r.jsonl", "--tools", "t.py", "--ask"]
    process = subprocess.Popen(command, preexec_fn=_own_terminal, **options)
    os.close(slave)
    try:
        _await(master, b"> ")
        os.write(master, b"Add\r")
        _await(master, b"[a]lways: ")
        seen = _interrupt(master, b"stopped\r\n\r\n\x1b[?2004h> ")
        assert not (tmp_path / "ran").exists() and b"add runs" not in seen
        os.write(master, CONTROL_D)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)


def _await(terminal: int, expected: bytes) -> bytes:
    got = arrives(terminal, expected)
    assert expected in got
    return got


def _interrupt(terminal: int, expected: bytes) -> bytes:
    """Presses Ctrl-C until it is heeded: Python does so only once it waits for a key, shortly after the question."""
    got = b""
    for _ in range(20):
        os.write(terminal, CONTROL_C)
        got += arrives(terminal, expected, 3)  # readline asks for pasted texts in brackets
        if expected in got:
            return got
    raise AssertionError(got)


def test_pasted_lines_are_one_message_and_a_backslash_goes_on(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"text": "<|channel|>final<|message|>Hi!<|return|>"}\n')
    master, slave = pty.openpty()
    options = {"stdin": slave, "stdout": slave, "stderr": slave, "env": ENV | {"COLUMNS": "80"}}
    command = [*COMMAND, "chat", "--color", "never", "--engine", f"recorded={tmp_path / 'r.jsonl'}"]
    process = subprocess.Popen(command, preexec_fn=_own_terminal, **options)
    os.close(slave)
    try:
        _await(master, b"> ")
        os.write(master, b"\x1b[200~one\ntwo\nthree\x1b[201~\r")
        _await(master, b"tokens\r\n\r\n\x1b[?2004h> ")
        os.write(master, b"four \\\rfive\r")
        _await(master, b"tokens\r\n\r\n\x1b[?2004h> ")
        os.write(master, b"/undo\r")
        seen = _await(master, b"Taken back: four")
        os.write(master, b"/undo\r")
        seen += _await(master, b"Taken back: one")
        os.write(master, b"/undo\r")
        _await(master, b"There is nothing to take back.")
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert b"Taken back: two" not in seen
