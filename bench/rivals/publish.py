"""Puts a run into its page: `python -m bench.rivals --markdown | python -m bench.rivals.publish`."""

from __future__ import annotations

import sys

from bench.publish import ROOT, published, whole
from bench.rivals.table import FRAMED

PAGE = ROOT / "docs" / "benchmarks-rivals.md"
TABLES = ("per token", FRAMED, "absolute")

if __name__ == "__main__":
    run = whole(sys.stdin.read(), TABLES)
    PAGE.write_text(published(PAGE.read_text(encoding="utf-8"), run), encoding="utf-8")
