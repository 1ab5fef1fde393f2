"""SGLang's parsers beside ours in its own serving class: what is right, and what a token costs.

Prints the tables of docs/sglang.md. tests/support, tests/reference and tests must be on the path. Right is what the
scenario says, which is written down by hand. The cost is the processor time from the outputs of the engine to the
chunks of Chat Completions, in one process. The outputs are there before the clock starts.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from asgi_clients import ROUTES, wrong_answer
from host_scenarios import FORMATS, TOOLS, Sides, ids_of, played, scenarios
from scripted_sglang import STOCK, ChatCompletionRequest, Server

COSTS = {
    "Hermes": ("qwen3", '<tool_call>\n{{"name": "f", "arguments": {{"s": "{}"}}}}\n</tool_call>'),
    "Qwen3-Coder": (
        "qwen3_coder",
        "<tool_call>\n<function=f>\n<parameter=s>\n{}\n</parameter>\n</function>\n</tool_call>",
    ),
    "gpt-oss": ("gpt_oss", '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{{"s": "{}"}}<|call|>'),
}


def compared(format: str) -> dict[tuple[str, str], list[str]]:
    """(scenario, route) -> what is wrong with SGLang's parsers, and with ours."""
    found: dict[tuple[str, str], list[str]] = {}
    for kind in ("stock", "ours"):
        with tempfile.TemporaryDirectory() as directory:
            host = Server(Path(directory), FORMATS[format], kind)
            for name, scenario in scenarios(format).items():
                play = played(format, scenario)
                host.play(play.ids, finish=play.finish)
                for route in ROUTES:
                    problem = wrong_answer(route, host, play, format, scenario)
                    found.setdefault((name, route), []).append(problem)
    return found


def rightness() -> None:
    sides = Sides("SGLang", ROUTES)
    for format in (format for format, family in FORMATS.items() if family in STOCK):
        sides.add(format, compared(format))
    sides.end()


def cost(host: Server, outputs: list[dict[str, Any]], request: Any) -> tuple[float, int]:
    """Microseconds of processor time per token, and how many chunks have arguments."""
    serving = host.app.state.openai_serving_chat
    ours = getattr(serving, "_harmonystream_frames", None)

    async def play(*_: Any) -> AsyncIterator[dict[str, Any]]:
        for output in outputs:
            yield output

    async def run() -> tuple[float, int]:
        host.manager.generate_request = play
        started, made = time.process_time(), []
        chunks = serving._generate_chat_stream(None, request, None) if ours is None else ours.frames(play(), request)
        async for chunk in chunks:
            made.append(chunk)
        took = time.process_time() - started
        texts = (chunk if isinstance(chunk, str) else chunk.decode() for chunk in made)
        return 1e6 * took / len(outputs), sum(text.count('"tool_calls":[') for text in texts)

    return asyncio.run(run())


def call_of(family: str, form: str, tokens: int) -> list[int]:
    """About as many ids as `tokens`: tokenizers spell the words differently."""
    words = json.dumps(" ".join(f"word{at % 97}" for at in range(tokens // 3)))[1:-1]
    return ids_of(family, form.format(words), stops=True)


def costs(tokens: int = 1000) -> None:
    print(
        "\n| µs per token | SGLang | parsers | frames | SGLang : parsers | SGLang : frames | chunks of SGLang | ours |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, (family, form) in COSTS.items():
        ids = call_of(family, form, tokens)
        ids = call_of(family, form, tokens * tokens // len(ids))
        row: list[tuple[float, int]] = []
        for kind in ("stock", "ours", "frames"):
            with tempfile.TemporaryDirectory() as directory:
                host = Server(Path(directory), family, kind)
                host.play(ids)
                given = {"model": "tiny", "messages": [{"role": "user", "content": "Go!"}], "tools": TOOLS}
                request = ChatCompletionRequest(stream=True, **given)
                adapted, request = host.app.state.openai_serving_chat._convert_to_internal_request(request)
                outputs = host.manager._outputs(
                    adapted, adapted.sampling_params, 0, [*range(1, len(host.manager.ids) + 1)]
                )
                runs = [cost(host, outputs, request) for _ in range(7)]
                row.append((statistics.median(took for took, _ in runs), runs[0][1]))
        (stock, few), (ours, many), (frames, _) = row
        cells = f"{stock:.1f} | {ours:.1f} | {frames:.2f} | {stock / ours:.0f} | {stock / frames:.0f} | {few} | {many}"
        print(f"| {name}, a call of {tokens:,} tokens | {cells} |")


if __name__ == "__main__":
    if "costs" not in sys.argv:
        rightness()
    costs()
