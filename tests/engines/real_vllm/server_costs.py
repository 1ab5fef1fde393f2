"""CPU time of vLLM's whole server for each token that it streams: its own parsers, ours, and our frames, as a table.

tests/support, tests/reference and tests must be on the path. STREAMS clients ask at the same time, over HTTP. The
time is that of the server's process: HTTP, requests, the front end of the engine, the detokenizer, parsers and frames.
The script in place of the engine's core runs in it, too. The three servers take turns.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from host_scenarios import FLAT, MESSAGES, TOOLS, Contents, ids_of
from vllm_answers import INPUTS, chat_stream, messages, responses
from vllm_servers import Server
from wire_scenarios import Call, Scenario, Text, write

TOKENS, STREAMS, ROUNDS = 1000, 16, 3
KINDS = ("stock", "names", "frames")
COMMON: dict[str, Any] = {"model": "tiny", "stream": True}
ROUTES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": MESSAGES, "tools": TOOLS},
    "/v1/messages": {"messages": MESSAGES, "tools": INPUTS, "max_tokens": 2 * TOKENS},
    "/v1/responses": {"input": "Go!", "tools": FLAT, "store": False},
}
CHAT, MESSAGE, RESPONSE = ROUTES


class Case(NamedTuple):
    """name: of the row. calls: the model calls a tool; else it answers."""

    name: str
    family: str
    format: str
    route: str = CHAT
    calls: bool = True


CASES = (
    Case("Chat, Hermes, a call", "qwen3", "hermes"),
    Case("Chat, Hermes, content", "qwen3", "hermes", CHAT, False),
    Case("Messages, Hermes, a call", "qwen3", "hermes", MESSAGE),
    Case("Responses, Hermes, a call", "qwen3", "hermes", RESPONSE),
    Case("Chat, Qwen3-Coder, a call", "qwen3_coder", "qwen3_coder"),
    Case("Chat, gpt-oss, a call", "gpt_oss", "harmony"),
    Case("Chat, gpt-oss, content", "gpt_oss", "harmony", CHAT, False),
)


def output(case: Case, words: int) -> tuple[Scenario, list[int]]:
    """What the model writes, and its ids."""
    text = " ".join(f"word{at % 97}" for at in range(words))
    said = Call("f", f'{{"s": "{text}"}}', {"s": text}) if case.calls else Text("content", text)
    scenario = Scenario((Text("reasoning", "Hm."), said))
    return scenario, ids_of(case.family, write(case.format, scenario), stops=True)


def output_of_tokens(case: Case) -> tuple[Scenario, list[int]]:
    """Of about TOKENS ids, because tokenizers cut the words differently."""
    return output(case, TOKENS * TOKENS // len(output(case, TOKENS)[1]))


def check(case: Case, server: Server, scenario: Scenario) -> None:
    """By the official client. Raises AssertionError where it is told something else."""
    ask = {
        CHAT: lambda host: chat_stream(host)[0],
        MESSAGE: messages,
        RESPONSE: lambda host: responses(host, streams=True),
    }
    said: Contents = ask[case.route](server)
    item = scenario.said[-1]
    if isinstance(item, Call):
        assert [name.removeprefix("functions.") for name, _ in said.calls] == ["f"], said
        assert said.calls[0][1] == item.written, said
    else:
        assert said.content.strip() == item.text, said


def cpu(server: Server) -> float:
    """Microseconds that the process has used."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e6 / os.sysconf("SC_CLK_TCK")


async def ask_all(server: Server, route: str) -> int:
    """STREAMS answers at the same time; how many frames they have together."""
    body = {**COMMON, **ROUTES[route]}
    async with aiohttp.ClientSession(server.url) as session:

        async def one() -> int:
            async with session.post(route, json=body) as response:
                assert response.status == 200, await response.text()
                return (await response.read()).count(b"data: ")

        return sum(await asyncio.gather(*(one() for _ in range(STREAMS))))


def measured(case: Case, servers: dict[str, Server]) -> dict[str, tuple[float, float]]:
    """Of each kind of server: microseconds for each token, and frames for each token."""
    scenario, ids = output_of_tokens(case)
    for server in servers.values():
        server.play(ids, notes=False)
        check(case, server, scenario)
        asyncio.run(ask_all(server, case.route))  # it warms up
    took, frames = dict.fromkeys(servers, 0.0), dict.fromkeys(servers, 0)
    for _ in range(ROUNDS):
        for kind, server in servers.items():
            begun = cpu(server)
            frames[kind] += asyncio.run(ask_all(server, case.route))
            took[kind] += cpu(server) - begun
    tokens = len(ids) * STREAMS * ROUNDS
    return {kind: (took[kind] / tokens, frames[kind] / tokens) for kind in servers}


@contextmanager
def running(family: str, kind: str) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as directory:
        server = Server(Path(directory), family, kind)
        try:
            yield server
        finally:
            server.stop()


def main() -> None:
    print("| µs per token | vLLM | parsers | frames | frames : vLLM | frames per token of vLLM | ours |")
    print("|---|---|---|---|---|---|---|")
    for family in dict.fromkeys(case.family for case in CASES):
        with ExitStack() as stack:
            servers = {kind: stack.enter_context(running(family, kind)) for kind in KINDS}
            for case in CASES:
                if case.family == family:
                    found = measured(case, servers)
                    (stock, few), (parsers, _), (ours, many) = (found[kind] for kind in KINDS)
                    cells = f"{stock:.1f} | {parsers:.1f} | {ours:.1f} | {ours / stock:.2f} | {few:.2f} | {many:.2f}"
                    print(f"| {case.name} of {TOKENS:,} tokens | {cells} |", flush=True)


if __name__ == "__main__":
    main()
