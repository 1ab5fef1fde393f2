"""Servers of vLLM that play a script: see scripted_vllm.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from functools import cached_property
from pathlib import Path
from typing import Any

import model_dirs
from families import SERVED
from ports import free_port

import harmonystream as hs

HERE = Path(__file__).resolve().parent
STOCK = {  # vLLM's own parsers of calls and of reasoning; None: the format has no reasoning
    "llama3": ("llama3_json", None),
    "llama4": ("llama4_pythonic", None),
    "mistral": ("mistral", None),
    "qwen3": ("hermes", "qwen3"),
    "qwen3_coder": ("qwen3_coder", "qwen3"),
    "kimi_k2": ("kimi_k2", "kimi_k2"),
    "glm45": ("glm45", "glm45"),
    "deepseek_v31": ("deepseek_v31", "deepseek_v3"),
    "seed_oss": ("seed_oss", "seed_oss"),
    "gpt_oss": ("openai", "openai_gptoss"),
}


class Server:
    """One process. kind: "stock"; "names": our parsers; "frames": our plug-ins of endpoints as well; "tokens": none.

    "queued": those plug-ins, with every output going through vLLM's queue. parsers: the name of both of them.
    """

    def __init__(self, directory: Path, family: str, kind: str, *, parsers: str | None = None) -> None:
        self.family, self.kind, self._parsers = family, kind, parsers
        self._script = directory / "script.json"
        self.model = model_dirs.write(directory, family)
        self.port = free_port()
        self._log = open(directory / "log", "wb")  # noqa: SIM115
        self.process = subprocess.Popen(self._command(), env=self._environment(), stdout=self._log, stderr=self._log)
        self._wait()

    @property
    def format(self) -> str:
        return "harmony" if self.family == "gpt_oss" else SERVED[self.family].row

    @cached_property
    def vocab(self) -> hs.Vocab:
        return hs.vocab.o200k_harmony() if self.family == "gpt_oss" else hs.vocab.from_tokenizers(self.model)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def play(self, ids: list[int], **more: Any) -> None:
        """What the model writes next: "at_once" ids in each step; "finish": why it ends; "pause" before each step."""
        self._script.with_suffix(".aborted").unlink(missing_ok=True)
        self._script.write_text(json.dumps({"ids": ids, **more}))

    def asked(self) -> dict[str, Any]:
        """What the engine was asked last."""
        found: dict[str, Any] = json.loads(self._script.with_suffix(".asked").read_text())
        return found

    def aborted(self) -> bool:
        """Has the engine been told to end a request early, since play()?"""
        return self._script.with_suffix(".aborted").exists()

    def log(self) -> str:
        return Path(self._log.name).read_text(errors="replace")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self._log.close()

    def _command(self) -> list[str]:
        ours = "harmonystream" if self.family in ("qwen3", "gpt_oss") else f"harmonystream_{self.format}"
        ours = self._parsers or ours
        calls, reasoning = STOCK[self.family] if self.kind == "stock" else (ours, ours)
        parsers = {"tool-call-parser": calls} | ({"reasoning-parser": reasoning} if reasoning else {})
        flags = {"port": self.port, "served-model-name": "tiny", **parsers}
        listed = [str(part) for name, value in flags.items() for part in (f"--{name}", value)]
        command = [sys.executable, str(HERE / "scripted_vllm.py"), str(self._script), "serve", str(self.model)]
        if self.kind == "tokens":
            return [*command, "--tokens-only", "--disable-uvicorn-access-log", *listed[:4]]
        return [*command, "--enable-auto-tool-choice", "--enable-scale-out", "--disable-uvicorn-access-log", *listed]

    def _environment(self) -> dict[str, str]:
        plugins = ["harmonystream"] + ["harmonystream_derender", "harmonystream_frames"] * (
            self.kind in ("frames", "queued")
        )
        return {
            **os.environ,
            "VLLM_PLUGINS": ",".join(plugins),
            "VLLM_NO_USAGE_STATS": "1",
            "HARMONYSTREAM_FRAMES_DIRECT": "0" if self.kind == "queued" else "1",
            "HARMONYSTREAM_DERENDER_KEY": "a key that all servers share, of 32 bytes or more",
            "PYTHONDONTWRITEBYTECODE": "",
            "HF_HUB_OFFLINE": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "TIKTOKEN_ENCODINGS_BASE": str(self.model),
        }

    def _wait(self) -> None:
        for _ in range(2400):
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=1):
                    return
            except OSError:
                time.sleep(0.25)
            if self.process.poll() is not None:
                break
        raise RuntimeError(f"vLLM has not started:\n{self.log()[-4000:]}")
