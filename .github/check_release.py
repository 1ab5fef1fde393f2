"""Stops a release whose tag, version and changelog do not agree: `python3 .github/check_release.py v1.0.0`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def problems(tag: str, version: str, changelog: str) -> list[str]:
    """What is wrong; nothing: the release can be made."""
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, and harmonystream/_version.py says {version}: the tag must be v{version}")
    first = re.search(r"^## (.+)$", changelog, re.MULTILINE)
    if first is None or not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", first[1]):
        found.append(f"CHANGELOG.md does not begin with '## {version} (YYYY-MM-DD)'")
    return found


if __name__ == "__main__":
    version = re.search(r'__version__ = "(.+)"', (ROOT / "harmonystream" / "_version.py").read_text("utf-8"))
    assert version is not None
    wrong = problems(sys.argv[1], version[1], (ROOT / "CHANGELOG.md").read_text("utf-8"))
    sys.exit("\n".join(wrong))
