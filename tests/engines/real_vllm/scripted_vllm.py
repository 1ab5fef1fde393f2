"""vLLM's own server, with a script in place of the GPU: `python scripted_vllm.py SCRIPT serve MODEL --port ...`.

Everything is vLLM's, from its command line to its detokenizer, but two things: the platform is its CPU platform, which
the wheel for GPUs does not choose by itself, and the core of the engine. The core answers each request with the ids of
the file SCRIPT, which a test writes first: {"ids": [...], "at_once": 1, "finish": "stop", "pause": 0},
or refuses it: {"ids": [], "refuse": "why"}. What it was
asked is in a file beside it, unless the script has "notes": false. Another file is there once a running request has
been aborted.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import vllm.platforms
from vllm.platforms.cpu import CpuPlatform

vllm.platforms._current_platform = CpuPlatform()

from vllm.exceptions import VLLMValidationError  # noqa: E402
from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason  # noqa: E402
from vllm.v1.engine.core_client import EngineCoreClient  # noqa: E402
from vllm.v1.outputs import LogprobsLists  # noqa: E402

SCRIPT = Path(sys.argv[1])


class ScriptedCore:
    """What AsyncLLM asks of the engine's core. Each of its steps is one of all requests that are running."""

    engine_ranks_managed = (0,)
    resources = SimpleNamespace(engine_dead=False)

    def __init__(self) -> None:
        self._running: dict[str, Iterator[EngineCoreOutput]] = {}
        self._awake = asyncio.Event()
        self._pause = 0.0

    async def get_supported_tasks_async(self) -> tuple[str, ...]:
        return ("generate",)

    async def get_output_async(self) -> EngineCoreOutputs:
        await asyncio.sleep(self._pause)  # one step is one output: the front end joins those that wait
        while not self._running:
            self._awake.clear()
            await self._awake.wait()
        outputs = [next(steps) for steps in self._running.values()]
        for output in outputs:
            if output.finish_reason is not None:
                del self._running[output.request_id]
        return EngineCoreOutputs(outputs=outputs)

    async def add_request_async(self, request: Any) -> None:
        structured = request.sampling_params.structured_outputs
        asked = {
            "prompt": request.prompt_token_ids,
            "structural_tag": None if structured is None else structured.structural_tag,
            "json": None if structured is None else structured.json,
            "reasoning_ended": request.reasoning_ended,
        }
        script = json.loads(SCRIPT.read_text())
        if "refuse" in script:
            raise VLLMValidationError(script["refuse"])
        if script.get("notes", True):
            SCRIPT.with_suffix(".asked").write_text(json.dumps(asked))
        self.run(request.request_id, script, request.sampling_params.logprobs)

    def run(self, request_id: str, script: dict[str, Any], top: int | None = None) -> None:
        """Answers a request with the script, from the next step on."""
        self._pause = script.get("pause", 0.0)
        self._running[request_id] = played(request_id, script, top)
        self._awake.set()

    async def abort_requests_async(self, request_ids: list[str]) -> None:
        if [name for name in request_ids if self._running.pop(name, None)]:
            SCRIPT.with_suffix(".aborted").touch()

    async def reset_mm_cache_async(self) -> None: ...

    def shutdown(self, timeout: float | None = None) -> None: ...


def played(request_id: str, script: dict[str, Any], top: int | None) -> Iterator[EngineCoreOutput]:
    """The steps of a request."""
    ids, size = script["ids"], script.get("at_once", 1)
    steps = [ids[at : at + size] for at in range(0, len(ids), size)] or [[]]
    for number, step in enumerate(steps, 1):
        reason = FinishReason[script.get("finish", "stop").upper()] if number == len(steps) else None
        said = None if top is None else logprobs(step, top)
        yield EngineCoreOutput(request_id, step, new_logprobs=said, finish_reason=reason)


def logprobs(ids: list[int], top: int) -> LogprobsLists:
    """Each token is the likeliest, before the ids that follow it."""
    candidates = np.array([[token, *range(token, token + top)] for token in ids]).reshape(len(ids), top + 1)
    likely = np.array([[-0.5, *(-0.5 - at for at in range(top))] for _ in ids], np.float32).reshape(len(ids), top + 1)
    return LogprobsLists(candidates, likely, np.ones(len(ids), int))


def main(core: type[ScriptedCore] = ScriptedCore) -> None:
    EngineCoreClient.make_async_mp_client = staticmethod(lambda **_: core())
    from vllm.entrypoints.cli.main import main as command

    sys.argv = ["vllm", *sys.argv[2:]]
    command()


if __name__ == "__main__":
    main()
