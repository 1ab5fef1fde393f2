"""Three servers behind nginx, with the site of examples/gateway/several, and the store that they share."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))

from nginx_config import STORE, write_config  # noqa: E402
from nginx_config import several as site  # noqa: E402
from ports import free_ports  # noqa: E402

COUNT = 3


@contextmanager
def running(*command: str) -> Iterator[str]:
    """The URL of nginx before three servers. {store} and {port} in the command are the store's URL and the port."""
    if STORE is None:
        sys.exit("The gateways need a store, and neither Valkey nor Redis is installed: apt-get install redis-server")
    port, store, *ports = free_ports(2 + COUNT)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # nginx keeps large bodies there, as another user if it is started by root
        url = f"redis://127.0.0.1:{store}"
        env = {**os.environ, "PYTHONPATH": str(ROOT), "HARMONYSTREAM_STORE_SEAL": "seal" * 8}
        commands = [[STORE, "--port", str(store), "--dir", folder, "--bind", "127.0.0.1", "--save", ""]]
        commands += [[sys.executable, *(word.format(store=url, port=one) for word in command)] for one in ports]
        commands.append(write_config(Path(folder), site(port, ports)))
        started: list[subprocess.Popen[bytes]] = []
        try:
            for one in commands:
                silent = subprocess.DEVNULL
                started.append(subprocess.Popen(one, env=env, stdout=silent, stderr=silent))
            for each in (store, *ports, port):
                _wait(each, started)
            yield f"http://127.0.0.1:{port}"
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait(60)


def _wait(port: int, started: list[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + 60
    while True:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if time.monotonic() > deadline or any(process.poll() is not None for process in started):
            raise OSError(f"nothing listens at {port}")
        time.sleep(0.1)
