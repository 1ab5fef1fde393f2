"""A side of a comparison as the parent sees it: a process that reads streams when it is asked."""

from __future__ import annotations

import sys
from typing import Any

from bench.clock import Round
from bench.streams import Stream
from bench.worker import ROOT, Worker


class Side(Worker):
    """`module` is the one of bench/rivals/ that the process runs. Raises `RuntimeError` if it cannot run."""

    def __init__(self, module: str, python: str = sys.executable) -> None:
        super().__init__(f"rivals.{module}", python)
        self.name, self.version, self.python = map(str, self.call("about"))

    def load(self, stream: Stream) -> dict[str, Any]:
        """{"took": nanoseconds per token, "wrong": what differed} of a first reading."""
        answer: dict[str, Any] = self.call("load", stream.message())
        return answer

    def round_of(self, stream: Stream) -> Round:
        """Nanoseconds per token of a loaded stream."""
        return lambda: float(self.call("again", stream.name))


def interpreter_in(venv: str, given: str | None = None) -> str | None:
    """The Python of a rival: the given one, or the one in the environment that make has finished; None without both."""
    done = (ROOT / venv / "done").is_file()
    return given or (str(ROOT / venv / "bin" / "python") if done else None)


def started(name: str, module: str, python: str | None, verb: str) -> tuple[Side | None, str]:
    """A side, if it runs, and a line about it. verb: the one of make that installs it."""
    if python is None:
        return None, f"{name}: not run, since no environment has it (make {verb} creates one)"
    try:
        side = Side(module, python)
    except RuntimeError as error:
        return None, f"{name}: not run ({error})"
    return side, described(side)


def described(side: Side) -> str:
    return f"{side.name} {side.version}: in a process of its own, {side.python}"
