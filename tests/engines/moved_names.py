"""Prints which names of a host are not as our table of it has them: `python -m tests.engines.moved_names vllm`."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from harmonystream.integrations.host_names import differs


def main(plugin: str) -> int:
    if plugin != "vllm":  # what makes the host's modules importable without a GPU
        sys.path.insert(0, str(Path(__file__).parent / f"real_{plugin}"))
        import_module(f"scripted_{plugin}")
    table = import_module(f"harmonystream.integrations.{plugin}.table").NAMES
    print(f"{plugin} {version(plugin)}:")
    moved = [(feature, problem) for feature, names in table.items() for name in names if (problem := differs([name]))]
    for feature, problem in moved:
        print(f"  {feature}: {problem}")
    print(f"  {len(moved)} of {sum(map(len, table.values()))} names are not as they were")
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
