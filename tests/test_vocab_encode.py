"""`Vocab.encode`: the ids of the tokenizer that it came from, and ordinary text stays ordinary."""

from __future__ import annotations

import re

import pytest
import tiktoken
from families import DEEPSEEK, DEEPSEEK_PLAIN, QWEN, QWEN_PLAIN, tokenizer, vocab
from hypothesis import given, settings
from hypothesis import strategies as st
from official import marked, plain

import harmonystream as hs

PIECES = [
    *("<|start|>", "<|im_start|>", "<think>", "</think>", "<｜User｜>", "<|", "|>", "<", ">", " ", "\n"),
    *("don't", "123456", "天气很好", "é", "😀", "\ud800", "a"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"]), max_size=10).map("".join)


def clean(text: str) -> str:
    return text.replace("\ud800", "\ufffd")


@settings(max_examples=100)
@given(TEXTS)
def test_ids_of_gpt_oss_are_those_of_openai_harmony(text):
    known = hs.vocab.o200k_harmony()
    assert known.encode(text) == plain(clean(text))
    assert known.encode(text, control=True) == marked(clean(text))


@settings(max_examples=100)
@given(TEXTS)
def test_ids_of_tiktoken(text):
    encoding = tiktoken.Encoding(
        "tiny",
        pat_str=r"\w+|\W",
        mergeable_ranks={bytes([i]): i for i in range(256)},
        special_tokens={"<|start|>": 300},
    )
    known = hs.vocab.from_tiktoken(encoding)
    assert known.encode(text) == encoding.encode_ordinary(text)
    assert known.encode(text, control=True) == encoding.encode(text, allowed_special="all")


@pytest.mark.parametrize("added", [(QWEN, QWEN_PLAIN), (DEEPSEEK, DEEPSEEK_PLAIN)], ids=["qwen", "deepseek"])
def test_ids_of_a_tokenizer(added):
    known, original = vocab(*added), tokenizer(*added)
    assert known.markers == {name: original.token_to_id(name) for names in added for name in names}

    @settings(max_examples=100)
    @given(TEXTS)
    def check(text: str) -> None:
        assert known.encode(text, control=True) == original.encode(clean(text), add_special_tokens=False).ids
        ids = known.encode(text)
        assert not set(ids) & set(known.markers.values())
        assert b"".join(map(known.token_bytes, ids)).decode() == clean(text)

    check()


def test_spaces_that_a_tokenizer_adds_are_text():
    from tokenizers import AddedToken

    made = tokenizer(QWEN, QWEN_PLAIN)
    copy = type(made).from_str(made.to_str())
    copy.add_tokens([AddedToken("    ", special=False, normalized=False)])
    known = hs.vocab.from_tokenizers(copy)
    assert known.encode("a    b") == copy.encode("a    b").ids
    assert "    " not in known.markers


def test_a_unigram_model_that_knows_a_marker_meets_it_in_pieces():
    import json

    pieces = [["<unk>", 0.0], ["<think>", -1.0], *[[char, -3.0] for char in "<think>▁/"]]
    spec = {
        "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False},
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True},
        "added_tokens": [
            {"id": 1, "content": "<think>", "special": True, "normalized": False}
            | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        ],
    }
    known = hs.vocab.from_tokenizers(json.dumps(spec))
    assert known.encode("<think>", control=True) == [1]
    assert b"".join(map(known.token_bytes, known.encode("t<think>h"))) == b"t<think>h"
    assert 1 not in known.encode("t<think>h")


def test_plain_data_encodes_with_a_function():
    known = hs.vocab.from_bytes(
        {1: b"a", 2: b"b"}, {"<x>": 3, "<xy>": 4}, encode=lambda text: [" ab".index(c) for c in text]
    )
    assert known.encode("ab<x>", control=True) == [1, 2, 3]
    assert known.encode("<xy>a", control=True) == [4, 1]
    assert known.encode("") == []


def test_a_vocabulary_without_an_encoder_says_what_to_do():
    with pytest.raises(hs.errors.VocabError, match=r"cannot encode text: load it with from_tiktoken\(\)"):
        hs.vocab.from_bytes({1: b"a"}, {"<x>": 2}).encode("a")


def test_a_missing_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "tokenizers", None)
    known = hs.vocab.from_tokenizers(tokenizer(QWEN, QWEN_PLAIN).to_str())
    with pytest.raises(ImportError, match=r"needs the package tokenizers: pip install 'harmonystream\[tokenizers\]'"):
        known.encode("a")


@pytest.mark.parametrize("character", [" ", "\t", "\u3000", " \n"])
def test_a_million_spaces_are_encoded(character):
    """tiktoken panics there, with an exception that no `except Exception` sees."""
    vocab = hs.vocab.o200k_harmony()
    text = f"a{character * 600_000}b{character * 9_000}"
    ids = vocab.encode(text)
    assert b"".join(map(vocab.token_bytes, ids)).decode() == text
    assert len(ids) < len(text)


@settings(max_examples=300)
@given(TEXTS | st.text(st.sampled_from("aZ09é漢カ한жअ٣² \n\t'’.,;/-_+=()<>\"。，\u0301\x1c\u3000"), max_size=60))
def test_a_long_text_is_cut_where_the_encoding_cuts_it(text):
    known = hs.vocab.o200k_harmony()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harmonystream.vocabs.encoders.PIECE", 2)
        patch.setattr("harmonystream.vocabs.encoders.LONGEST_SPACE", 3)
        patch.setattr("harmonystream.vocabs.encoders._LONG_SPACE", re.compile("(?!)"))
        assert known.encode(text) == plain(clean(text))
