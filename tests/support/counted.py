"""Instructions that calls take, counted by valgrind: the same number in every run, on a busy machine too.

`python counted.py` reads steps from its input, as JSON: a format and a list of texts each. The last text is counted.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Step = tuple[
    str, list[str], int
]  # a format; what is fed; pieces of so many characters are made of the last text, 0: one


def instructions(steps: list[Step], tools: Any, folder: Path) -> list[int]:
    """What the last text of each step takes. Skips the test where there is no valgrind."""
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind counts the instructions: apt-get install valgrind")
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/counts", "--dump-before=getppid"]
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(
        [*command, sys.executable, __file__],
        input=json.dumps([steps, tools]),
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    found: list[int] = []
    for number in range(1, 2 * len(steps) + 1):
        said = (folder / f"counts.{number}").read_text()
        found.append(int(re.findall(r"^(?:totals|summary): (\d+)", said, re.MULTILINE)[-1]))
    return found[1::2]  # those before are what comes between two steps


def main() -> None:
    import gc

    import harmonystream as hs

    steps, tools = json.load(sys.stdin)
    gc.disable()
    for format, (*texts, last), size in steps:
        pieces = [last[at : at + size] for at in range(0, len(last), size)] if size else [last]
        parser = hs.Parser(format, tools=tools, max_hold=1 << 16)
        for text in texts:
            parser.feed_text(text)
        feed = parser.feed_text
        os.getppid()  # each call writes what has been counted since the one before
        for piece in pieces:
            feed(piece)
        os.getppid()


if __name__ == "__main__":
    main()
