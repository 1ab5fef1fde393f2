"""Every well-formed call of the corpora, and every turn that a chat template renders, is allowed by the grammars.

`make fuzz` asks xgrammar, too, if it is installed, and has more turns: tests/fuzz/completeness.py.
"""

from __future__ import annotations

import pytest
from well_formed import is_taken, of_the_corpora, of_the_templates, why_refused


@pytest.mark.parametrize("backend", ["llguidance", "llama.cpp"])
@pytest.mark.parametrize("outputs", [of_the_corpora, of_the_templates])
def test_what_is_well_formed_is_taken(outputs, backend) -> None:
    every = list(outputs())
    assert len(every) > 150
    taken = [is_taken(one, backend) for one in every]
    assert [one for one, found in zip(every, taken) if found is False and why_refused(one) is None] == []
    assert taken.count(True) > len(every) // 2
