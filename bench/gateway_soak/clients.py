"""Clients of the gateway: most read their answers and look at each byte, some are slow, and some leave."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import aiohttp

from .engine import FAULTS, WORDS

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
GONE, SLOW = 0.10, 0.05
ENDS = {
    "chat": ("[DONE]",),
    "responses": ("response.completed", "response.failed", "response.incomplete"),
    "messages": ("message_stop", "error"),
}


def asked(api: str, number: int) -> dict[str, Any]:
    text: Any = f"number {number}"
    if api == "responses":
        return {"model": "gpt-oss", "stream": True, "input": text}
    body = {"model": "gpt-oss", "stream": True, "messages": [{"role": "user", "content": text}]}
    return {**body, "max_tokens": 999} if api == "messages" else body


def read(api: str, text: str) -> tuple[Counter[int], bool]:
    """How often each number came, and does the stream end as the API's streams do?"""
    deltas, last = [], ""
    for line in text.splitlines():
        if line.startswith("data: "):
            last = line[6:]
            if last == "[DONE]":
                continue
            data = json.loads(last)
            if api == "chat":
                deltas += [choice["delta"].get("content") or "" for choice in data.get("choices", ())]
            elif data["type"] in ("response.output_text.delta", "content_block_delta"):
                delta = data["delta"]
                deltas.append(delta if isinstance(delta, str) else delta.get("text", ""))
    end = last if last == "[DONE]" else json.loads(last or "{}").get("type")
    return Counter(map(int, re.findall(r" n(\d+) é", "".join(deltas)))), end in ENDS[api]


class Clients:
    """Clients that ask again and again. counts: of what happened; wrong: what must not happen, in words.

    headers: of all requests. may_break: may a connection that began at this time of the loop have been broken?
    """

    def __init__(
        self,
        url: str,
        streams: int,
        seed: int,
        headers: dict[str, str] | None = None,
        may_break: Callable[[float], bool] = lambda began: False,
    ) -> None:
        self._url, self._streams, self._headers, self._may_break = url, streams, headers, may_break
        self._random = Random(seed)
        self._next = 0
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    async def run(self, seconds: float) -> None:
        until = asyncio.get_running_loop().time() + seconds
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(120)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, headers=self._headers) as session:
            await asyncio.gather(*(self._ask_until(session, until) for _ in range(self._streams)))

    async def _ask_until(self, session: aiohttp.ClientSession, until: float) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self._random.random())
        while loop.time() < until:
            number, self._next = self._next, self._next + 1
            began = loop.time()
            try:
                await self._ask(session, number)
            except (aiohttp.ClientError, asyncio.TimeoutError, ValueError) as error:
                if isinstance(error, aiohttp.ClientError) and self._may_break(began):
                    self.counts["broken by a kill"] += 1
                    continue
                self.wrong.append(f"{number}: {error!r}")

    async def _ask(self, session: aiohttp.ClientSession, number: int) -> None:
        api = tuple(PATHS)[number % 3]
        lot = self._random.random()
        if lot < GONE / 2:  # before there is anything
            self.counts["gone early"] += 1
            task = asyncio.ensure_future(session.post(self._url + PATHS[api], json=asked(api, number)))
            await asyncio.sleep(self._random.random() / 10)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return
        async with session.post(self._url + PATHS[api], json=asked(api, number)) as response:
            if lot < GONE:
                self.counts["gone in mid-stream"] += 1
                await response.content.readany()
                return
            text = await self._text(response, slow=lot < GONE + SLOW)
        self._judge(api, number, response.status, text)

    async def _text(self, response: aiohttp.ClientResponse, slow: bool) -> str:
        if not slow:
            return (await response.read()).decode()
        self.counts["slow"] += 1
        pieces = []
        while piece := await response.content.read(200):
            pieces.append(piece)
            await asyncio.sleep(0.01)
        return b"".join(pieces).decode()

    def completed(self, number: int, text: str) -> None:
        """A whole stream of Responses has been read."""

    def _judge(self, api: str, number: int, status: int, text: str) -> None:
        fault = FAULTS.get(number % 20)
        if status != 200:
            self.counts[f"status {status}"] += 1
            if status < 500 or json.loads(text)["error"]["message"] == "":
                self.wrong.append(f"{number}: status {status}: {text[:200]}")
            return
        found, ended = read(api, text)
        whole = found == {number: WORDS}
        if api == "responses" and whole:
            self.completed(number, text)
        code = re.findall(r'"(engine_\w+)"', text)
        self.counts["whole" if whole else f"ended with {code[-1] if code else 'no error'}"] += 1
        if set(found) - {number}:
            self.wrong.append(f"{number}: another stream's bytes: {found}")
        if not ended:
            self.wrong.append(f"{number} ({fault}): no terminal event: …{text[-200:]!r}")
        if not whole and '"error"' not in text:
            self.wrong.append(f"{number} ({fault}): cut without an error: {found}")
