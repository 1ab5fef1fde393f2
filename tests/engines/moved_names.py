"""Prints which names of a host are not as our table of it has them: `python -m tests.engines.moved_names vllm`."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version

from harmonystream.integrations.host_names import differs


def main(plugin: str) -> int:
    table = import_module(f"harmonystream.integrations.{plugin}.table").NAMES
    print(f"{plugin} {version(plugin)}:")
    moved = [(feature, problem) for feature, names in table.items() for name in names if (problem := differs([name]))]
    for feature, problem in moved:
        print(f"  {feature}: {problem}")
    print(f"  {len(moved)} of {sum(map(len, table.values()))} names are not as they were")
    return 1 if moved else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
