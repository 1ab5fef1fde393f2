"""Runs openai-harmony's own Python tests over the drop-in: `python tests/compat/run_official_tests.py PATH [OPTIONS]`.

PATH: `tests/test_harmony.py` of openai-harmony's source distribution, which also has the data that its tests read.
OPTIONS: pytest's own. The tests import pydantic.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from harmonystream.compat import openai_harmony

DIFFERENT = {
    "test_decode_utf8_invalid_token": "expects pydantic's ValidationError for a message of a wrong type. The drop-in "
    "does not need pydantic, and raises a ValueError",
}
"""Tests that the drop-in fails on purpose, and why."""


class Different:
    """The plug-in of pytest that expects these failures. One that does not fail any more is an error."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if item.name in DIFFERENT:
                item.add_marker(pytest.mark.xfail(reason=DIFFERENT[item.name], strict=True))


def main(path: str, *options: str) -> int:
    """pytest's exit code."""
    sys.modules["openai_harmony"] = openai_harmony
    folder = str(Path(path).resolve().parent)
    arguments = ["-c", os.devnull, "--rootdir", folder, "-p", "no:cacheprovider", "-rx", *options, path]
    return int(pytest.main(arguments, plugins=[Different()]))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
