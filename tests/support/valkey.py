"""A real Valkey or Redis, which can be stopped, killed and started again.

Tests of it are skipped without one. HARMONYSTREAM_NEEDS=valkey, which the workflow sets on Linux, makes them fail.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ports import free_port

SERVER = shutil.which("valkey-server") or shutil.which("redis-server")
NEEDED = "valkey" in os.environ.get("HARMONYSTREAM_NEEDS", "").split()
needs_valkey = pytest.mark.skipif(
    SERVER is None and not NEEDED, reason="neither Valkey nor Redis is installed: apt-get install redis-server"
)


class Valkey:
    """A server on a port of its own. Its data are in the folder and outlive a kill. more: lines of its settings, in
    which {port} stands for the port.
    """

    def __init__(self, folder: Path, *more: str) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self._folder, self._more = folder, [line.format(port=self.port) for line in more]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        assert SERVER is not None, "HARMONYSTREAM_NEEDS=valkey, but there is none: apt-get install redis-server"
        lines = [f"dir {self._folder}", "bind 127.0.0.1", "appendonly yes", "appendfsync always", "save ''"]
        if not any(line.startswith("port") for line in self._more):
            lines.append(f"port {self.port}")
        (self._folder / "valkey.conf").write_text("\n".join([*lines, *self._more]) + "\n")
        with (self._folder / "valkey.log").open("ab") as log:
            self._process = subprocess.Popen([SERVER, self._folder / "valkey.conf"], stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while not self._answers():
            assert self._process.poll() is None, (self._folder / "valkey.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def _answers(self) -> bool:
        """Has it read its data? A server with TLS or a password answers with an error, which is an answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as asked:
                asked.settimeout(2)
                asked.sendall(b"PING\r\n")
                return "tls-port" in " ".join(self._more) or not asked.recv(100).startswith(b"-LOADING")
        except OSError:
            return False

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def kill(self) -> None:
        """As a machine that loses its power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self._process = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """It takes connections, and answers nothing."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)


@contextmanager
def valkey(folder: Path, *more: str) -> Iterator[Valkey]:
    made = Valkey(folder, *more)
    made.start()
    try:
        yield made
    finally:
        made.kill()
