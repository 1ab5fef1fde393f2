"""A conversation on a real terminal: Ctrl-C stops the generation and not the program."""

from __future__ import annotations

import os
import pty
import signal
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
@pytest.mark.skipif(signal.getsignal(signal.SIGINT) == signal.SIG_IGN, reason="a shell's background job ignores Ctrl-C")
def test_ctrl_c_stops_the_generation_and_ctrl_d_leaves():
    master, slave = pty.openpty()
    options = {"stdin": slave, "stdout": slave, "stderr": slave, "env": ENV | {"COLUMNS": "80"}}
    process = subprocess.Popen([*COMMAND, "chat", "--color", "never"], preexec_fn=_own_terminal, **options)
    os.close(slave)
    try:
        seen = arrives(master, b"> ")
        os.write(master, CONTROL_C)
        seen += arrives(master, b"Ctrl-D leaves.")
        for _ in range(2):
            os.write(master, b"Hello\r")
            seen += arrives(master, b"reasoning\r\n")
            os.write(master, CONTROL_C)
            stopped = arrives(master, b"stopped")
            assert b"stopped" in stopped
            seen += stopped if b"> " in stopped else stopped + arrives(master, b"> ")
        os.write(master, CONTROL_D)
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)
    assert b"Traceback" not in seen
