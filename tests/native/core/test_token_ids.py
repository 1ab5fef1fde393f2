"""What feed() takes as token ids, and what it says to everything else."""

from __future__ import annotations

import array
import collections

import numpy as np
import pytest
from streams import to_ids

import harmonystream as hs

IDS = to_ids("<|channel|>analysis<|message|>Hm, 你好 😀.<|end|>".encode())


class Tensor:
    """As a torch tensor: no buffer of its own, but numpy() shares its memory."""

    def __init__(self, ids):
        self.array = np.array(ids)

    def numpy(self):
        return self.array


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


SPELLINGS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "deque": collections.deque,
    "indexes": lambda ids: [Index(tid) for tid in ids],
    "array i": lambda ids: array.array("i", ids),
    "array q": lambda ids: array.array("q", ids),
    "array I": lambda ids: array.array("I", ids),
    "array Q": lambda ids: array.array("Q", ids),
    "memoryview": lambda ids: memoryview(array.array("i", ids)),
    "int32": lambda ids: np.array(ids, np.int32),
    "int64": lambda ids: np.array(ids, np.int64),
    "uint32": lambda ids: np.array(ids, np.uint32),
    "strided": lambda ids: np.array([[tid, -1] for tid in ids], np.int32)[:, 0],
    "reversed": lambda ids: np.array(ids[::-1], np.int64)[::-1],
    "row": lambda ids: np.array([ids], np.int64),
    "column": lambda ids: np.array(ids, np.int32).reshape(-1, 1),
    "numpy list": lambda ids: [np.int64(tid) for tid in ids],
    "tensor": Tensor,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_all_spellings_are_one(spelling):
    expected = hs.Parser().feed(IDS)
    assert len(expected) == 3
    assert hs.Parser().feed(SPELLINGS[spelling](IDS)) == expected
    assert hs.label(SPELLINGS[spelling](IDS)) == hs.label(IDS)


def test_ranges_and_small_integers():
    text = "".join(event.text for event in hs.Parser(start="answer").feed(range(1000, 1010))[1:])
    ids = array.array("h", range(1000, 1010))
    assert "".join(event.text for event in hs.Parser(start="answer").feed(ids)[1:]) == text
    assert "".join(event.text for event in hs.Parser(start="answer").feed(array.array("H", ids))[1:]) == text


@pytest.mark.parametrize(
    "one", [12194, Index(12194), np.int64(12194), np.uint16(12194), np.array(12194), np.array([[12194]]), Tensor(12194)]
)
def test_one_id(one):
    parser = hs.Parser(start="answer")
    assert parser.feed(one)[1] == hs.ContentDelta("Hi", "final", 0, 1)
    assert parser.feed(one) == (hs.ContentDelta("Hi", "final", 1, 2),)


@pytest.mark.parametrize("nothing", [[], (), range(0), np.array([], np.int32), iter([])])
def test_nothing(nothing):
    parser = hs.Parser(start="answer")
    assert parser.feed(nothing) == ()
    assert parser.feed(12194)[0].start == 0  # the message was not announced for nothing


@pytest.mark.parametrize("count", [255, 256, 257, 5000])
def test_long_input(count):
    ids = to_ids(b"<|channel|>final<|message|>") + [12194] * count
    for spelling in (list, SPELLINGS["int32"], SPELLINGS["int64"]):
        assert hs.Parser().feed(spelling(ids))[1].text == "Hi" * count


TYPE_ERRORS = {
    "text goes to feed_text": ["text", b"bytes", bytearray(b"bytes")],
    "not float": [1.5, float("nan")],
    "not NoneType": [None],
    "not dict": [{}],
    "not set": [{1}],
    "not bool": [True],
    r"ids\[1\] is float": [[1, 2.0], (1, 2.0)],
    r"ids\[0\] is bool": [[True]],
    r"ids\[0\] is NoneType": [[None]],
    "one stream's ids are flat": [[[1, 2]], ([1],)],
    "holds 'd'": [np.array([1.0]), array.array("d", [1])],
    r"holds '\?'": [np.array([True])],
    "holds 'b'": [np.array([1], np.int8)],
    "holds 'B'": [memoryview(b"bytes")],
}


@pytest.mark.parametrize(
    ("match", "given"), [(match, given) for match, all_given in TYPE_ERRORS.items() for given in all_given]
)
def test_what_is_no_id_says_what_was_wanted(match, given):
    parser = hs.Parser()
    with pytest.raises(TypeError, match=match):
        parser.feed(given)
    assert (parser.position, parser.feed(IDS)) == (0, hs.Parser().feed(IDS))


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (-1, "the id is -1"),
        (2**32, "the id is 4294967296"),
        (10**30, "the id is 1000"),
        ([1, -5], r"ids\[1\] is -5"),
        ((1, 2**40), r"ids\[1\] is 1099511627776"),
        (np.array([3, -1], np.int32), r"ids\[1\] is -1"),
        (np.array([3, -1], np.int64), r"ids\[1\] is -1"),
        (np.array([3, 2**40], np.int64), r"ids\[1\] is 1099511627776"),
        (np.array([2**63], np.uint64), r"ids\[0\] is 9223372036854775808"),
        (np.array([[1, 2], [3, 4]]), r"one dimension longer than 1, not \(2, 2\)"),
    ],
)
def test_what_cannot_be_an_id_leaves_the_stream_as_it_was(given, match):
    parser = hs.Parser()
    parser.feed(IDS[:4])
    with pytest.raises(ValueError, match=match):
        parser.feed(given)
    fresh = hs.Parser()
    fresh.feed(IDS[:4])
    assert parser.to_bytes() == fresh.to_bytes()


def test_an_id_beyond_the_vocabulary_is_a_replacement_character():
    parser = hs.Parser(start="answer")
    assert parser.feed([12194, 201_089, 2**32 - 1, 12194])[1].text == "Hi��Hi"
    assert parser.deviations == (hs.Deviation("unknown-id", 1), hs.Deviation("unknown-id", 2))


def test_torch():
    torch = pytest.importorskip("torch")
    for dtype in (torch.int32, torch.int64):
        assert hs.Parser().feed(torch.tensor(IDS, dtype=dtype)) == hs.Parser().feed(IDS)
    assert hs.Parser(start="answer").feed(torch.tensor(12194))[1].text == "Hi"
