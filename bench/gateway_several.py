"""Three gateways, nginx, a store and three engines, all killed in turn under load; exit status 1 if anything is wrong.

The gateways are `harmonystream serve --config`, and nginx has the site of examples/gateway/several. Every few seconds
an engine, a gateway or the store is killed with -9 and started again, or a gateway is stopped and started. Streams are
judged as in `bench.gateway_soak`; only a gateway that is killed may break those it has open. Nothing that was
acknowledged may be lost: each response with `"store": true` is read again at the end, by its owner, and no other key
can read it. One key has a limit of tokens. It may get more than the limit by one request, and by the tokens that killed
gateways had not yet reported to the store. Linux only; it needs nginx, and Valkey or Redis.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
from nginx_config import NGINX, STORE, several, write_config
from ports import free_ports

from bench.gateway_soak.clients import Clients
from bench.gateway_soak.processes import Processes, beside, conclude, options, ready
from harmonystream.gateway.operating.keys import line_of

GATEWAYS = ENGINES = 3
RATE = 6_000
"""Tokens a minute of the key with a limit."""
PATIENCE = 240
"""Seconds that a client waits. nginx asks each of three gateways, and a request waits in each queue for a minute."""
KEYS = ("streams", "one", "other", "limited")
SETTINGS = """
keys = "keys.txt"
store = "redis://127.0.0.1:{store}"
[limits]
first_token = 5
silence = 5
retries = 2
queue_seconds = 60
status_wait = 1
keep_alive = 1
drain = 20
stored = 1000000
stored_bytes = 1000000000
[models."gpt-oss"]
"""


ENGINE = """
[[models."gpt-oss".engines]]
url = "http://127.0.0.1:{port}"
model = "m"
"""


class Everything(Processes):
    """The store, the engines, the gateways and nginx. kills: when a gateway was killed."""

    def __init__(self, folder: Path, pause: float) -> None:
        self.port, store, *rest = free_ports(2 + GATEWAYS + ENGINES)
        self.gateways, engines = rest[:GATEWAYS], rest[GATEWAYS:]
        self.kills: list[float] = []
        settings, module = folder / "gateway.toml", [sys.executable, "-m"]
        settings.write_text(
            SETTINGS.format(store=store) + "".join(ENGINE.format(port=each) for each in engines), "utf-8"
        )
        more = {"limited": f" tokens_per_minute={RATE}"}
        keys = [line_of(name, key_of(name)) + more.get(name, "") for name in KEYS]
        (folder / "keys.txt").write_text("\n".join(keys) + "\n", "utf-8")
        data = ["--dir", str(folder), "--bind", "127.0.0.1", "--appendonly", "yes", "--appendfsync", "always"]
        commands = {"store": [str(STORE), "--port", str(store), "--save", "", *data]}
        for at, port in enumerate(engines):
            commands[f"engine {at}"] = [*module, "bench.gateway_soak.engine", str(port), str(pause)]
        serve = [*module, "harmonystream", "serve", "--config", str(settings)]
        for at, port in enumerate(self.gateways):
            commands[f"gateway {at}"] = [*serve, "--port", str(port)]
        commands["nginx"] = write_config(folder, several(self.port, self.gateways))
        super().__init__(folder, commands)

    async def end(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        if number == signal.SIGKILL and name.startswith("gateway"):
            self.kills.append(asyncio.get_running_loop().time())
        await super().end(name, number)

    async def kill_in_turn(self, every: float) -> None:
        """For ever: an engine, a gateway, the store, and a gateway that is only stopped."""
        turn = 0
        while True:
            for name, number, pause in (
                (f"engine {turn % ENGINES}", signal.SIGKILL, 0.0),
                (f"gateway {turn % GATEWAYS}", signal.SIGKILL, 0.0),
                ("store", signal.SIGKILL, 2.0),
                (f"gateway {(turn + 1) % GATEWAYS}", signal.SIGTERM, 0.0),
            ):
                await asyncio.sleep(every)
                await self.end(name, number)
                await asyncio.sleep(pause)
                await self.restart()
                if name.startswith("gateway"):
                    await ready(health(self.gateways[int(name.split()[1])]))
            turn += 1

    async def restored(self) -> None:
        """Start what a kill has left stopped, and wait until each gateway has its store."""
        await self.restart()
        for port in self.gateways:
            await ready(health(port), lambda answer: bool(answer["store"] == "ok"))

    def may_break(self, began: float) -> bool:
        """May a connection that began then have been broken by a kill?"""
        return any(kill >= began - 1 for kill in self.kills)

    def errors_of_nginx(self) -> str:
        """Its last errors, which show why it answered for a gateway."""
        lines = (self._folder / "error.log").read_text("utf-8", "replace").splitlines()
        return "\n".join(line[:300] for line in lines[-60:])


def health(port: int) -> str:
    return f"http://127.0.0.1:{port}/health/ready"


def key_of(name: str) -> str:
    return f"the-key-of-{name}"


def headers_of(name: str) -> dict[str, str]:
    return {"x-api-key": key_of(name)}


class Streams(Clients):
    """The streaming clients, which note the stored responses that they were promised."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.promised: dict[str, int] = {}

    def completed(self, number: int, text: str) -> None:
        ends = re.findall(r'^data: (\{"type": ?"response.completed".*)$', text, re.M)
        if not ends:  # the engine died after its last word
            return
        response = json.loads(ends[-1])["response"]
        if response["store"]:
            self.promised[response["id"]] = number
        else:
            self.counts["not stored, as it says"] += 1


class Keepers:
    """Conversations of two owners, by `previous_response_id`, and a third owner who has a limit of tokens."""

    def __init__(self, url: str, everything: Everything, seed: int) -> None:
        self._url, self._everything, self._random = url, everything, Random(seed)
        self.promised: dict[str, dict[str, int]] = {"one": {}, "other": {}}
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.used = self.largest = 0

    async def run(self, seconds: float) -> None:
        until = asyncio.get_running_loop().time() + seconds
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE)) as session:
            talks = [self._talk(session, owner, at, until) for owner in self.promised for at in range(4)]
            await asyncio.gather(*talks, self._spend(session, until))

    async def _post(self, session: aiohttp.ClientSession, owner: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Status and answer; 0 if the connection was broken by a kill."""
        began = asyncio.get_running_loop().time()
        try:
            async with session.post(f"{self._url}/v1/responses", json=body, headers=headers_of(owner)) as response:
                text = await response.text()
                return response.status, json.loads(text) if text.startswith("{") else text
        except (aiohttp.ClientError, asyncio.TimeoutError) as error:
            if not self._everything.may_break(began):
                self.wrong.append(f"{owner}: {error!r}")
            return 0, None

    async def _talk(self, session: aiohttp.ClientSession, owner: str, at: int, until: float) -> None:
        loop, last, turn = asyncio.get_running_loop(), None, 0
        while loop.time() < until:
            number = 20 * self._random.randrange(10**6)  # one for which the engine does not fail
            body: dict[str, Any] = {"model": "gpt-oss", "input": f"number {number}"}
            if last is not None and turn % 8:
                body["previous_response_id"] = last
            began = loop.time()
            status, answer = await self._post(session, owner, body)
            self.counts[f"kept, status {status}"] += 1
            if status == 200:
                text = "".join(part["text"] for item in answer["output"] for part in item.get("content", ()))
                if set(re.findall(r"n(\d+)", text)) != {str(number)}:
                    self.wrong.append(f"{owner}: another answer: {text[:100]}")
                turn += 1
                last = answer["id"] if answer["store"] else None
                if answer["store"]:
                    self.promised[owner][answer["id"]] = number
            elif status == 404 or (status < 500 and status):
                self.wrong.append(f"{owner}: status {status}: {answer}")
            elif status in (502, 504) and not self._everything.may_break(began):
                self.wrong.append(f"{owner}: status {status}: {str(answer)[:300]}")
            await asyncio.sleep(0.2 if status == 200 else 0.5)

    async def _spend(self, session: aiohttp.ClientSession, until: float) -> None:
        """Use as much as the limit gives, one request after the other."""
        loop = asyncio.get_running_loop()
        while loop.time() < until:
            number = 20 * self._random.randrange(10**6)
            body = {"model": "gpt-oss", "input": f"number {number} " + "word " * 1500, "store": False}
            status, answer = await self._post(session, "limited", body)
            self.counts[f"limited, status {status}"] += 1
            if status == 200:
                self.used += answer["usage"]["total_tokens"]
                self.largest = max(self.largest, answer["usage"]["total_tokens"])
            else:
                await asyncio.sleep(0.1)


async def read_again(url: str, owner: str, promised: dict[str, int], others: list[str], wrong: list[str]) -> None:
    """Each stored response is there for its owner, and not for other keys."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as session:
        for at, (id, number) in enumerate(promised.items()):
            async with session.get(f"{url}/v1/responses/{id}", headers=headers_of(owner)) as response:
                text = await response.text()
                if response.status != 200 or f" n{number} " not in text:
                    wrong.append(f"{owner}: {id} was stored, and is lost: status {response.status}: {text[:200]}")
            if at % 20 == 0:
                for other in others:
                    async with session.get(f"{url}/v1/responses/{id}", headers=headers_of(other)) as response:
                        if response.status != 404:
                            wrong.append(f"{other} reads a response of {owner}: status {response.status}")


async def soak(everything: Everything, given: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    url = f"http://127.0.0.1:{everything.port}"
    await everything.restored()
    streams = Streams(url, given.streams, given.seed, headers_of("streams"), everything.may_break)
    keepers = Keepers(url, everything, given.seed)
    began = time.monotonic()
    async with beside(everything.kill_in_turn(given.kill_every)):
        await asyncio.gather(streams.run(given.seconds), keepers.run(given.seconds))
    took = time.monotonic() - began
    await everything.restored()
    wrong = [*streams.wrong, *keepers.wrong]
    promised = {**keepers.promised, "streams": streams.promised}
    for owner, ids in promised.items():
        await read_again(url, owner, ids, [name for name in KEYS if name != owner], wrong)
    most = RATE * (1 + took / 60) + keepers.largest * (1 + len(everything.kills))
    if keepers.used > most:
        wrong.append(f"the limited key was given {keepers.used} tokens, and may have {most:.0f}")
    figures: dict[str, Any] = {"seconds": round(took), "streams at once": given.streams}
    figures |= dict(sorted({**streams.counts, **keepers.counts, **everything.counts}.items()))
    figures |= {"stored responses read again": sum(map(len, promised.values()))}
    figures |= {"tokens of the limited key": keepers.used, "its limit in this time": round(RATE * (1 + took / 60))}
    sizes = [round(everything.memory(f"gateway {at}")) for at in range(GATEWAYS)]
    figures |= {"its largest request": keepers.largest, "MB of each gateway": sizes}
    return figures, wrong


def main() -> int:
    given = options("bench.gateway_several", __doc__, kill_every=8.0)
    if NGINX is None or STORE is None:
        print("nginx, and Valkey or Redis, are not installed: nothing is soaked")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # nginx keeps large bodies there, as another user if it is started by root
        with Everything(Path(folder), 0.0005 * given.streams) as everything:
            figures, wrong = asyncio.run(soak(everything, given))
        wrong += everything.tracebacks()
        if wrong:
            print(everything.errors_of_nginx())
    return conclude(figures, wrong, given.markdown)


if __name__ == "__main__":
    sys.exit(main())
