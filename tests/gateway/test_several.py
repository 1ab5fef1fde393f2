"""The example of three gateways, a store and nginx, really run: what is killed and restarted loses nothing."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2
import pytest
import test_rendering_engines
import test_vllm_tokens
from command import ENV
from gateways import ANSWER, GPT_OSS, running, script_of
from nginx import needs_nginx, nginx_before
from ports import free_port
from upstream import HANG, Upstream
from valkey import needs_valkey, valkey

import harmonystream as hs
from harmonystream.gateway.operating.keys import line_of

pytestmark = [needs_nginx, needs_valkey, pytest.mark.slow]
FOLDER = Path(__file__).resolve().parents[2] / "examples" / "gateway" / "several"
KEY = "a-key-of-the-tests"


class Process:
    """One of the gateways, which can be killed, stopped and started again at the same port. more: of its command."""

    def __init__(self, folder, store, *more, name="gateway-1", env=ENV):
        self.port = free_port()
        command = compose()["services"][name]["command"]
        command = [word.replace("valkey://store:6379", store.url) for word in command]
        command = [word.replace("/etc/gateway/gateway.toml", str(FOLDER / "gateway.toml")) for word in command]
        self._command = [sys.executable, "-m", "harmonystream", "serve", "--port", str(self.port), *command, *more]
        self._env = env
        self._log = folder / f"gateway-{self.port}.log"
        self.start()

    def start(self):
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, env=self._env, stdout=log, stderr=log)

    def is_ready(self):
        assert self.process.poll() is None, self.log_text()
        try:
            return httpx2.get(f"http://127.0.0.1:{self.port}/health/ready").status_code == 200
        except httpx2.HTTPError:
            return False

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait(60)

    def log_text(self):
        return self._log.read_text("utf-8")


def compose():
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))


def until(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def site(processes):
    """The example's nginx.conf, whose servers are those of the test."""
    text = (FOLDER / "nginx.conf").read_text("utf-8").replace("{", "{{").replace("}", "}}")
    text, listens = re.subn(r"listen 80;", "listen 127.0.0.1:{port};", text)
    for number, one in enumerate(processes, 1):
        text, found = re.subn(rf"server gateway-{number}:8000", f"server 127.0.0.1:{one.port}", text)
        assert (listens, found) == (1, 1)
    return text


@contextmanager
def three(folder, engine, *more, kind=None):
    """The gateways, a client through nginx, and the store. kind: of an engine that writes the prompts."""
    (folder / "keys.txt").write_text(line_of("tests", KEY) + "\n", "utf-8")
    patient = ["--limit", "store_wait=15"]  # on a machine that is busy, a store that is slow is not one that is gone
    more = ["--keys", str(folder / "keys.txt"), *patient, *more]
    with ExitStack() as stack:
        url = stack.enter_context(running(engine))
        if kind is not None:
            more = [*more, "--render", url]
            url = f"{kind}={url}"
        store = stack.enter_context(valkey(folder))
        engines = ["--engine", url, "--model", GPT_OSS, "--served", "m"]
        processes = [Process(folder, store, *engines, *more) for _ in range(3)]
        try:
            for one in processes:
                until(one.is_ready)
            address = stack.enter_context(nginx_before("", folder, site(processes)))
            with httpx2.Client(base_url=f"http://{address}", timeout=60, headers={"x-api-key": KEY}) as http:
                yield processes, http, store
        finally:
            for one in processes:
                one.process.kill()
                one.process.wait(20)
    for one in processes:
        assert "Traceback" not in one.log_text(), one.log_text()


def asked(engine):
    return b"".join(map(hs.vocab.o200k_harmony().token_bytes, engine.requests[-1][1]["prompt"])).decode()


def test_a_gateway_or_the_store_that_is_killed_loses_nothing_that_was_acknowledged(tmp_path):
    engine = Upstream(script_of(ANSWER))
    with three(tmp_path, engine, "--limit", "tokens_per_minute=1000000") as (processes, http, store):
        last, turns = None, 0

        def turn():
            nonlocal last, turns
            more = {} if last is None else {"previous_response_id": last}
            answer = http.post("/v1/responses", json={"model": GPT_OSS, "input": f"turn {turns}", **more})
            assert answer.status_code == 200, answer.text
            assert answer.json()["store"] is True
            turns += 1
            last = answer.json()["id"]

        for victim in processes:
            for _ in range(4):
                turn()
            victim.end(signal.SIGKILL)
            for _ in range(4):
                turn()
            victim.start()
            until(victim.is_ready)
        store.kill()
        store.start()
        until(lambda: all(is_sound(one) for one in processes))
        turn()
        assert [f"turn {at}<" in asked(engine) for at in range(turns)] == [True] * turns


@pytest.mark.parametrize("kind", ["vllm-tokens", "vllm", "sglang", "llama-server"])
def test_a_picture_goes_through_all_of_them_and_is_still_there_in_the_next_turn(tmp_path, kind):
    if kind == "vllm-tokens":
        engine = test_vllm_tokens.Tokens(test_vllm_tokens.script_of(ANSWER))
    else:
        props = {"media_marker": test_rendering_engines.MARKER}
        engine = test_rendering_engines.Rendering([], props=props)
    with three(tmp_path, engine, kind=kind) as (processes, http, _):
        first = http.post("/v1/responses", json={"model": GPT_OSS, **test_vllm_tokens.PICTURES["responses"]})
        assert (first.status_code, first.json()["store"]) == (200, True), first.text
        for one in processes[:2]:
            one.end(signal.SIGKILL)
        more = {"input": "And now?", "previous_response_id": first.json()["id"]}
        second = http.post("/v1/responses", json={"model": GPT_OSS, **more})
        assert second.status_code == 200, second.text
        assert "Hi there!" in second.text
        asked = [body for _, body in engine.requests if "messages" in body][-1]["messages"]
        assert [message["role"] for message in asked] == ["user", "assistant", "user"]
        assert [part["type"] for part in asked[0]["content"]] == ["text", "image_url", "text"]
        assert asked[0]["content"][1]["image_url"]["url"] == test_vllm_tokens.DATA


def is_sound(one):
    return httpx2.get(f"http://127.0.0.1:{one.port}/health/ready").json()["store"] == "ok"


BODY = {"model": GPT_OSS, "messages": [{"role": "user", "content": "?"}], "stream": True}


def opened(http):
    """A stream whose answer has begun; None if the key has too many."""
    stream = http.stream("POST", "/v1/chat/completions", json=BODY)
    response = stream.__enter__()
    if response.status_code == 429:
        stream.__exit__(None, None, None)
        return None
    assert response.status_code == 200
    pieces = response.iter_raw()
    next(pieces)
    return stream, pieces


def test_the_limit_of_a_key_is_exact_when_a_gateway_is_killed(tmp_path):
    engine = Upstream([*script_of(ANSWER)[:3], HANG])
    with three(tmp_path, engine, "--limit", "concurrent_per_key=6", "--limit", "keep_alive=0.2") as (
        processes,
        http,
        _,
    ):
        held = [opened(http) for _ in range(6)]
        assert None not in held
        assert opened(http) is None
        processes[0].end(signal.SIGKILL)
        broken = 0
        for _, pieces in held:
            broken += is_broken(pieces)
        assert 1 <= broken <= 5  # nginx gives each gateway some
        more = []
        until(lambda: more.append(opened(http)) or more[-1] is not None)
        more = [more[-1]]
        while (one := opened(http)) is not None:
            more.append(one)
        assert len(more) == broken
        for stream, _ in [*held, *more]:
            with suppress(httpx2.HTTPError):
                stream.__exit__(None, None, None)


def is_broken(pieces):
    """Does a stream end before its answer does? One that goes on has comments; some may have come before."""
    deadline = time.monotonic() + 3
    try:
        while time.monotonic() < deadline:
            next(pieces)
    except (httpx2.HTTPError, StopIteration):
        return True
    return False


def test_a_rolling_restart_under_load_loses_no_answer(tmp_path):
    script = script_of(ANSWER)
    engine = Upstream([one for piece in script for one in (piece, 0.02)])  # an answer takes half a second
    with three(tmp_path, engine) as (processes, http, _):
        stop, wrong = threading.Event(), []
        served = Counter()

        def ask():
            while not stop.is_set():
                answer = http.post("/v1/chat/completions", json=BODY)
                text = "".join(
                    choice["delta"].get("content") or ""
                    for line in answer.text.splitlines()
                    if line.startswith("data: {")
                    for choice in json.loads(line.removeprefix("data: "))["choices"]
                )
                fine = answer.status_code == 200 and text == "Hi there!" and answer.text.endswith("data: [DONE]\n\n")
                served[fine] += 1
                if not fine:
                    wrong.append((answer.status_code, answer.text))

        with ThreadPoolExecutor(12) as pool:
            asking = [pool.submit(ask) for _ in range(12)]
            try:
                for one in processes:
                    wanted = served[True] + 20
                    until(lambda wanted=wanted: served[True] > wanted)
                    one.end(signal.SIGTERM)
                    assert one.process.returncode in (0, -signal.SIGTERM)  # uvicorn ends by the signal that it got
                    one.start()
                    until(one.is_ready)
            finally:
                stop.set()
            for each in asking:
                each.result()
        assert wrong == []
        assert served[True] > 80


def test_the_composition_is_valid_and_names_what_there_is():
    specification = pytest.importorskip("compose_spec")
    specification.PyCompose.from_yaml((FOLDER / "compose.yaml").read_text("utf-8"))
    services = compose()["services"]
    for one in services.values():
        assert set(one.get("depends_on", ())) <= services.keys()
        if "build" in one:
            assert (FOLDER / one["build"]["context"] / one["build"]["dockerfile"]).is_file()
        for mounted in one.get("volumes", ()):
            source = mounted.split(":")[0]
            assert source in compose()["volumes"] or (FOLDER / source).is_file()
    hosts = re.findall(r"server ([\w-]+):8000", (FOLDER / "nginx.conf").read_text("utf-8"))
    assert hosts == services["balancer"]["depends_on"]


@pytest.mark.parametrize("seal", [{}, {"HARMONYSTREAM_STORE_SEAL": "5ea1" * 16}])
def test_the_composition_as_plain_commands_serves_the_recorded_conversation(tmp_path, seal):
    services = compose()["services"]
    program, *words = services["store"]["command"]
    assert program == "valkey-server"
    lines = [line.strip() for line in " ".join(words).split("--") if line]
    with ExitStack() as stack:
        store = stack.enter_context(valkey(tmp_path, *lines))
        processes = [Process(tmp_path, store, name=f"gateway-{number}", env={**ENV, **seal}) for number in (1, 2, 3)]
        for one in processes:
            stack.callback(one.process.wait, 20)
            stack.callback(one.process.kill)
        for one in processes:
            until(one.is_ready)
        address = stack.enter_context(nginx_before("", tmp_path, site(processes)))
        http = stack.enter_context(httpx2.Client(base_url=f"http://{address}", timeout=60))
        until(lambda: http.get("/health/ready").json().items() >= {"store": "ok", "gateways": 3}.items())
        last = {}
        for _ in range(6):  # nginx asks one gateway after the other
            answer = http.post("/v1/responses", json={"model": "gpt-oss", "input": "Weather?", **last})
            assert (answer.status_code, answer.json()["store"]) == (200, True), answer.text
            last = {"previous_response_id": answer.json()["id"]}
        asked = {"model": "gpt-oss", "messages": [{"role": "user", "content": "Weather?"}]}
        assert http.post("/v1/chat/completions", json=asked).json()["choices"][0]["message"]
        assert http.post("/v1/messages", json={**asked, "max_tokens": 500}).json()["content"]
        assert {http.get(f"/{path}").status_code for path in ("metrics", "inspect")} == {404}
    assert all('"api": "responses"' in one.log_text() for one in processes)
