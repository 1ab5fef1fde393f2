"""`python -m bench.gateway_rivals`: the gateway beside LiteLLM's proxy, in processor time for each chunk. Linux only.

A scripted engine stands behind each of them, and sends a token in each chunk. That of the gateway sends vLLM's
completions, whose ids the gateway parses. That of LiteLLM sends vLLM's Chat Completions: LiteLLM passes on what an
engine has parsed. So the gateway does more for each chunk. Both write one line of log for a request, and check no keys.

LiteLLM's proxy is looked for in `.venv-bench-litellm` (`make bench-gateway` installs it) or where LITELLM says.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench import report
from bench.report import Row, shown
from bench.server import CHAT, DONE, PAUSE, answers, chunks, processor_ns, running, running_command, script, send_script
from bench.worker import ROOT

HEAD = ("streams at a time", "harmonystream serve", "LiteLLM", "LiteLLM : harmonystream")
# No key is checked, as with ours; the prices of models are not downloaded.
ENVIRONMENT = (
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY=true",
    "LITELLM_LOCAL_MODEL_COST_MAP=True",
    "PYTHONUNBUFFERED=1",
)
LITELLM = Path(os.environ.get("LITELLM") or ROOT / ".venv-bench-litellm/bin/litellm")


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


def per_chunk(pid: int, address: str, tokens: int, count: int, rounds: int) -> float:
    """Microseconds of the server's processor: the best of some rounds, after one that warms up."""
    taken = []
    for _ in range(rounds + 1):
        before = processor_ns(pid)
        asyncio.run(answers(address, "/v1/chat/completions", count, CHAT))
        taken.append((processor_ns(pid) - before) / (count * (len(chunks(tokens, 1)) - 1)))
    return min(taken[1:]) / 1e3


def rows(tokens: int, counts: list[int], rounds: int) -> Iterator[Row]:
    for count in counts:
        with ExitStack() as stack:
            options = ("--tokens", tokens, "--pause", PAUSE * count)
            _, ids = stack.enter_context(running("bench.server", "--serve", "engine", "--size", 1, *options))
            _, parsed = stack.enter_context(running("bench.gateway_rivals", "--serve", *options))
            front = ("serve", "--engine", ids, "--model", "gpt-oss", "--served", "m", "--port", 0)
            ours = stack.enter_context(running("harmonystream", *front))
            theirs = stack.enter_context(litellm(parsed))
            mine, other = (per_chunk(*each, tokens, count, rounds) for each in (ours, theirs))
        yield Row((f"{count:,}", f"{shown(mine)} µs", f"{shown(other)} µs", f"{other / mine:.1f}×"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway_rivals", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument("--tokens", type=int, default=400, help="of an answer (400)")
    parser.add_argument("--streams", type=int, nargs="+", default=[32], help="at a time (32)")
    parser.add_argument("--rounds", type=int, default=3, help="of which the best counts (3)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--pause", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
            print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
            asyncio.run(send_script(listening, chat_chunks(asked.tokens), asked.pause))
    if not LITELLM.is_file():
        print(f"LiteLLM's proxy is not at {LITELLM}: no comparison", file=sys.stderr)
        return
    report.show(HEAD, rows(asked.tokens, asked.streams, asked.rounds), asked.markdown)


if __name__ == "__main__":
    main()
