"""One side's process: `python -m bench.rivals.child MODULE`, which answers questions, a line of JSON each.

{} -> name, version and interpreter. {"name", "stream"} -> reads the stream, and says what was wrong and how long it
took. {"name"} -> reads it again. {"name", "growth"} -> the last of so many blocks in its body, over the first.
What cannot be read is answered with {"error"}.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import sys
import sysconfig
from typing import Any

RANKS = os.path.join("harmonystream", "data", "o200k_base.tiktoken")


class Side:
    """The readers of one side, by the names of their streams."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._readers: dict[str, Any] = {}

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        name = question.get("name")
        if name is None:
            return {"side": self._module.NAME, "version": self._module.VERSION, "python": interpreter()}
        if "stream" not in question:
            reader = self._readers[name]
            took = reader.growth(question["growth"]) if "growth" in question else reader.read()
            return {"took": took}
        stream = question["stream"]
        make = self._module.Framer if stream["framed"] else self._module.Reader
        reader = self._readers[name] = make(stream, RANKS)
        gc.collect()
        gc.freeze()  # as a server does once it is up: what is loaded is not looked at again
        said, took = reader.check()
        return {"took": took, "wrong": said.wrong(stream["expected"])}


def interpreter() -> str:
    optimised = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    built = "with" if optimised else "without"
    return f"{platform.python_implementation()} {platform.python_version()}, built {built} --enable-optimizations"


def serve(module: str) -> None:
    """Answer the parent until it closes the pipe."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # rivals print
    side = Side(importlib.import_module(f"bench.rivals.{module}"))
    for line in sys.stdin:
        try:
            answer = side.answer(json.loads(line))
        except Exception as error:  # a parser's failure is a finding
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
