"""A side of the comparison as the parent sees it: a process that reads streams when asked (`child.py`)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.rivals.streams import Stream

ROOT = Path(__file__).parent.parent.parent
VENV = ROOT / ".venv-bench-rivals"


def interpreter(given: str | None = None) -> str | None:
    """The Python that has the rivals: as told, or where `make bench-rivals` puts it; None if there is none."""
    if given:
        return given
    done = (VENV / "done").is_file()
    return str(VENV / "bin" / "python") if done else None


class Side:
    """`module` is the one of this package that the process runs. Raises `RuntimeError` if it cannot run."""

    def __init__(self, module: str, python: str = sys.executable) -> None:
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the child lives
        command = [python, "-m", "bench.rivals.child", module]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._complaints}
        try:
            self._child = subprocess.Popen(command, cwd=ROOT, text=True, **pipes)
        except OSError as error:
            self._complaints.close()
            raise RuntimeError(str(error)) from None
        hello = self._ask({})
        self.name, self.version, self.python = (str(hello[key]) for key in ("side", "version", "python"))

    def load(self, name: str, stream: Stream) -> dict[str, Any]:
        """{"took": nanoseconds per token, "wrong": what differed} of a first reading, or {"error"}."""
        return self._ask({"name": name, "stream": dataclasses.asdict(stream)})

    def again(self, name: str) -> float:
        """Nanoseconds per token of a loaded stream."""
        return float(self._ask({"name": name})["took"])

    def growth(self, name: str, blocks: int) -> float:
        """The last of the blocks in a loaded stream's body, over the first."""
        return float(self._ask({"name": name, "growth": blocks})["took"])

    def close(self) -> None:
        """End the process, which may have ended already."""
        with contextlib.suppress(BrokenPipeError):
            self._child.communicate()
        self._complaints.close()

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps(question) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # it died; the empty answer says so
        line = self._child.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._complaints.seek(0)
        last = self._complaints.read().strip().rpartition("\n")[2]
        self.close()
        raise RuntimeError(f"ended with status {self._child.returncode}: {last}")
