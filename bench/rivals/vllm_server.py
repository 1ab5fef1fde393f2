"""`python -m bench.rivals.vllm_server`, in vLLM's environment: vLLM's own server, whose engine core plays a script.

The core gives a token to each running request in each step, as a real one does, but in the server's own process and
without a message between processes. Everything else is vLLM's: its command line, detokenizer, parsers and endpoints.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.wire import script
from bench.worker import ROOT

sys.path.insert(0, str(ROOT / "tests" / "engines" / "real_vllm"))


def core_class(ids: list[int], pause: float) -> Any:
    """The core: every request is answered with these ids, and a step takes so many seconds."""
    from scripted_vllm import ScriptedCore

    class PacedCore(ScriptedCore):  # type: ignore[misc]
        async def add_request_async(self, request: Any) -> None:
            self.run(request.request_id, {"ids": ids})

        async def get_output_async(self) -> Any:
            await asyncio.sleep(pause)
            return await super().get_output_async()

    return PacedCore


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rivals.vllm_server")
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--pause", type=float, required=True)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["scripted_vllm.py", str(Path(folder) / "script.json")]
        import model_dirs
        from ports import free_port

        port = free_port()
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
