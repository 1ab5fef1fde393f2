"""`python -m bench.server`: whole servers, in processor time of their process for each chunk. Linux only.

Three Starlette servers answer alike, a chunk for each token of a scripted model, in turns:

- ours: EventStreamResponse and ChatStream;
- official: openai-harmony's parser with the getters that a server needs, a pydantic model of each chunk, and
  Starlette's own StreamingResponse;
- nothing: StreamingResponse of a chunk that is there already, which is what is left to Starlette, uvicorn and asyncio.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from typing import Any

from bench import report
from bench.report import Row
from bench.wire import DONE, answers, listening, processor_ns, running, script

HEAD = ("a server that sends", "chunks/s of a core", "a chunk", "without the server")
KINDS = {
    "ours": "harmonystream, EventStreamResponse",
    "official": "openai-harmony, pydantic",
    "nothing": "one chunk again and again",
}


def models() -> Callable[..., str]:
    """The chunk as a pydantic model, with the fields that servers send. -> text of a delta -> JSON."""
    from pydantic import create_model

    texts: dict[str, Any] = dict.fromkeys(("role", "content", "reasoning"), (str | None, None))
    delta = create_model("Delta", **texts)
    choice = create_model("Choice", index=int, delta=delta, logprobs=(None, None), finish_reason=(str | None, None))
    names: dict[str, Any] = {"id": str, "object": (str, "chat.completion.chunk"), "created": int, "model": str}
    chunk: Any = create_model("Chunk", **names, choices=list[choice])  # type: ignore[valid-type]

    def json(**texts: str) -> str:
        made = chunk(id="chatcmpl-1", created=1, model="m", choices=[choice(index=0, delta=delta(**texts))])
        return str(made.model_dump_json(exclude_unset=True))

    return json


async def engine(ids: list[int]) -> AsyncIterator[int]:
    """One token for each turn of the loop, as from a queue."""
    for tid in ids:
        yield tid
        await asyncio.sleep(0)


async def official(ids: list[int], chunk: Callable[..., str]) -> AsyncIterator[bytes]:
    from bench.rivals.with_openai_harmony import new_parser

    parser = new_parser()
    yield f"data: {chunk(role='assistant', content='')}\n\n".encode()
    async for tid in engine(ids):
        parser.process(tid)
        channel, recipient, text = parser.current_channel, parser.current_recipient, parser.last_content_delta
        if text and recipient is None:
            delta = {"reasoning" if channel == "analysis" else "content": text}
            yield f"data: {chunk(**delta)}\n\n".encode()
    yield DONE


async def nothing(ids: list[int], frame: bytes) -> AsyncIterator[bytes]:
    async for _ in engine(ids):
        yield frame
    yield DONE


def app_of(tokens: int) -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    import harmonystream as hs
    from harmonystream.emit.chat import ChatStream
    from harmonystream.integrations.starlette import EventStreamResponse

    ids, chunk = script(tokens), models()
    frame = f"data: {chunk(reasoning=' parser')}\n\n".encode()

    async def answer(request: Request) -> Response:
        kind = request.url.path[1:]
        if kind == "ours":
            return EventStreamResponse(engine(ids), ChatStream(hs.Parser(), id="chatcmpl-1", model="m", created=1))
        source = official(ids, chunk) if kind == "official" else nothing(ids, frame)
        return StreamingResponse(source, media_type="text/event-stream")

    return Starlette(routes=[Route("/{kind}", answer, methods=["POST"])])


def serve(tokens: int) -> None:
    import uvicorn

    config = uvicorn.Config(app_of(tokens), ws="none", lifespan="off", access_log=False, log_level="error")
    with listening() as made:
        uvicorn.Server(config).run([made])


def measured(tokens: int, at_a_time: int, rounds: int) -> dict[str, float]:
    """Nanoseconds of the server's processor for each chunk: the median round."""
    taken: dict[str, list[float]] = {kind: [] for kind in KINDS}
    with running("bench.server", "--serve", "--tokens", tokens) as (pid, address):
        for turn in range(rounds + 1):
            for kind in KINDS:
                before = processor_ns(pid)
                found = asyncio.run(answers(address, f"/{kind}", at_a_time))
                if turn:  # the first one warms up
                    sent = sum(each.count(b"\ndata: ") for each in found)
                    taken[kind].append((processor_ns(pid) - before) / sent)
    return {kind: median(values) for kind, values in taken.items()}


def rows(taken: dict[str, float]) -> list[Row]:
    def row(kind: str) -> Row:
        mine, server = taken[kind], taken["nothing"]
        own = f"{(mine - server) / 1e3:.2f} µs" if kind != "nothing" else "–"
        return Row((KINDS[kind], f"{1e9 / mine:,.0f}", f"{mine / 1e3:.2f} µs", own))

    return list(map(row, KINDS))


def main() -> None:
    parser = report.options("bench.server", __doc__)
    parser.add_argument("--tokens", type=int, default=2048, help="of a response (2048)")
    parser.add_argument("--streams", type=int, default=16, help="at a time (16)")
    parser.add_argument("--rounds", type=int, default=9, help="of each Starlette server; the median counts")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)  # be that process
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.tokens)
        return
    parts = [f"{name} {version(name)}" for name in ("starlette", "uvicorn", "pydantic")]
    parts += [f"{name} {version(name) if find_spec(name) else 'absent'}" for name in ("httptools", "uvloop")]
    print(*report.machine(None), ", ".join(parts), sep="\n")
    tokens, at_a_time = asked.tokens, asked.streams
    print(f"{at_a_time} clients at a time, {tokens:,} tokens each, {asked.rounds} rounds", end="\n\n")
    taken = measured(tokens, at_a_time, asked.rounds)
    report.show(HEAD, rows(taken), asked.markdown)
    print(f"ours sends {taken['official'] / taken['ours']:.2f}× as many chunks as the official parser with pydantic")


if __name__ == "__main__":
    main()
