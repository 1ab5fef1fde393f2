"""A real nginx in front of a server, which keeps its connections.

Tests of it are skipped without nginx. HARMONYSTREAM_NEEDS=nginx, which the workflow sets on Linux, makes them fail.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from nginx_config import NGINX, write_config
from ports import free_port

NEEDED = "nginx" in os.environ.get("HARMONYSTREAM_NEEDS", "").split()
needs_nginx = pytest.mark.skipif(
    NGINX is None and not NEEDED, reason="nginx is not installed: apt-get install nginx-light"
)

SITE = """
    upstream app {{ server {upstream}; keepalive 32; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection "";
            proxy_next_upstream off;
        }}
    }}
"""


@contextmanager
def nginx_before(upstream: str, directory: Path, site: str = SITE) -> Iterator[str]:
    """The address of an nginx in front of a server, which uses its connections to it again.

    site: what stands in the `http` block, with {upstream} and {port}.
    """
    port = free_port()
    command = write_config(directory, site.format(upstream=upstream, port=port))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert time.monotonic() < deadline
                assert process.poll() is None, (directory / "error.log").read_text()
                time.sleep(0.02)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=20)
