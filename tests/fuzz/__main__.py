"""Runs the fuzzer: python -m fuzz CORPUS [libFuzzer's options]. run.sh sets up what it needs."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

from fuzz import seeds, targets

if __name__ == "__main__":
    seeds.write(Path(sys.argv[1]))
    atheris.Setup(sys.argv, targets.run)
    atheris.Fuzz()
