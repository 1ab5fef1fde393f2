"""Several processes as one gateway: what they share, one that dies, and how they stop."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx2
import pytest
from command import ENV
from gateways import ANSWER, GPT_OSS, chunk, ids_of, running, script_of
from prometheus_client.parser import text_string_to_metric_families
from upstream import HANG, Upstream

import harmonystream as hs

WORKERS = 2
needs_proc = pytest.mark.skipif(not os.path.exists("/proc"), reason="looks for the workers in /proc")


@contextmanager
def workers(upstream, *more):
    """A gateway of two workers, and its URL."""
    command = [sys.executable, "-m", "harmonystream", "serve", "--engine", upstream, "--model", GPT_OSS]
    command += ["--served", "m", "--port", "0", "--workers", str(WORKERS), *more]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, env={**ENV, "TMPDIR": folder}, stderr=subprocess.PIPE, text=True) as process,
    ):
        try:
            said = next(line for line in process.stderr if "http://" in line)
            with ThreadPoolExecutor(1) as reader:
                process.folder, process.said = folder, reader.submit(process.stderr.read)
                try:
                    yield process, re.search(r"http://[\d.:]+", said)[0]
                finally:
                    process.send_signal(signal.SIGTERM)
                    process.wait(60)
        finally:
            process.kill()


def alone(url, path, body=None):
    """An answer over a connection of its own, which any worker may take."""
    with httpx2.Client(base_url=url, timeout=30) as http:
        return http.get(path) if body is None else http.post(path, json={"model": GPT_OSS, **body})


def metrics_of(url):
    families = text_string_to_metric_families(alone(url, "/metrics").text)
    return {(s.name.removeprefix("harmonystream_"), *s.labels.values()): s.value for f in families for s in f.samples}


def until(value):
    """The first value that is true."""
    deadline = time.monotonic() + 60
    while not (found := value()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def all_run(url):
    return until(lambda: metrics_of(url).get(("workers",)) == WORKERS)


def children(process):
    """The workers: children whose command line says that multiprocessing has made them, the tracker aside."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/cmdline") as command:
            parent = int(stat.read().rpartition(")")[2].split()[1])
            if parent == process.pid and "spawn_main" in command.read():
                found.append(int(pid))
    return found


class Slow(Upstream):
    """Answers at once, or hangs after half an answer, or needs a second for the other half, as the prompt says."""

    async def answer(self, request):
        body = await request.json()
        said = b"".join(map(hs.vocab.o200k_harmony().token_bytes, body["prompt"])).decode()
        half = chunk(ids_of("<|channel|>final<|message|>Half"))
        scripts = {"hang": [half, HANG], "slow": [half, 1.0, *script_of(ANSWER)[7:]]}
        last = said.rpartition("<|start|>user<|message|>")[2]
        self.script = next((scripts[word] for word in scripts if last.startswith(word)), script_of(ANSWER))
        return await super().answer(request)


def streaming(url, word):
    """A stream whose status has come."""
    body = {"model": GPT_OSS, "messages": [{"role": "user", "content": word}], "stream": True}
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), headers)
    return urllib.request.urlopen(request, timeout=60)


@needs_proc
def test_workers_share_what_a_client_must_not_notice():
    asked = {"messages": [{"role": "user", "content": "?"}]}
    engine, limits = Slow([]), ("--limit", "concurrent_per_key=4")
    with running(engine) as upstream, workers(upstream, *limits) as (process, url):
        all_run(url)
        pids = children(process)
        assert len(pids) == WORKERS
        last = None
        for turn in range(4):  # by one worker and by the other, in turns, because the other one is stopped
            os.kill(pids[turn % 2], signal.SIGSTOP)
            more = {} if last is None else {"previous_response_id": last}
            answer = alone(url, "/v1/responses", {"input": f"turn {turn}", **more})
            assert answer.status_code == 200, answer.text
            last = answer.json()["id"]
            assert alone(url, "/v1/chat/completions", asked).status_code == 200
            os.kill(pids[turn % 2], signal.SIGCONT)
        prompt = b"".join(map(hs.vocab.o200k_harmony().token_bytes, engine.requests[-2][1]["prompt"])).decode()
        assert [f"turn {turn}<" in prompt for turn in range(4)] == [True] * 4
        found = until(lambda: counted(url, 4))
        assert found["outcomes_total", "responses", GPT_OSS, "ok"] == 4
        assert found["time_to_first_token_seconds_count", "chat", GPT_OSS] == 4
        assert (found["stored_responses",], found["requests_running",]) == (4, 0)

        held = []
        for number in range(4):
            os.kill(pids[number % 2], signal.SIGSTOP)
            held.append(streaming(url, "hang"))
            os.kill(pids[number % 2], signal.SIGCONT)
        assert alone(url, "/v1/chat/completions", asked).status_code == 429
        assert metrics_of(url)["requests_running",] == 4
        # Another worker takes the place of one that dies. What it had open counts no more; all else is still known.
        os.kill(pids[0], signal.SIGKILL)
        until(lambda: len(set(children(process)) - {pids[0]}) == WORKERS)
        all_run(url)
        assert alone(url, "/v1/responses", {"input": "?", "previous_response_id": last}).status_code == 200
        assert metrics_of(url)["requests_total", "chat", GPT_OSS, "200"] == 4
        for answer in held:
            answer.close()
        until(lambda: metrics_of(url)["requests_running",] == 0)

        answers = [streaming(url, "slow") for _ in range(4)]
        firsts = [answer.readline() for answer in answers]
        process.send_signal(signal.SIGTERM)
        texts = [first + answer.read() for first, answer in zip(firsts, answers)]
        process.wait(60)
        assert os.listdir(process.folder) == []
    assert all(text.endswith(b"data: [DONE]\n\n") and b'"finish_reason":"stop"' in text for text in texts)
    assert (process.returncode, children(process)) == (0, [])
    assert "Traceback" not in process.said.result()


def counted(url, requests):
    found = metrics_of(url)
    return found if found.get(("requests_total", "chat", GPT_OSS, "200")) == requests else None


@needs_proc
def test_a_first_process_that_is_killed_takes_its_workers_along():
    with running(Upstream(script_of(ANSWER))) as upstream, workers(upstream) as (process, url):
        all_run(url)
        pids = children(process)
        process.kill()
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--workers", "0"], "1 to 256"),
        (["--workers", "2", "--inspect"], "streams of one process"),
        (["--port", "65536"], "0 to 65535, not 65536"),
    ],
)
def test_what_cannot_be(more, said):
    command = [sys.executable, "-m", "harmonystream", "serve", "--port", "0", *more]
    made = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=60)
    assert made.returncode != 0
    assert said in made.stderr
    assert "Traceback" not in made.stderr


def start_on(folder: str) -> str:
    """What two workers write that cannot start. folder: a program that makes the temporary folder useless."""
    serve = "if __name__ == '__main__': raise SystemExit(main(['serve', '--port', '0', '--workers', '2']))"
    command = [sys.executable, "-c", f"from harmonystream.cli import main\n{folder}\n{serve}"]
    made = subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=60)
    assert made.returncode == 2
    assert "Traceback" not in made.stderr
    return made.stderr


@pytest.mark.skipif(os.name != "posix", reason="workers need the signals of POSIX")
def test_a_file_system_without_a_place_for_what_they_share_is_an_error_that_says_so():
    """As on the read-only root of a container that has no /tmp of its own."""
    stderr = start_on("import tempfile; tempfile._candidate_tempdir_list = lambda: ['/nonexistent']")
    assert stderr.endswith("harmonystream: /tmp: workers share a folder here: set TMPDIR to one that can be written\n")


@pytest.mark.skipif(os.name != "posix", reason="workers need the signals of POSIX")
@pytest.mark.parametrize(
    ("why", "advice"),
    [("database or disk is full", "one with more room"), ("unable to open database file", "another one")],
)
def test_a_folder_that_holds_no_database_is_an_error_that_says_so(why, advice):
    stderr = start_on(
        "import sqlite3; from harmonystream.gateway.operating import shared\n"
        "def connect(where, **more):\n"
        "    if where == ':memory:': return sqlite3.connect(where, **more)\n"
        f"    raise sqlite3.OperationalError({why!r})\n"
        "shared.sqlite3 = type('Full', (), {'connect': connect, 'Connection': sqlite3.Connection})"
    )
    assert f"share a folder here, which cannot be used ({why}): set TMPDIR to {advice}" in stderr
