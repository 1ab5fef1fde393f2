"""The gateway as a process that is stopped: open answers end, new ones are refused, nobody is left without an end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request

import pytest
from command import ENV
from gateways import ANSWER, chunk, ids_of, running, script_of
from upstream import HANG, Upstream

from harmonystream.gateway.operating.server import config_of

SCRIPT = """
import sys
from harmonystream.engines.named import engine_of
from harmonystream.gateway import Model, app
from harmonystream.gateway.limits import Limits
from harmonystream.gateway.operating.server import serve

model = Model("gpt-oss", engine_of("vllm", sys.argv[1], "m"))
serve(app([model], limits=Limits(drain=float(sys.argv[2]))), "127.0.0.1", 0)
"""


def url_of(process):
    for line in process.stderr:
        if "http://" in line:
            return "http://" + line.split("http://")[1].split()[0]
    raise AssertionError


@pytest.mark.parametrize("hangs", [False, True])
def test_sigterm_lets_open_answers_end(hangs):
    ids = ids_of("<|channel|>final<|message|>Half")
    script = [chunk(ids), HANG] if hangs else [chunk(ids), 0.5, *script_of(ANSWER)[7:]]
    with running(Upstream(script)) as upstream:
        command = [sys.executable, "-c", SCRIPT, upstream, "0.3" if hangs else "20"]
        process = subprocess.Popen(command, env=ENV, stderr=subprocess.PIPE, text=True)
        try:
            url = url_of(process)
            body = json.dumps({"messages": [{"role": "user", "content": "?"}], "stream": True}).encode()
            asked = urllib.request.Request(f"{url}/v1/chat/completions", body, {"content-type": "application/json"})
            with urllib.request.urlopen(asked, timeout=20) as answer:
                first = answer.readline()
                process.send_signal(signal.SIGTERM)
                text = (first + answer.read()).decode()
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
    assert text.endswith("data: [DONE]\n\n")
    assert ('"code":"draining"' in text) is hangs
    assert ('"finish_reason":"stop"' in text) is not hangs
    assert "Traceback" not in errors
    assert '"outcome": "failed"' in errors if hangs else '"outcome": "ok"' in errors


FROZEN = """
import gc, os, signal
from harmonystream.gateway import app
from harmonystream.gateway.operating.server import config_of, run


def started():
    print(gc.get_freeze_count() > 10_000, len(gc.get_objects()) < 5_000)
    os.kill(os.getpid(), signal.SIGTERM)


run(config_of(app(), "127.0.0.1", 0), on_start=started)
"""


def test_the_collector_does_not_visit_what_there_is_at_the_start():
    """A full collection stops all streams for as long as it visits objects."""
    done = subprocess.run([sys.executable, "-c", FROZEN], env=ENV, capture_output=True, text=True, timeout=60)
    assert done.stdout == "True True\n", done.stderr


def test_an_idle_connection_outlives_those_of_usual_balancers():
    """nginx and ALB keep theirs for 60 s, and would send a request into one that ends."""
    assert config_of(None, None, None).timeout_keep_alive > 60


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="only POSIX has this signal")
def test_sighup_does_not_end_the_gateway():
    with running(Upstream(script_of(ANSWER))) as upstream:
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, upstream, "1"], env=ENV, stderr=subprocess.PIPE, text=True
        )
        try:
            url = url_of(process)
            for _ in range(2):
                process.send_signal(signal.SIGHUP)
                with urllib.request.urlopen(f"{url}/health/live", timeout=20) as answer:
                    assert answer.status == 200
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors
