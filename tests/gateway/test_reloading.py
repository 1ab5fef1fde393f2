"""SIGHUP: the settings are read again, while answers go on."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx2
import model_dirs
import pytest
from command import ENV
from gateways import ANSWER, chunk, ids_of, running, script_of
from upstream import Upstream

from harmonystream.engines import Recorded
from harmonystream.gateway import Model, app
from harmonystream.gateway.limits import Limits, Quota
from harmonystream.gateway.operating import server
from harmonystream.gateway.operating.admission import Admission
from harmonystream.gateway.operating.connections import Connections
from harmonystream.gateway.operating.keys import line_of
from harmonystream.gateway.operating.server import freeze
from harmonystream.gateway.operating.under_way import UnderWay
from harmonystream.gateway.reloading import Reloading
from harmonystream.gateway.settings import Settings

posix = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="only POSIX has this signal")


class Running:
    """A gateway with a settings file, what it logs, and a client."""

    def __init__(self, process, file, url, lines):
        self.process, self.file, self.url, self.lines = process, file, url, lines

    def ask(self, path, body=None, **headers):
        with httpx2.Client(base_url=self.url, timeout=30, headers=headers) as http:  # another worker may answer each
            return http.get(path) if body is None else http.post(path, json=body)

    def names(self):
        return [one["id"] for one in self.ask("/v1/models").json()["data"]]

    def write(self, text, said="the settings were read again"):
        """Write the file, send the signal, and wait until the log says this once more."""
        before = self.count(said)
        self.file.write_text(text, "utf-8")
        self.process.send_signal(signal.SIGHUP)
        until(lambda: self.count(said) > before)

    def count(self, said):
        return sum(said in line for line in self.lines)


def until(holds, seconds=30):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def gateway(folder, text, *more):
    file = folder / "gateway.toml"
    file.write_text(text, "utf-8")
    command = [sys.executable, "-m", "harmonystream", "serve", "--config", str(file), "--port", "0", *more]
    with subprocess.Popen(command, env=ENV, stderr=subprocess.PIPE, text=True) as process:
        lines: list[str] = []
        try:
            for line in process.stderr:
                lines.append(line)
                if found := re.search(r"http://[\d.:]+", line):
                    break
            reader = threading.Thread(target=lambda: lines.extend(iter(process.stderr.readline, "")))
            reader.start()
            yield Running(process, file, found[0], lines)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            reader.join(20)
    assert process.returncode in (0, -signal.SIGTERM)  # uvicorn passes the signal on to itself
    assert "Traceback" not in "".join(lines)


def model(name, url, *more):
    engine = f'[[models.{name}.engines]]\nurl = "{url}"\nmodel = "m"\n'
    return "\n".join([f"[models.{name}]", 'family = "gpt-oss"', *more, engine])


def chat(name, **more):
    return {"model": name, "messages": [{"role": "user", "content": "?"}], **more}


@posix
def test_models_limits_and_keys_change_and_an_open_answer_ends_with_its_own_model(tmp_path):
    go_on = threading.Event()
    first = [chunk([tid]) for tid in ids_of("<|channel|>final<|message|>Half")]

    async def waits():
        while not go_on.is_set():
            await asyncio.sleep(0.02)

    slow = Upstream([*first, waits, *script_of(ANSWER)[8:]])
    quick = Upstream(script_of(ANSWER))
    with ExitStack() as stack:
        slow_url, quick_url = (stack.enter_context(running(one)) for one in (slow, quick))
        one = stack.enter_context(gateway(tmp_path, model("a", slow_url) + model("same", quick_url)))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        assert one.names() == ["a", "same"]
        body = json.dumps(chat("a", stream=True)).encode()
        asked = urllib.request.Request(f"{one.url}/v1/chat/completions", body, {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            begun = answer.readline()
            rest = pool.submit(answer.read)
            (tmp_path / "keys.txt").write_text(line_of("ann", "key") + "\n", "utf-8")
            one.write(
                'keys = "keys.txt"\n[limits]\nbody = 300\n'
                + model("b", quick_url, 'aliases = ["c"]', "sampling = { temperature = 0.5 }")
                + model("same", quick_url)
            )
            assert one.ask("/v1/models").status_code == 401
            listed = one.ask("/v1/models", authorization="Bearer key").json()["data"]
            assert [said["id"] for said in listed] == ["b", "c", "same"]
            gone = one.ask("/v1/chat/completions", chat("a"), authorization="Bearer key")
            assert (gone.status_code, gone.json()["error"]["code"]) == (404, "model_not_found")
            made = one.ask("/v1/chat/completions", chat("c"), authorization="Bearer key").json()
            assert made["choices"][0]["message"]["content"] == "Hi there!"
            assert quick.requests[-1][1]["temperature"] == 0.5
            large = one.ask("/v1/chat/completions", chat("c", user="u" * 300), authorization="Bearer key")
            assert large.status_code == 413
            go_on.set()
            text = (begun + rest.result(30)).decode()
        assert '"finish_reason":"stop"' in text
        assert text.endswith("data: [DONE]\n\n")


@posix
def test_a_file_with_a_mistake_changes_nothing(tmp_path):
    with running(Upstream(script_of(ANSWER))) as url, gateway(tmp_path, model("a", url)) as one:
        for text in ("models = 1", "[limits]\nbody = 0\n" + model("b", url), model("b", url, 'fallback = ["x"]')):
            one.write(text, "the settings stay as they were")
            assert one.names() == ["a"]
        (tmp_path / "tools.py").write_text("raise RuntimeError('no tools')", "utf-8")
        one.write(model("b", url, 'tools = "tools.py"'), "the settings stay as they were")
        assert one.ask("/v1/chat/completions", chat("a")).status_code == 200
        one.file.unlink()
        one.process.send_signal(signal.SIGHUP)
        until(lambda: one.count("No such file") == 1)
        one.write('port = 1\norigins = ["https://a.example"]\n' + model("b", url))
        assert one.names() == ["b"]
        assert one.count("take effect at the next start: origins\n") == 1  # the flag --port is over the file's port


@posix
def test_a_model_that_stays_keeps_its_engines_and_flags_stay(tmp_path):
    """Its connections stay open, while those of a model whose table has changed are closed."""
    one, other, flag = (Upstream(script_of(ANSWER)) for _ in range(3))
    with running(one) as one_url, running(other) as other_url, running(flag) as flag_url:
        file = model("a", one_url) + "\n"
        more = ["--engine", flag_url, "--model", "gpt-oss", "--served", "m"]
        with gateway(tmp_path, file + model("b", other_url), *more) as made:
            for at in range(3):
                for name in ("a", "b", "gpt-oss"):
                    assert made.ask("/v1/chat/completions", chat(name)).status_code == 200
                made.write(file + model("b", other_url, f"max_tokens = {at + 5}"))
                assert made.names() == ["a", "b", "gpt-oss"]
            assert [len(each.peers) for each in (one, other, flag)] == [1, 3, 1]
            made.write("")
            assert made.names() == ["gpt-oss"]


@posix
def test_workers_read_their_settings_again_and_so_does_one_that_starts(tmp_path):
    with running(Upstream(script_of(ANSWER))) as url, gateway(tmp_path, model("a", url), "--workers", "2") as one:
        one.write(model("b", url))
        until(lambda: one.count("the settings were read again") == 2)
        assert {one.names()[0] for _ in range(20)} == {"b"}


def test_a_reload_under_load_loses_nothing(tmp_path):
    if not hasattr(signal, "SIGHUP"):
        pytest.skip("only POSIX has this signal")
    script = [one for item in script_of(ANSWER) for one in (0.01, item)]
    with ExitStack() as stack:
        urls = [stack.enter_context(running(Upstream(script))) for _ in range(2)]
        one = stack.enter_context(gateway(tmp_path, model("a", urls[0])))
        stop = threading.Event()

        def ask(number):
            found = []
            with httpx2.Client(base_url=one.url, timeout=30) as http:
                while not stop.is_set():
                    more = {"stream": True} if number % 2 else {}
                    answer = http.post("/v1/chat/completions", json=chat("a", **more))
                    ends = answer.text.count('"finish_reason":"stop"')
                    found.append((answer.status_code, ends, answer.text.count(" there")))
            return found

        with ThreadPoolExecutor(6) as pool:
            asking = [pool.submit(ask, number) for number in range(6)]
            for at in range(12):
                one.write(model("a", urls[at % 2], f"max_tokens = {100 + at}"))
                time.sleep(0.1)
            stop.set()
            found = [answer for each in asking for answer in each.result(60)]
    assert len(found) > 20
    assert set(found) == {(200, 1, 1)}


def test_a_wait_for_requests_waits_for_those_that_were_there():
    async def main():
        under_way, ended = UnderWay(), []
        first = under_way.enter()

        async def wait(name):
            await under_way.gone()
            ended.append(name)

        one = asyncio.ensure_future(wait("one"))
        await asyncio.sleep(0)
        second = under_way.enter()
        two = asyncio.ensure_future(wait("two"))
        await asyncio.sleep(0)
        later = under_way.enter()
        second.leave()
        await asyncio.sleep(0.01)
        assert ended == []  # a request that has begun earlier may use what a later reload takes away
        first.leave()
        await asyncio.gather(one, two)
        assert sorted(ended) == ["one", "two"]
        await asyncio.wait_for(asyncio.ensure_future(_none_left(under_way, later)), 5)

    async def _none_left(under_way, later):
        later.leave()
        await under_way.gone()

    asyncio.run(main())


def test_limits_of_requests_change_while_some_wait():
    async def main():
        doors, order = Admission(Limits(concurrent=1, queue=10)), []

        async def come(name):
            await doors.enter(name, Quota())
            order.append(name)

        coming = [asyncio.ensure_future(come(name)) for name in "abcde"]
        await asyncio.sleep(0.01)
        assert (order, doors.open, doors.waiting) == (["a"], 1, 4)
        doors.hold(Limits(concurrent=3, queue=10))
        await asyncio.sleep(0.01)
        assert (order, doors.open, doors.waiting) == (["a", "b", "c"], 3, 2)
        doors.hold(Limits(concurrent=1, queue=10))
        for name in "abc":
            doors.leave(name, Quota())
            await asyncio.sleep(0.01)
        assert (order, doors.open, doors.waiting) == (["a", "b", "c", "d"], 1, 1)
        doors.leave("d", Quota())
        await asyncio.gather(*coming)
        doors.leave("e", Quota())
        assert (order, doors.open, doors.waiting) == ([*"abcde"], 0, 0)

    asyncio.run(main())


def test_what_is_opened_is_closed_once_also_if_the_next_one_fails():
    class Thing:
        def __init__(self, name, fails=False):
            self.name, self.fails = name, fails

        async def __aenter__(self):
            said.append(f"open {self.name}")
            if self.fails:
                raise OSError("no")

        async def __aexit__(self, *_):
            said.append(f"close {self.name}")

    async def main():
        held = Connections()
        a, b = Thing("a"), Thing("b")
        await held.open([a, object()])
        with pytest.raises(OSError, match="no"):
            await held.open([a, b, Thing("c", fails=True)])
        await held.open([a, b])
        await held.close([a])
        await held.close([a])
        await held.close_all()
        await held.close_all()

    said: list[str] = []
    asyncio.run(main())
    assert said == ["open a", "open b", "open c", "close b", "open b", "close a", "close b"]


def test_what_another_server_froze_stays_frozen(monkeypatch):
    """The application may run in a server that forks after it has frozen what its processes share."""
    thawed = []
    monkeypatch.setattr(server, "_frozen", False)
    monkeypatch.setattr(gc, "unfreeze", lambda: thawed.append(1))
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 9)

    async def main():
        made = app([Model("a", Recorded(), family="gpt-oss")]).state.gateway
        reloading = Reloading(made, Settings(), lambda _: Settings(models=[Model("b", Recorded(), family="gpt-oss")]))
        await reloading.reload()
        await asyncio.gather(*reloading._tasks)

    asyncio.run(main())
    assert thawed == []


def test_what_a_model_held_is_freed_when_it_is_taken_away(tmp_path, monkeypatch):
    """At the start, what there is was taken out of the garbage collector's sight; a vocabulary and its rows are in a
    cycle.
    """
    monkeypatch.setattr(server, "_frozen", False)

    async def main():
        first = Model("a", Recorded(), family="Qwen/Qwen3-8B", tokenizer=model_dirs.write(tmp_path, "qwen3"))
        made = app([first]).state.gateway
        vocab = weakref.ref(made.models["a"].vocab)
        del first
        freeze()
        reloading = Reloading(made, Settings(), lambda _: Settings(models=[Model("b", Recorded(), family="gpt-oss")]))
        await reloading.reload()
        await asyncio.gather(*reloading._tasks)
        assert list(made.models) == ["b"]
        assert vocab() is None

    try:
        asyncio.run(main())
    finally:
        gc.unfreeze()
