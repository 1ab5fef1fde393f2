"""A real llama-server over a tiny model with gpt-oss's vocabulary, whose output a grammar says."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ports import free_port

from harmonystream.engines import Sampling

__all__ = ["SERVER", "forced", "running_server"]

SERVER = os.environ.get("LLAMA_SERVER") or shutil.which("llama-server")


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """The URL of a server, which ends with the block. The model is written into the folder, unless it has one."""
    from tiny_gguf import write_model

    model = folder / "tiny.gguf"
    if not model.exists():
        write_model(model)
    port = free_port()
    command = [str(SERVER), "-m", str(model), "--port", str(port), "-c", "2048", "-np", "2", "-t", "1", "--no-warmup"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield _ready(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait(timeout=30)


def _ready(url: str) -> str:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/health") as response:
                if response.status == 200:
                    return url
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


def forced(start: str, text: str) -> Sampling:
    """Sampling under a grammar that allows this text only. start: of the grammar, for markers."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return Sampling(max_tokens=200, temperature=0.0, extra={"grammar": f'root ::= {start}"{escaped}"'})
