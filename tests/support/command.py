"""Runs the command line: in this process, or as a user does, as one of its own with pipes or a terminal."""

from __future__ import annotations

import io
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from harmonystream import cli

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "harmonystream"]
ENV = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM", "COLUMNS")}
ENV |= {"PYTHONPATH": str(ROOT), "TERM": "xterm", "PYTHONUTF8": "1"}

# <|channel|>final<|message|>Hi!<|return|>
IDS = [200005, 17196, 200008, 12194, 0, 200002]
TEXT = "<|channel|>final<|message|>Hi!<|return|>"
SHOWN = "answer\n  Hi!\n\nfinish: stop\ntokens: 6 (4 header, 2 content)\n"
SHOWN_TEXT = "answer\n  Hi!\n\nfinish: stop\nbytes: 40 (37 header, 3 content)\n"


def run(*args: str, stdin: str | bytes = b"", env: dict[str, str] | None = None) -> tuple[int, str, str]:
    """The status and the outputs of the command in this process, which takes a tenth of the time of a new one.

    Standard input is a file, as the descriptor 0 too.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    kept = os.dup(0)
    with tempfile.TemporaryFile() as file, io.TextIOWrapper(file) as given, pytest.MonkeyPatch.context() as patch:
        file.write(stdin.encode() if isinstance(stdin, str) else stdin)
        file.seek(0)
        patch.setattr(os, "environ", ENV | (env or {}))
        for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        os.dup2(file.fileno(), 0)
        try:
            status = cli.main(list(args))
        finally:
            os.dup2(kept, 0)
            os.close(kept)
    written = []
    for stream in (out, err):
        stream.flush()
        written.append(stream.buffer.getvalue().decode())
    return status, written[0], written[1]


def as_process(*args: str, stdin: str | bytes = b"", env: dict[str, str] | None = None) -> tuple[int, str, str]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run([*COMMAND, *args], input=data, capture_output=True, env=ENV | (env or {}), timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def start(*args: str, **options: object) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*COMMAND, *args], env=ENV, bufsize=0, preexec_fn=heed_interrupts, **(pipes | options))


def heed_interrupts() -> None:
    """Whoever runs the tests in the background of a shell ignores SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def arrives(fd: int, expected: bytes, seconds: float = 60) -> bytes:
    """What a descriptor brings until it has brought `expected` or has ended, or for so many seconds."""
    got = b""
    deadline = time.monotonic() + seconds
    while expected not in got and select.select([fd], [], [], max(0, deadline - time.monotonic()))[0]:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # Linux: the other side of the terminal is closed
            break
        if not piece:
            break
        got += piece
    return got


def on_terminal(*args: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> str:
    """What the command writes to a terminal of 80 columns, standard error included."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *args], stdin=subprocess.PIPE, stdout=slave, stderr=slave, env=ENV | {"COLUMNS": "80"} | (env or {})
    )
    os.close(slave)
    process.stdin.write(stdin)
    process.stdin.close()
    got = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # Linux: the other side is closed
            break
        if not piece:
            break
        got += piece
    os.close(master)
    assert process.wait(timeout=60) == 0
    return got.decode().replace("\r\n", "\n")
