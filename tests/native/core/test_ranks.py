"""The file of an embedded vocabulary: lengths, then bytes; and what is refused."""

from __future__ import annotations

import re

import pytest

from harmonystream import vocab
from harmonystream._native.core.ranks import load_ranks
from harmonystream.errors import VocabError


def known(loaded: vocab.Vocab) -> dict[int, bytes]:
    return {tid: loaded.token_bytes(tid) for tid in range(len(loaded)) if tid in loaded}


def test_lengths_bytes_a_hole_and_control_tokens():
    loaded = load_ranks(b"\x01\x00\x02\x06a\xe4\xbd hello", 4, {"<|end|>": 6, "<|start|>": 4}, "tiny")
    assert (len(loaded), loaded.name, loaded.control) == (7, "tiny", {"<|end|>": 6, "<|start|>": 4})
    assert known(loaded) == {0: b"a", 2: b"\xe4\xbd", 3: b" hello", 4: b"<|start|>", 6: b"<|end|>"}


@pytest.mark.parametrize(
    ("data", "count", "control", "message"),
    [
        (b"", 0, {}, "0 bytes cannot have the lengths of 0 tokens"),
        (b"\x01a", -1, {}, "2 bytes cannot have the lengths of -1 tokens"),
        (b"\x01a", 3, {}, "2 bytes cannot have the lengths of 3 tokens"),
        (b"\x01ab", 1, {}, "the lengths of 1 tokens add up to 1, and 2 bytes follow them"),
        (b"\x02\x02abc", 2, {}, "the lengths of 2 tokens add up to 4, and 3 bytes follow them"),
        (b"\x01a", 1, {"<|end|>": 0}, "control token '<|end|>' has id 0, which is that of an ordinary token"),
        (b"\x01a", 1, {"<|end|>": -1}, "control id -1 of '<|end|>' is out of range"),
    ],
)
def test_what_does_not_fit(data, count, control, message):
    with pytest.raises(VocabError, match=f"^{re.escape(message)}"):
        load_ranks(data, count, control, "tiny")


def test_a_file_cut_anywhere_is_refused():
    tokens = [vocab.o200k_harmony().token_bytes(tid) for tid in range(100)]
    data = bytes(map(len, tokens)) + b"".join(tokens)
    assert [*known(load_ranks(data, 100, {})).values()] == tokens
    for cut in range(len(data)):
        with pytest.raises(VocabError):
            load_ranks(data[:cut], 100, {})
