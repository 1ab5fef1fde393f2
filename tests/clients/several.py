"""Three servers behind nginx, with the site of examples/gateway/several, and the store that they share."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "examples" / "gateway" / "several" / "nginx.conf"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
STORE = shutil.which("valkey-server") or shutil.which("redis-server")
COUNT = 3
CONFIG = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {site}
}}
"""


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


@contextmanager
def running(*command: str) -> Iterator[str]:
    """The URL of nginx before three servers. {store} and {port} in the command are the store's URL and the port."""
    assert NGINX is not None, "nginx is not installed: apt-get install nginx-light"
    assert STORE is not None, "neither Valkey nor Redis is installed: apt-get install redis-server"
    port, store, *ports = free_ports(2 + COUNT)
    site = SITE.read_text("utf-8").replace("listen 80;", f"listen 127.0.0.1:{port};")
    for number, one in enumerate(ports, 1):
        site = site.replace(f"gateway-{number}:8000", f"127.0.0.1:{one}")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # nginx keeps large bodies there, as another user if it is started by root
        Path(folder, "nginx.conf").write_text(CONFIG.format(folder=folder, site=site), "utf-8")
        url = f"redis://127.0.0.1:{store}"
        env = {**os.environ, "PYTHONPATH": str(ROOT), "HARMONYSTREAM_STORE_SEAL": "seal" * 8}
        commands = [[STORE, "--port", str(store), "--dir", folder, "--bind", "127.0.0.1", "--save", ""]]
        commands += [[sys.executable, *(word.format(store=url, port=one) for word in command)] for one in ports]
        commands += [[NGINX, "-e", f"{folder}/error.log", "-p", folder, "-c", f"{folder}/nginx.conf"]]
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
