"""Runs the fuzzer: python -m fuzz CORPUS [libFuzzer's options]. run.sh sets up what it needs."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

import harmonystream
from fuzz import seeds, targets

if __name__ == "__main__":
    if Path(harmonystream.__file__).parent.parent != Path.cwd():
        sys.exit(f"{harmonystream.__file__} is not the build that run.sh made")
    seeds.write(Path(sys.argv[1]))
    atheris.Setup(sys.argv, targets.run)
    atheris.Fuzz()
