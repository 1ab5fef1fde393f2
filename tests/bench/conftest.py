"""bench/ is no installed package: its tests put the checkout on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

for needed in ("openai_harmony", "orjson", "pydantic", "pytest_benchmark", "starlette", "uvicorn"):
    pytest.importorskip(needed)
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture(autouse=True)
def as_fast_as_the_floors_assume(monkeypatch):
    from bench import report

    monkeypatch.setattr(report, "slowness", lambda: 1.0)
