"""CPU time of vLLM's server for one chunk at the derender route, with its own and with our plug-in, as a table.

tests/support, tests/reference and tests must be on the path. A chunk is one token of the arguments of a call.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from host_scenarios import ids_of
from test_vllm_derender import PATH, body_of, post, rendered
from vllm_servers import Server

CHUNKS = 30
LENGTHS = (100, 1230, 10_000)


def cpu(server: Server) -> float:
    """Milliseconds that the process has used."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def chunk(server: Server, body: Any) -> Any:
    status, answer = post(server, PATH, body)
    assert status == 200, answer
    return json.loads(answer)["stream_state"]


def measured(server: Server, length: int) -> tuple[float, int]:
    """Milliseconds for a chunk after so many tokens, and the bytes of the state."""
    opening = '<think>\nHm.\n</think>\n\n<tool_call>\n{"name": "f", "arguments": {"s": "'
    ids = ids_of(server.family, opening + "The answer is 42. " * length, stops=False)[: length + CHUNKS]
    prompt = rendered(server)
    state = None
    size = max(20, length // 10)
    for at in range(0, length, size):
        state = chunk(server, body_of(ids[at : min(at + size, length)], state, prompt))
    begun = cpu(server)
    for token in ids[length:]:
        state = chunk(server, body_of([token], state, prompt if server.kind == "stock" else None))
    return (cpu(server) - begun) / CHUNKS, len(json.dumps(state))


def main() -> None:
    print("| tokens before the chunk | vLLM, ms | ours, ms | vLLM's state, bytes | ours |")
    print("|---|---|---|---|---|")
    found: dict[str, list[tuple[float, int]]] = {}
    for kind in ("stock", "frames"):
        with tempfile.TemporaryDirectory() as directory:
            server = Server(Path(directory), "qwen3", kind)
            measured(server, 20)  # it warms up
            found[kind] = [measured(server, length) for length in LENGTHS]
            server.stop()
    for length, stock, ours in zip(LENGTHS, found["stock"], found["frames"]):
        print(f"| {length:,} | {stock[0]:.1f} | {ours[0]:.1f} | {stock[1]:,} | {ours[1]:,} |")


if __name__ == "__main__":
    main()
