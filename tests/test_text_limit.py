"""Ids are fed as far as the engine's text goes, however late the text comes and wherever it ends."""

from __future__ import annotations

import random

import pytest
import random_streams
from hypothesis import given
from hypothesis import strategies as st
from streams import random_chunks

import harmonystream as hs
from harmonystream.text_limit import TextLimit, spelled

VOCAB = hs.vocab.o200k_harmony()


def bytes_of(ids: list[int], *, special: bool) -> bytes:
    shown = [tid for tid in ids if tid in VOCAB and (special or not VOCAB.is_control(tid))]
    return b"".join(map(VOCAB.token_bytes, shown))


@given(random_streams.id_streams, random_streams.seeds, st.booleans(), st.data())
def test_what_is_taken_says_what_the_text_says(ids, seed, special, data):
    """The engine detokenizes with U+FFFD for what is no UTF-8, holds back some characters, and cuts the text."""
    dice = random.Random(seed)
    whole = bytes_of(ids, special=special).decode(errors="replace")
    cut = data.draw(st.integers(0, len(whole)))
    limit, taken, sent, fed = TextLimit(VOCAB, special=special), [], 0, 0
    for piece in random_chunks(ids, dice):
        fed += len(piece)
        known = bytes_of(ids[:fed], special=special).decode(errors="ignore")
        upto = min(len(known) - dice.randrange(4), cut)
        upto = upto if whole[:upto] == known[: max(upto, 0)] else 0
        text, sent = whole[sent : max(upto, sent)], max(upto, sent)
        taken += limit.take(piece, text)
        assert bytes_of(taken, special=special).decode(errors="replace").rstrip("\ufffd") in whole
    taken += limit.take([], whole[sent:cut], last=True)
    if cut == len(whole):
        assert taken == ids
    text = bytes_of(taken, special=special).decode(errors="replace")
    assert whole[:cut].startswith(text)
    rest = whole[len(text) : cut]  # a part of a marker
    assert not rest or (special and any(marker.startswith(rest) for marker in VOCAB.control))
    kept = next((at for at, (one, other) in enumerate(zip(taken, ids)) if one != other), len(taken))
    assert taken[:kept] == ids[:kept]
    assert len(bytes_of(taken[kept:], special=special)) < 64 or special  # a part of one id, in letters


def test_a_stop_string_is_not_seen():
    parser, limit = hs.Parser(start="answer"), TextLimit(VOCAB)
    ids = VOCAB.encode("One, two. STOP here")
    texts = []
    for tid, text in zip(ids, ["One", "", ", two", "", "", "", "", ""]):
        texts += [event.text for event in parser.feed(limit.take(tid, text)) if isinstance(event, hs.ContentDelta)]
    texts += [event.text for event in parser.feed(limit.take([], ". S", last=True)) if hasattr(event, "text")]
    assert "".join(texts) == "One, two. S"


def test_what_waits_can_be_had():
    """As when the engine says that the text which it has returned begins a stop string."""
    limit = TextLimit(VOCAB)
    ids = VOCAB.encode("One, two.")
    assert limit.take(ids, "One") + limit.rest() == ids
    assert limit.rest() == limit.take([], ", two.", last=True) == []


def test_control_ids_come_with_the_id_before_them():
    limit = TextLimit(VOCAB)
    ids = VOCAB.encode("<|channel|>analysis<|message|>Hm<|end|>", control=True)
    assert limit.take(ids[:-1], "analysis") == ids[:-2]
    assert limit.take(ids[-1], "H") == []
    assert limit.take([], "m") == ids[-2:]


def test_a_text_of_something_else_limits_nothing():
    limit = TextLimit(VOCAB)
    ids = VOCAB.encode("Some text that goes on")
    assert limit.take(ids[:2], "Another") == ids[:2]
    assert limit.take(ids[2:], "") == ids[2:]


def test_text_may_come_before_its_ids():
    limit = TextLimit(VOCAB)
    ids = VOCAB.encode("Some text")
    assert limit.take([], "Some text") == []
    assert limit.take(ids) == ids


def test_an_emoji_of_several_ids_comes_whole():
    limit = TextLimit(VOCAB)
    ids = VOCAB.encode("🫠!")
    assert len(ids) > 2
    assert limit.take(ids[:1]) == []
    assert limit.take(ids[1:], "🫠") == ids[:-1]
    assert limit.take([], last=True) == []


def test_ids_without_a_text_are_dropped_at_the_end():
    limit = TextLimit(VOCAB)
    assert limit.take(VOCAB.encode("Hello there"), "", last=True) == []


@pytest.mark.parametrize("shown", ["<", "<|chann", ""])
def test_a_part_of_a_control_token_is_dropped(shown):
    """A stop string may begin in a marker. What is left of the marker is not text, and would be read as an argument."""
    limit = TextLimit(VOCAB, special=True)
    ids = VOCAB.encode("Hi<|channel|>", control=True)
    assert limit.take(ids, f"Hi{shown}", last=True) == ids[:-1]


def test_invalid_bytes_cost_no_more_than_others():
    """Thousands of them in one call are compared in pieces."""
    ids = spelled(VOCAB, b"\xe2\x82" * 20_000)
    limit = TextLimit(VOCAB)
    assert limit.take(ids, "\ufffd" * 20_000, last=True) == ids


@pytest.mark.parametrize(("ids", "error"), [("text", TypeError), ([-1], ValueError)])
def test_what_is_no_id_is_refused(ids, error):
    with pytest.raises(error):
        TextLimit(VOCAB).take(ids)


def test_a_vocabulary_may_have_holes():
    vocab = hs.vocab.from_bytes({0: b"a", 2: b"ab", 5: b"b"}, {})
    assert TextLimit(vocab).take([2], "a", last=True) == [0]
