"""`python -m bench.gateway_rivals`: the gateway beside LiteLLM's proxy and vLLM's own server. Linux only.

The figures are processor time of the server's process for each token, which is a chunk of its engine. What each does:

- ours: `harmonystream serve`. A scripted engine sends vLLM's completions over HTTP, and the gateway parses the ids.
- LiteLLM's proxy: a scripted engine sends vLLM's Chat Completions over HTTP, and LiteLLM passes on what is parsed.
- vLLM's own server, with its own parsers: the engine's core is a script in the same process, which hands the server a
  token for each stream in a step. So no HTTP and no message between processes is in the figure, and the text of the ids
  is: our gateway's engine would have to make it, too, if it were vLLM.

All three write one line of log for a request, or none, and check no keys.

LiteLLM's proxy is looked for in `.venv-bench-litellm` or where LITELLM says, and vLLM in `.venv-engines-vllm` or where
VLLM, a Python interpreter, says. `make bench-gateway` installs both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

from bench import report
from bench.report import Row, shown
from bench.server import CHAT, DONE, PATH, PAUSE, post, processor_ns, running, running_command, script, send_script
from bench.worker import ROOT

HEAD = (
    "µs for each token, streams at a time",
    "harmonystream serve",
    "LiteLLM",
    "vLLM",
    "LiteLLM : ours",
    "vLLM : ours",
)
# No key is checked, as with ours; the prices of models are not downloaded.
ENVIRONMENT = (
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true",
    "LITELLM_LOCAL_MODEL_COST_MAP=True",
    "PYTHONUNBUFFERED=1",
)
LITELLM = Path(os.environ.get("LITELLM") or ROOT / ".venv-bench-litellm/bin/litellm")
VLLM = Path(os.environ.get("VLLM") or ROOT / ".venv-engines-vllm/bin/python")


def chat_chunks(tokens: int) -> list[bytes]:
    """What vLLM's Chat Completions send, with as many chunks as there are tokens."""
    made = []
    count = len(script(tokens))
    for at in range(count):
        last = at == count - 1
        choice = {"index": 0, "delta": {} if last else {"content": f" {at}"}, "logprobs": None}
        choice |= {"finish_reason": "stop" if last else None, "token_ids": None}
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        made.append(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    return [*made, DONE]


@contextmanager
def litellm(engine: str) -> Iterator[tuple[int, str]]:
    """Its proxy in front of an engine: its process and address."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        settings = Path(folder) / "config.yaml"
        served = {"model": "hosted_vllm/m", "api_base": f"{engine}/v1", "api_key": "none"}
        settings.write_text(json.dumps({"model_list": [{"model_name": "gpt-oss", "litellm_params": served}]}))
        options = ("--config", settings, "--host", "127.0.0.1", "--port", port, "--telemetry", "False")
        with running_command("env", *ENVIRONMENT, LITELLM, *options) as found:
            yield found


@contextmanager
def vllm(tokens: int, pause: float) -> Iterator[tuple[int, str]]:
    """Its own server: its process and address."""
    options = ("--tokens", tokens, "--pause", pause)
    command = ("env", "PYTHONUNBUFFERED=1", VLLM, "-m", "bench.rivals.vllm_server", *options)
    with running_command(*command) as (pid, address):
        for _ in range(600):
            with suppress(OSError), urlopen(f"{address}/health", timeout=1):
                break
            time.sleep(0.1)
        yield pid, address


async def finished(address: str, count: int) -> None:
    """All of so many answers. vLLM joins tokens that wait, so that the number of chunks may differ."""
    bodies = await asyncio.gather(*(post(address, PATH, CHAT) for _ in range(count)))
    if not all(DONE in each for each in bodies):
        raise RuntimeError(f"{address}: responses that are not whole")


def per_token(pid: int, address: str, tokens: int, count: int, rounds: int) -> float:
    """Microseconds of the server's processor: the best of some rounds, after one that warms up."""
    taken = []
    for _ in range(rounds + 1):
        before = processor_ns(pid)
        asyncio.run(finished(address, count))
        taken.append((processor_ns(pid) - before) / (count * len(script(tokens))))
    return min(taken[1:]) / 1e3


def measured(tokens: int, count: int, rounds: int) -> Iterator[float | None]:
    """Ours, LiteLLM's and vLLM's; None for what is not installed. One server at a time: there may be two cores."""
    pause = PAUSE * count
    options = ("--tokens", tokens, "--pause", pause)
    with ExitStack() as stack:
        _, ids = stack.enter_context(running("bench.server", "--serve", "engine", "--size", 1, *options))
        front = ("serve", "--engine", ids, "--model", "gpt-oss", "--served", "m", "--port", 0)
        yield per_token(*stack.enter_context(running("harmonystream", *front)), tokens, count, rounds)
    if LITELLM.is_file():
        with running("bench.gateway_rivals", "--serve", *options) as (_, parsed), litellm(parsed) as found:
            yield per_token(*found, tokens, count, rounds)
    else:
        print(f"LiteLLM's proxy is not at {LITELLM}", file=sys.stderr)
        yield None
    if VLLM.is_file():
        with vllm(tokens, pause) as found:
            yield per_token(*found, tokens, count, rounds)
    else:
        print(f"vLLM is not at {VLLM}", file=sys.stderr)
        yield None


def rows(tokens: int, counts: list[int], rounds: int) -> Iterator[Row]:
    for count in counts:
        mine, *others = measured(tokens, count, rounds)
        assert mine is not None
        taken = [f"{shown(one)} µs" if one else "not here" for one in (mine, *others)]
        yield Row((f"{count:,}", *taken, *(f"{one / mine:.1f}×" if one else "" for one in others)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway_rivals", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--tokens", type=int, default=400, help="of an answer (400)")
    parser.add_argument("--streams", type=int, nargs="+", default=[32], help="at a time (32)")
    parser.add_argument("--rounds", type=int, default=5, help="of which the best counts (5)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--pause", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
            print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
            asyncio.run(send_script(listening, chat_chunks(asked.tokens), asked.pause))
        return
    report.show(HEAD, rows(asked.tokens, asked.streams, asked.rounds), asked.markdown)


if __name__ == "__main__":
    main()
