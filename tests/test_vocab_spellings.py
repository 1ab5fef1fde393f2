"""The pattern of markers matches what the plain list of them matches, the longest first."""

from __future__ import annotations

import random
import re

from harmonystream.vocab import o200k_harmony
from harmonystream.vocabs.spellings import any_of


def plainly(names):
    return "|".join(map(re.escape, sorted(filter(None, names), key=len, reverse=True))) or "(?!)"


def test_it_matches_what_the_list_matches():
    rng = random.Random(20)

    def text(most):
        return "".join(rng.choice("ab<|.") for _ in range(rng.randrange(most)))

    for _ in range(5000):
        names, said = [text(6) for _ in range(rng.randrange(9))], text(30)
        assert re.findall(any_of(names), said) == re.findall(plainly(names), said)


def test_the_markers_of_a_vocabulary():
    names = list(o200k_harmony().markers)
    assert re.findall(any_of(names), " ".join(names)) == names
    assert len(any_of(names)) * 3 < len(plainly(names))


def test_names_inside_names_may_be_many():
    names = ["a" * size for size in range(1, 400)]
    assert re.findall(any_of(names), "a" * 399 + "b" + "a" * 70) == ["a" * 399, "a" * 70]
    assert re.fullmatch(any_of([]), "") is None
