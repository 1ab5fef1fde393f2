"""`python -m bench.rivals.vllm_server`, in vLLM's environment: vLLM's own server, whose engine core plays a script.

The core gives a token to each running request in each step, as a real one does, but in the server's own process and
without a message between processes. Everything else is vLLM's: its command line, detokenizer, parsers and endpoints.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.server import script
from bench.worker import ROOT

sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "engines" / "real_vllm")]


def core_class(ids: list[int], pause: float) -> Any:
    """The core: every request is answered with these ids, and a step takes so many seconds."""
    from scripted_vllm import ScriptedCore
    from vllm.v1.engine import EngineCoreOutput, EngineCoreOutputs, FinishReason

    class PacedCore(ScriptedCore):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self._said: dict[str, int] = {}  # how many tokens each running request has
            self._stepping: asyncio.Task[None] | None = None

        async def add_request_async(self, request: Any) -> None:
            self._said[request.request_id] = 0
            if self._stepping is None or self._stepping.done():
                self._stepping = asyncio.create_task(self._step())

        async def abort_requests_async(self, request_ids: list[str]) -> None:
            for request_id in request_ids:
                self._said.pop(request_id, None)

        async def _step(self) -> None:
            while self._said:
                await asyncio.sleep(pause)
                outputs = []
                for request_id, said in list(self._said.items()):
                    last = said + 1 == len(ids)
                    reason = FinishReason.STOP if last else None
                    outputs.append(EngineCoreOutput(request_id, [ids[said]], finish_reason=reason))
                    self._said[request_id] += 1
                    if last:
                        del self._said[request_id]
                self._steps.put_nowait(EngineCoreOutputs(outputs=outputs))

    return PacedCore


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rivals.vllm_server")
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--pause", type=float, required=True)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        sys.argv = ["scripted_vllm.py", str(Path(folder) / "script.json")]
        import model_dirs

        model = str(model_dirs.write(Path(folder), "gpt_oss"))
        os.environ |= {"VLLM_PLUGINS": "", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}
        os.environ |= {"CUDA_VISIBLE_DEVICES": "", "TIKTOKEN_ENCODINGS_BASE": model}
        import scripted_vllm

        flags = {"host": "127.0.0.1", "port": port, "served-model-name": "gpt-oss", "tool-call-parser": "openai"}
        flags |= {"reasoning-parser": "openai_gptoss"}
        listed = [part for name, value in flags.items() for part in (f"--{name}", str(value))]
        sys.argv += ["serve", model, "--enable-auto-tool-choice", "--disable-uvicorn-access-log", *listed]
        scripted_vllm.main(core_class(script(asked.tokens), asked.pause))


if __name__ == "__main__":
    main()
