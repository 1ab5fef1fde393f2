"""Puts a run into its page: `python -m bench.server --markdown | python -m bench.server_publish`."""

from __future__ import annotations

import sys

from bench.publish import ROOT, published, whole
from bench.server import HEAD

PAGE = ROOT / "docs" / "servers.md"

if __name__ == "__main__":
    run = whole(sys.stdin.read(), HEAD[:1])
    PAGE.write_text(published(PAGE.read_text(encoding="utf-8"), run), encoding="utf-8")
