"""Records every transition that both machines make over the corpora and over random streams; prints them as JSON.

It runs in a process of its own, because the functions of the two transition modules must be watched before the machines
import them. `recorded()` starts that process.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from ctypes import Structure
from functools import cache
from importlib.abc import MetaPathFinder
from typing import Any

import native_calls

MODULES = ("harmonystream._native.tags.transitions", "harmonystream._native.harmony.message_transitions")
EXAMPLES = 60

Step = tuple[str, str, str]  # the state before, the function, the state after


@cache
def recorded() -> dict[str, set[Step]]:
    """The steps over the corpora, and over random streams."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.run([sys.executable, __file__], env=env, check=True, capture_output=True, text=True)
    return {name: set(map(tuple, steps)) for name, steps in json.loads(process.stdout).items()}


source = native_calls.TYPES.read_text(encoding="utf-8")
STATES = {number: name for name, number in native_calls.constants(source, only="State").items()}
STREAM: type[Structure] = native_calls.structs()["Stream"]
transitions: set[str] = set()  # the functions of the tables
seen: set[Step] = set()


def record(name: str, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    stream: Any = STREAM.from_address(arguments[0])
    before = stream.state
    result = function(*arguments)
    if stream.state != before or name in transitions:
        seen.add((STATES[before], name, STATES[stream.state]))
    return result


class Watching(MetaPathFinder):
    """Imports the transition modules as usual, and watches what they export."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        if name not in MODULES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        assert spec is not None and spec.loader is not None
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            transitions.update(row[1] for row in module.TRANSITIONS)
            native_calls.watch(module, list(module.__pyx_capi__), record)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def taken() -> list[Step]:
    steps = sorted(seen)
    seen.clear()
    return steps


def main() -> None:
    sys.meta_path.insert(0, Watching())
    import recorded_streams

    recorded_streams.corpora()
    corpora = taken()
    recorded_streams.at_random(EXAMPLES)
    json.dump({"corpora": corpora, "random": taken()}, sys.stdout)


if __name__ == "__main__":
    main()
