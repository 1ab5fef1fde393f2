"""Whatever a grammar lets through is read as complete calls of declared tools, whose arguments fit their schemas.

`make fuzz` walks further: tests/fuzz/grammars.py.
"""

from __future__ import annotations

import pytest
from grammar_walks import CHOICES, FORMATS, random_walk

MOST = 6  # walks that are begun: some do not end in time


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("format", FORMATS)
def test_random_walks(format: str, choice: str) -> None:
    """Markers are control tokens, and then text."""
    for control in (True, False):
        ended = (random_walk(format, choice, "llguidance", seed, control=control) for seed in range(MOST))
        text, wrong = next(one for one in ended if one is not None)
        assert wrong == [], text


@pytest.mark.parametrize("format", FORMATS)
def test_random_walks_of_gbnf(format: str) -> None:
    ended = (random_walk(format, CHOICES[at % 2], "gbnf", at, control=False) for at in range(MOST))
    text, wrong = next(one for one in ended if one is not None)
    assert wrong == [], text
