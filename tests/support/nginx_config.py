"""nginx's configuration for a site, and the site of examples/gateway/several: for tests, clients and the soak."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "gateway" / "several" / "nginx.conf"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
STORE = shutil.which("valkey-server") or shutil.which("redis-server")
_CONFIG = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    {site}
}}
"""


def write_config(folder: Path, site: str) -> list[str]:
    """Write nginx.conf, which keeps everything in the folder. The result is the command that runs nginx with it."""
    assert NGINX is not None, "nginx is not installed: apt-get install nginx-light"
    (folder / "nginx.conf").write_text(_CONFIG.format(folder=folder, site=site), "utf-8")
    return [NGINX, "-e", f"{folder}/error.log", "-p", str(folder), "-c", f"{folder}/nginx.conf"]


def several(port: int, gateways: Sequence[int]) -> str:
    """The example's site at this port, before gateways at these ports."""
    site = EXAMPLE.read_text("utf-8").replace("listen 80;", f"listen 127.0.0.1:{port};")
    for number, one in enumerate(gateways, 1):
        site = site.replace(f"gateway-{number}:8000", f"127.0.0.1:{one}")
    return site
