"""tiktoken's rank files: gaps, line endings, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harmonystream import VocabError, vocab
from harmonystream._native.core.ranks import load_ranks

RANKS = Path(vocab.__file__).parent / "data" / "o200k_base.tiktoken"


def table(loaded: vocab.Vocab) -> list[bytes]:
    return [loaded.token_bytes(tid) for tid in range(len(loaded))]


def test_a_rank_file_with_gaps_and_either_line_ending():
    loaded = load_ranks(b"YQ== 0\r\n5L0= 2\nIGhlbGxv 3", {"<|end|>": 5}, "tiny")
    assert (len(loaded), loaded.name, loaded.control) == (6, "tiny", {"<|end|>": 5})
    known = {tid: loaded.token_bytes(tid) for tid in range(6) if tid in loaded}
    assert known == {0: b"a", 2: b"\xe4\xbd", 3: b" hello", 5: b"<|end|>"}


@pytest.mark.parametrize(
    ("data", "control", "message"),
    [
        (b"", {}, "the rank file is empty"),
        (b"not a rank file", {}, "this is not a tiktoken rank file: after rank -1, expected a line `base64 rank`"),
        (b"YQ== 0\nYQ==\n", {}, "this is not a tiktoken rank file: after rank 0, expected a line `base64 rank`"),
        (b"YQ== 0\nYg== x\n", {}, "this is not a tiktoken rank file: after rank 0, expected a line `base64 rank`"),
        (b"YQ== 0\nYg== 1 2\n", {}, "this is not a tiktoken rank file: after rank 0, expected a line `base64 rank`"),
        (b"YQ== 1\nYg== 1\n", {}, "this is not a tiktoken rank file: after rank 1, expected a line `base64 rank`"),
        (b"YQ== 2\nYg== 1\n", {}, "this is not a tiktoken rank file: after rank 2, expected a line `base64 rank`"),
        (b"YQ== 99999999999\n", {}, "this is not a tiktoken rank file: after rank -1, expected a line"),
        (b"YQ== 0\n", {"<|end|>": 0}, "control token '<|end|>' has id 0, which is an ordinary token of the rank file"),
        (b"YQ== 0\n", {"<|end|>": -1}, "control id -1 of '<|end|>' is out of range"),
    ],
)
def test_what_is_no_rank_file(data, control, message):
    with pytest.raises(VocabError, match=f"^{re.escape(message)}"):
        load_ranks(data, control, "tiny")


def test_a_rank_file_cut_anywhere_is_refused_or_only_shorter():
    data = RANKS.read_bytes()[:400]
    whole = table(load_ranks(data[: data.rindex(b"\n")], {}))
    lengths = set()
    for cut in range(1, len(data)):
        try:
            part = load_ranks(data[:cut], {})
        except VocabError:
            continue
        lengths.add(len(part))
        assert table(part) == whole[: len(part)]
    assert lengths == set(range(1, len(whole) + 1))
