"""The file of an embedded vocabulary: pairs of tokens; and what is refused."""

from __future__ import annotations

import re

import pytest
import rank_file

from harmonystream import vocab
from harmonystream._native.core.ranks import load_ranks
from harmonystream.errors import VocabError

ONE = b"\x00\x00\x00a\x00\x00"  # a token: the byte "a"


def data_of(*pairs: tuple[int, int]) -> bytes:
    return b"".join(bytes(pair[half] >> shift & 255 for pair in pairs) for half in (0, 1) for shift in (0, 8, 16))


def known(loaded: vocab.Vocab) -> dict[int, bytes]:
    return {tid: loaded.token_bytes(tid) for tid in range(len(loaded)) if tid in loaded}


def test_bytes_pairs_holes_and_control_tokens():
    data = data_of((0, 0xE4), (1, 0xBD), (0, 1), (2, 0))
    loaded = load_ranks(data, 4, {"<|end|>": 6, "<|start|>": 4}, "tiny")
    assert (len(loaded), loaded.name, loaded.control) == (7, "tiny", {"<|end|>": 6, "<|start|>": 4})
    tokens = {0: b"\xe4", 1: b"\xbd", 2: b"\xe4\xbd", 3: b"\xe4\xbd\xe4"}
    assert known(loaded) == {**tokens, 4: b"<|start|>", 6: b"<|end|>"}


@pytest.mark.parametrize(
    ("data", "count", "control", "message"),
    [
        (b"", 0, {}, "0 bytes cannot have two numbers of three bytes for each of 0 tokens"),
        (ONE, -1, {}, "6 bytes cannot have two numbers of three bytes for each of -1 tokens"),
        (ONE, 2, {}, "6 bytes cannot have two numbers of three bytes for each of 2 tokens"),
        (data_of((0, 256)), 1, {}, "token 0 is neither a byte nor two tokens before it"),
        (data_of((0, 97), (2, 0), (2, 97)), 3, {}, "token 1 is neither a byte nor two tokens before it"),
        (data_of((0, 97), (0, 1)), 2, {}, "token 1 is neither a byte nor two tokens before it"),
        (data_of((0, 97), *((n, n) for n in range(8))), 9, {}, "token 8 is neither a byte nor two tokens before it"),
        (ONE, 1, {"<|end|>": 0}, "control token '<|end|>' has id 0, which is that of an ordinary token"),
        (ONE, 1, {"<|end|>": -1}, "control id -1 of '<|end|>' is out of range"),
    ],
)
def test_what_does_not_fit(data, count, control, message):
    with pytest.raises(VocabError, match=f"^{re.escape(message)}"):
        load_ranks(data, count, control, "tiny")


def test_the_file_is_the_one_that_is_made_of_its_tokens():
    tokens = rank_file.tokens()
    data = rank_file.data_of(tokens)
    assert (rank_file.ROOT / "harmonystream" / "data" / "o200k_base.tokens").read_bytes() == data
    assert [*known(load_ranks(data, len(tokens), {})).values()] == tokens


def test_a_file_cut_anywhere_is_refused():
    tokens = rank_file.tokens()[:300]
    data = rank_file.data_of(tokens)
    assert [*known(load_ranks(data, 300, {})).values()] == tokens
    for cut in range(len(data)):
        with pytest.raises(VocabError):
            load_ranks(data[:cut], 300, {})
