"""Puts a run into its page: `python -m bench.rivals --markdown | python -m bench.rivals.publish`."""

from __future__ import annotations

import sys

from bench.publish import ROOT, published

PAGE = ROOT / "docs" / "benchmarks-rivals.md"

if __name__ == "__main__":
    PAGE.write_text(published(PAGE.read_text(encoding="utf-8"), sys.stdin.read()), encoding="utf-8")
