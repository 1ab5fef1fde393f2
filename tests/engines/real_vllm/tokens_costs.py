"""CPU time for each token of vLLM with `--tokens-only` and the gateway in front of it, beside vLLM's own server.

The table has microseconds of each process for each token. The root, tests/support, tests/reference and tests must be on
the path. The requests are those of server_costs.py, and so is what an engine's process includes. The renderer is not in
the sum: it works once for a request, and not for each token.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from server_costs import CASES, ROUNDS, STREAMS, TOKENS, Case, ask_all, check, cpu, output_of_tokens, running
from vllm_servers import Server

from bench.wire import running_command


class Process(NamedTuple):
    pid: int


class Front(NamedTuple):
    """The gateway, which is asked and measured as a `Server` is."""

    url: str
    process: Process


@contextmanager
def gateway(engine: Server, renderer: Server) -> Iterator[Any]:
    model = ("--model", "tiny", "--format", engine.format, "--tokenizer", engine.model)
    engines = ("--engine", f"vllm-tokens={engine.url}", "--served", "tiny", "--render", renderer.url)
    command = (sys.executable, "-m", "harmonystream", "serve", "--port", 0)
    with running_command(*command, *engines, *model) as (pid, address):
        yield Front(address, Process(pid))


def measured(case: Case, stock: Server, engine: Server, front: Any) -> list[float]:
    """Microseconds for each token: of vLLM's own server, of the engine without text, and of the gateway."""
    scenario, ids = output_of_tokens(case)
    for server, asked in ((stock, stock), (engine, front)):
        server.play(ids, notes=False)
        check(case, asked, scenario)
        asyncio.run(ask_all(asked, case.route))  # it warms up
    took = dict.fromkeys(("own", "engine", "gateway"), 0.0)
    for _ in range(ROUNDS):
        for asked, processes in ((stock, {"own": stock}), (front, {"engine": engine, "gateway": front})):
            before = {name: cpu(process) for name, process in processes.items()}
            asyncio.run(ask_all(asked, case.route))
            for name, process in processes.items():
                took[name] += cpu(process) - before[name]
    return [each / (len(ids) * STREAMS * ROUNDS) for each in took.values()]


def main() -> None:
    print("| µs per token | vLLM | engine | gateway | engine + gateway : vLLM |")
    print("|---|---|---|---|---|")
    for family in dict.fromkeys(case.family for case in CASES):
        with ExitStack() as stack:
            stock, engine = (stack.enter_context(running(family, kind)) for kind in ("stock", "tokens"))
            front = stack.enter_context(gateway(engine, stock))
            for case in CASES:
                if case.family == family:
                    own, less, ours = measured(case, stock, engine, front)
                    cells = f"{own:.1f} | {less:.1f} | {ours:.1f} | {(less + ours) / own:.2f}"
                    print(f"| {case.name} of {TOKENS:,} tokens | {cells} |", flush=True)


if __name__ == "__main__":
    main()
