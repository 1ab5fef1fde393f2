"""How near to the limits of CPython are we? Builds limits.pyx, if there is a compiler, and times its calls."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench import streams
from bench.clock import medians, now
from bench.rows import Figure

SOURCE = Path(__file__).with_name("limits.pyx")
CALLS = {
    "nothing": "a call that does nothing",
    "event": "… that returns a new object",
    "tuple_of_item": "… that returns a tuple of its argument",
    "tuple_of_event": "… that returns a tuple of a new object",
    "tuple_used_again": "… the same, and the tuple is used again when the caller has dropped it",
}


def built() -> Any:
    """An instance of Limits, or None without Cython or a compiler."""
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, SOURCE.name)
        source.write_bytes(SOURCE.read_bytes())
        command = [sys.executable, "-m", "Cython.Build.Cythonize", "--inplace", "--quiet", str(source)]
        if subprocess.run(command, cwd=directory, capture_output=True).returncode:
            return None
        library = next(path for path in Path(directory).iterdir() if path.suffix in (".so", ".pyd"))
        spec = importlib.util.spec_from_file_location("limits", library)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.Limits()


def per_item(call: Callable[[Any], object], items: list[Any], size: int) -> Callable[[], float]:
    def run() -> float:
        started = now()
        for _ in range(16):
            for item in items:
                call(item)
        return (now() - started) / (16 * size)

    return run


def measured(n: int, rounds: int) -> Iterator[Figure]:
    limits = built()
    if limits is None:
        return
    ids = streams.prose(n).ids
    runs = {name: per_item(getattr(limits, name), ids, len(ids)) for name in CALLS}
    chunks = [ids[at : at + 64] for at in range(0, len(ids), 64)]
    runs["copy_each"] = per_item(limits.copy_each, chunks, len(ids))
    took = medians(runs, rounds)
    for name, told in CALLS.items():
        yield Figure(f"limit: {told}", took[name], "ns")
    yield Figure("limit: 64 ids of a list, four bytes copied for each", took["copy_each"], "ns/id")
