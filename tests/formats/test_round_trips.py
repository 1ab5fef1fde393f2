"""Each chat template that the tests have, read back in the row that its name leads to; `make check-templates` does the
same with those of PyPI's packages."""

from __future__ import annotations

from pathlib import Path

import pytest
from round_trips import round_trips

TEMPLATES = sorted((Path(__file__).resolve().parents[1] / "templates_chat").glob("*.jinja"))


@pytest.mark.parametrize("path", TEMPLATES, ids=[path.stem for path in TEMPLATES])
def test_what_a_template_renders_comes_back(path):
    count, failed = round_trips(path.read_text(encoding="utf-8"), path.stem)
    assert count >= 20
    assert failed == []
