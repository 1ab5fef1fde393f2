"""The gateway's inspector: it keeps the last streams, and shows them to users of this machine."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from base64 import b64encode
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ... import formats
from ...engines import Finished, Sampled
from ...errors import HarmonyStreamError
from ...prompt import Prompt
from ...vocab import o200k_harmony
from ..refused import Refused
from ..requests.bodies import Json, read_json
from ..requests.browsers import is_from_here
from .inspection import MOST, Inspection, inspected, page_with, prompt_tokens

__all__ = ["Inspector"]

KEPT = 32
"""How many streams are kept."""
MOST_DETAILS = 4096
"""For how many tokens events and frames are shown at once, except at the end of a stream."""
EXCERPT = 60
"""How many characters of a prompt's end the list of streams shows."""


@dataclass
class _Recording:
    api: str
    model: str
    prompt: Prompt
    began: float = field(default_factory=time.monotonic)
    tokens: list[Any] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    finish: Any = None
    ended: bool = False
    at: float = field(default_factory=time.time)
    _read: Inspection | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, item: Any) -> None:
        if isinstance(item, tuple):  # if there are several choices, the first one is kept
            choice, item = item
            if choice:
                return
        if isinstance(item, Sampled):
            item = item.ids
        if isinstance(item, Finished):
            self.finish, self.ended = item.reason, True
            return
        pieces = [item] if isinstance(item, int) else item
        if len(self.tokens) < MOST:
            self.tokens += pieces
            self.times += [time.monotonic() - self.began] * len(pieces)

    def _inspected(self) -> tuple[Inspection, bool]:
        """The inspected stream, and whether it has ended. Nothing is read twice."""
        ended, tokens, prompt = self.ended, self.tokens[:], self.prompt
        if self._read is None:
            start = prompt.text if prompt.ids is None else prompt.ids
            self._read = Inspection(prompt.format, prompt.vocab, tools=prompt.tools, prompt=start)
        self._read.feed(tokens[self._read.read :], self.times)
        if ended:
            self._read.finish(self.finish)
        return self._read, ended

    def details(self, since: int, until: int | None) -> dict[str, Any]:
        """Events and frames of some tokens."""
        with self._lock:
            return self._inspected()[0].details(since, until)

    def shown(self, since: int) -> dict[str, Any]:
        """The stream from a token on, without events and frames."""
        prompt = self.prompt
        with self._lock:
            read, ended = self._inspected()
            made = read.shown(since)
        if not since:
            made["prompt"] = prompt_tokens(prompt.ids, prompt.text, prompt.vocab)
            made["tools"] = prompt.tools if _is_finite(prompt.tools) else None
        return {**made, "word": self.finish, "api": self.api, "model": self.model, "ended": ended, "since": since}

    def listed(self, id: str) -> dict[str, Any]:
        """The stream's entry in the list of streams."""
        fields = {"id": id, "api": self.api, "model": self.model, "ended": self.ended, "tokens": len(self.tokens)}
        return {**fields, "at": round(self.at), "excerpt": " ".join(self.prompt.text[-400:].split())[-EXCERPT:]}


class Inspector:
    """Keeps streams, and serves the page. gateway: the gateway whose requests are shown."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway
        self._kept: OrderedDict[tuple[str, str], _Recording] = OrderedDict()

    async def recorded(self, source: AsyncIterator[Any], record: Any, prompt: Prompt) -> AsyncIterator[Any]:
        """The source's items, which are also kept."""
        recording = self._kept[record.owner, record.id] = _Recording(record.api, record.model, prompt)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        try:
            async for item in source:
                recording.take(item)
                yield item
        finally:
            recording.ended = True
            close: Any = getattr(source, "aclose", None)
            if close is not None:
                await close()

    def routes(self) -> list[Route]:
        return [
            Route("/inspect", self._page, methods=["GET"]),
            Route("/inspect/streams", self._local(self._list), methods=["GET"]),
            Route("/inspect/streams/{id}", self._local(self._show), methods=["GET"]),
            Route("/inspect/streams/{id}/details", self._local(self._details), methods=["GET"]),
            Route("/inspect/parse", self._local(self._parse), methods=["POST"]),
        ]

    async def _page(self, request: Request) -> Response:
        """The page itself has no data. Only its one script may run."""
        if not _is_local(request):
            return Response(status_code=404)
        page = page_with(None)
        script = page.split("<script>", 1)[1].split("</script>", 1)[0]
        digest = b64encode(sha256(script.encode()).digest()).decode()
        policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; connect-src 'self'"
        headers = {"content-security-policy": f"{policy}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"}
        return HTMLResponse(page, headers={**headers, "x-content-type-options": "nosniff", "cache-control": "no-store"})

    def _local(self, answer: Any) -> Any:
        """An endpoint that only this machine may use, and that also checks keys."""

        async def respond(request: Request) -> Response:
            if not _is_local(request):
                return Response(status_code=404)
            made: Response = await self._gateway.handle(request, "inspect", partial(answer, request))
            return made

        return respond

    async def _list(self, request: Request, record: Any) -> Response:
        record.complete = True
        own = [(id, one) for (owner, id), one in reversed(self._kept.items()) if owner == record.owner]
        listed = [one.listed(id) for id, one in own]
        return Json({"streams": listed, "formats": list(formats.names())})

    async def _show(self, request: Request, record: Any) -> Response:
        recording = self._recording(request, record)
        return Json(await asyncio.to_thread(recording.shown, _count(request, "since") or 0))

    async def _details(self, request: Request, record: Any) -> Response:
        recording, since, until = self._recording(request, record), _count(request, "since"), _count(request, "until")
        if until is not None and until - (since or 0) > MOST_DETAILS:
            raise Refused(400, f"until - since is {MOST_DETAILS} at most.", param="until")
        return Json(await asyncio.to_thread(recording.details, since or 0, until))

    def _recording(self, request: Request, record: Any) -> _Recording:
        recording = self._kept.get((record.owner, request.path_params["id"]))
        if recording is None:
            raise Refused(404, "There is no such stream, or no longer.")
        record.complete = True
        return recording

    async def _parse(self, request: Request, record: Any) -> Response:
        body, _ = await read_json(request, self._gateway.limits.body, self._gateway.limits.body_seconds)
        sent = _sent(body)
        found = [one for one in self._gateway.models.values() if one.row.name == sent.format]
        ids = isinstance(sent.tokens, list) or isinstance(sent.prompt, list)
        vocab = found[0].vocab if found and ids else None
        format = found[0].row if found else sent.format
        options: dict[str, Any] = {"tools": sent.tools, "prompt": sent.prompt, "finish": sent.finish}

        def read() -> dict[str, Any]:
            made = inspected(sent.tokens, format, vocab, times=sent.times, **options)
            text, given = ("", sent.prompt) if isinstance(sent.prompt, list) else (sent.prompt or "", None)
            return {**made, "prompt": prompt_tokens(given, text, vocab or o200k_harmony()) if sent.prompt else []}

        try:
            made = await asyncio.to_thread(read)
        except (HarmonyStreamError, TypeError, ValueError) as error:
            raise Refused(400, f"This cannot be parsed: {error}") from None
        record.complete = True
        return Json(made | {"ended": True})


class _Sent(NamedTuple):
    """What the page sends to be parsed. All but the first two fields are used in links only."""

    tokens: Any
    format: Any
    prompt: Any = None
    tools: Any = None
    finish: Any = None
    times: Any = ()


def _sent(body: Any) -> _Sent:
    """Raises `Refused` unless this is a stream. The parser does its own checks later."""
    if not isinstance(body, dict) or not isinstance(body.get("tokens"), (str, list)):
        raise Refused(400, "tokens must be a string or a list of ids.", param="tokens")
    made = _Sent(**{"format": None, **{name: value for name, value in body.items() if name in _Sent._fields}})
    times_are_numbers = isinstance(made.times, (list, tuple)) and all(
        type(one) in (int, float) and _is_finite(one) for one in made.times
    )
    for name, fits, what in (
        ("format", isinstance(made.format, str), "the name of a format"),
        ("prompt", made.prompt is None or isinstance(made.prompt, (str, list)), "a string or a list of ids"),
        ("tools", made.tools is None or isinstance(made.tools, list), "a list"),
        ("finish", made.finish is None or isinstance(made.finish, str), "a string"),
        ("times", times_are_numbers, "a list of numbers"),
    ):
        if not fits:
            raise Refused(400, f"{name} must be {what}.", param=name)
    return made


def _count(request: Request, name: str) -> int | None:
    given = request.query_params.get(name, "")
    return int(given[:9]) if given.isdecimal() and given.isascii() else None


def _is_finite(value: Any) -> bool:
    """Can JSON hold the value? It has no infinity, but 1e999 is read as infinity."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _is_local(request: Request) -> bool:
    return is_from_here(None if request.client is None else request.client.host, request.headers)
