"""A process of its own, by any interpreter, that runs functions of one module of bench/ when it is asked.

A line of JSON goes each way: [function, argument, ...], and {"answer": ...} or {"error": "..."}. Whoever compares
processes asks them round by round, so that they take turns.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


class Worker:
    """The parent's view of the process. Raises `RuntimeError` if it cannot run, and for what fails in it."""

    def __init__(self, module: str, python: str = sys.executable) -> None:
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the child lives
        command = [python, "-m", "bench.worker", module]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._complaints}
        try:
            self._child = subprocess.Popen(command, cwd=ROOT, text=True, **pipes)
        except OSError as error:
            self._complaints.close()
            raise RuntimeError(str(error)) from None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, function: str, *arguments: Any) -> Any:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # the process has died, as the empty answer says
            self._child.stdin.write(json.dumps([function, *arguments]) + "\n")
            self._child.stdin.flush()
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(self._last_words())
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["answer"]

    def close(self) -> None:
        """End the process, which may have ended already."""
        with contextlib.suppress(BrokenPipeError):
            self._child.communicate()
        self._complaints.close()

    def _last_words(self) -> str:
        status = self._child.wait()
        self._complaints.seek(0)
        last = self._complaints.read().strip().rpartition("\n")[2]
        self.close()
        return f"ended with status {status}: {last}"


def interpreter() -> str:
    optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    built = "with" if optimised else "without"
    return f"{platform.python_implementation()} {platform.python_version()}, built {built} --enable-optimizations"


def in_a_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def serve(module: str) -> None:
    """Answer the parent until it closes the pipe."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is measured may print
    functions = importlib.import_module(f"bench.{module}")
    for line in sys.stdin:
        function, *arguments = json.loads(line)
        try:
            answer = {"answer": getattr(functions, function)(*arguments)}
        except Exception as error:  # a parser's failure is a finding
            answer = {"error": in_a_line(error)}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
