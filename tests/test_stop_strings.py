"""Stop strings in pieces of an output: what is passed on is what comes before the first of them."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

import harmonystream as hs
from harmonystream.stop_strings import StopStrings, _Match, bytes_of

VOCAB = hs.vocab.o200k_harmony()
LETTERS = st.text("ab€", min_size=1, max_size=5)


def first_of(text: str, stops: list[str]) -> tuple[str, str | None]:
    """What comes before the stop string that ends first, and that one; of those that end together, the longest."""
    ends = [(text.encode().find(stop.encode()) + len(stop.encode()), stop) for stop in stops if stop in text]
    if not ends:
        return text, None
    end, stop = min(ends, key=lambda found: (found[0], -len(found[1].encode())))
    return text.encode()[: end - len(stop.encode())].decode(), stop


def passed(pieces: list[tuple[bytes, Any]], stops: list[str]) -> tuple[list[Any], str | None]:
    watch = StopStrings(stops, VOCAB)
    found: list[Any] = []
    for said, piece in pieces:
        found += watch.take(said, piece)
        if watch.found is not None:
            return found, watch.found
    return found + watch.rest(), None


@given(st.lists(st.text("ab€", max_size=4), max_size=6), st.lists(LETTERS, min_size=1, max_size=3))
@example(["a", "b"], ["ab", "b"])
@example(["€"], ["€"])
def test_text_ends_before_the_first(pieces, stops):
    found, stop = passed([(piece.encode(), piece) for piece in pieces], stops)
    assert ("".join(found), stop) == first_of("".join(pieces), stops)


@given(st.text("ab€", max_size=12), st.lists(LETTERS, min_size=1, max_size=3))
def test_so_do_tokens(text, stops):
    ids = VOCAB.encode(text)
    found, stop = passed([(bytes_of(VOCAB, tid), tid) for tid in ids], stops)
    flat = [tid for one in found for tid in (one if isinstance(one, list) else [one])]
    assert (b"".join(map(VOCAB.token_bytes, flat)).decode(), stop) == first_of(text, stops)


def test_an_id_that_the_vocabulary_does_not_have_says_what_a_parser_reads():
    assert bytes_of(VOCAB, 10**6).decode() == hs.parse([200005, 17196, 200008, 10**6, 200002]).content


@given(
    stop=st.binary(min_size=1, max_size=6).map(lambda raw: bytes(byte % 3 for byte in raw)), data=st.binary(max_size=40)
)
def test_a_match_is_what_a_search_finds(stop, data):
    text = bytes(byte % 3 for byte in data)
    match = _Match(stop)
    found = next((at + 1 for at, byte in enumerate(text) if match.step(byte)), None)
    assert found == (text.find(stop) + len(stop) if stop in text else None)


def test_a_long_stop_string_is_looked_for_in_linear_time():
    """The text is its beginning again and again: as many steps back as forth, and no more."""
    match = _Match(b"a" * 2_000 + b"b")
    steps = 0

    class Counting(list[int]):
        def __getitem__(self, at: Any) -> Any:
            nonlocal steps
            steps += 1
            return super().__getitem__(at)

    match.shorter = Counting(match.shorter)
    for byte in (b"a" * 2_000 + b"c") * 10:
        assert not match.step(byte)
    assert steps <= 2 * 20_010
