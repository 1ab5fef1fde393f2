"""Each built-in row, shortly: the native machine equals the reference on it, at every cut, as text and as ids.

test_tags_properties.py and test_driver_copies.py ask more, of some rows.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tags import calls, id_streams, options, texts
from streams import as_tuple, feed, merge, random_chunks
from tag_streams import TAG_FORMATS, VOCABULARIES, Options, expected, outcome, tokens

import harmonystream as hs
from harmonystream.formats import Format, format_of

every_row = pytest.mark.parametrize("name", TAG_FORMATS)
few = settings(max_examples=max(10, settings.default.max_examples // 20))


def check(chosen: Options, stream: bytes | list[int], vocab: hs.Vocab | None, seed: int) -> None:
    """Whole, in single pieces, and in random ones, half of them by a copy."""
    events, noted, usage = expected(chosen.reference(stream, vocab))
    pieces = random_chunks(stream, random.Random(seed))
    for cut in ([stream], [stream[i : i + 1] for i in range(len(stream))], pieces):
        got = outcome(chosen.parser(vocab), cut, chosen.finish)
        assert (got[0], got[2]) == (events, usage), cut
        assert got[1] is None or got[1] == noted, cut
    first, half = chosen.parser(vocab), len(stream) // 2
    told = feed(first, stream[:half])
    moved = hs.Parser.from_bytes(first.to_bytes(), vocab, tools=chosen.declared)
    for copy in (first.fork(), moved):
        rest = [*feed(copy, stream[half:]), *(as_tuple(event) for event in copy.finish(chosen.finish))]
        assert merge([*told, *rest]) == events


@every_row
@few
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_text(name: str, data: st.DataObject, seed: int):
    check(data.draw(options(name)), data.draw(texts(name)), None, seed)


@every_row
@few
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_ids(name: str, data: st.DataObject, seed: int):
    vocabulary = data.draw(st.sampled_from(VOCABULARIES))
    chosen, vocab = data.draw(options(name)), tokens(name, vocabulary).vocab
    ids = data.draw(id_streams(name, vocabulary))
    check(chosen, ids, vocab, seed)
    if chosen.trim == "seams" and chosen.finish is None and chosen.max_hold > 2048:
        labels = hs.label(ids, name, vocab=vocab, tools=chosen.declared, start=chosen.start)
        assert [hs.Region(label).name.lower() for label in labels] == chosen.reference(ids, vocab).regions


@pytest.mark.parametrize("name", [name for name in TAG_FORMATS if name not in ("think", "kimi_vl")])
def test_the_random_calls_of_a_row_are_calls(name: str):
    """The streams above would prove little of a row whose calls were all broken."""
    row = format_of(name)
    assert isinstance(row, Format)
    found = []

    @settings(max_examples=200, database=None, derandomize=True)
    @given(call=calls(row))
    def look(call: str) -> None:
        found.append(bool(hs.parse(call, row, tools=["f", "g"]).tool_calls))

    look()
    assert sum(found) > len(found) / 10
