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

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

from ports import free_port

from bench import report
from bench.report import Row, shown
from bench.wire import PAUSE, gateway, per_chunk, running, running_command, script
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


@contextmanager
def litellm(engine: str) -> Iterator[tuple[int, str]]:
    """Its proxy in front of an engine: its process and address."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
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


def measured(tokens: int, count: int, rounds: int) -> Iterator[float | None]:
    """Ours, LiteLLM's and vLLM's; None for what is not installed. One server at a time: there may be two cores."""
    pause, sent = PAUSE * count, len(script(tokens))
    with running("bench.wire", "completions", tokens, 1, pause) as (_, engine), gateway(engine) as found:
        yield per_chunk(*found, count, sent, rounds)
    if LITELLM.is_file():
        with running("bench.wire", "chat", tokens, 1, pause) as (_, engine), litellm(engine) as found:
            yield per_chunk(*found, count, sent, rounds)
    else:
        print(f"LiteLLM's proxy is not at {LITELLM}", file=sys.stderr)
        yield None
    if VLLM.is_file():
        with vllm(tokens, pause) as found:
            yield per_chunk(*found, count, sent, rounds)
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
    parser = report.options("bench.gateway_rivals", __doc__)
    parser.add_argument("--tokens", type=int, default=400, help="of an answer (400)")
    parser.add_argument("--streams", type=int, nargs="+", default=[32], help="at a time (32)")
    parser.add_argument("--rounds", type=int, default=5, help="the best round counts (5)")
    asked = parser.parse_args()
    report.show(HEAD, rows(asked.tokens, asked.streams, asked.rounds), asked.markdown)


if __name__ == "__main__":
    main()
