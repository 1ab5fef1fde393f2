"""Vocab.save() and Vocab.load(), and the cache of from_tokenizers()."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import pytest

import harmonystream as hs
from harmonystream.vocabs import files

CONTROL = {"<|channel|>": 4, "<|message|>": 5, "<|start|>": 6, "<|end|>": 7, "<|return|>": 8, "<|call|>": 9}
CONTROL |= {"<|constrain|>": 10, "<|endoftext|>": 11}
TABLE = [b"a", None, b"\xe6", "日本".encode()]
TOKENIZER = {
    "added_tokens": [
        {"id": 2, "content": "<|im_end|>", "special": True},
        {"id": 3, "content": "<think>", "special": False},
    ],
    "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
    "pre_tokenizer": {
        **{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
    },
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
}
for entry in TOKENIZER["added_tokens"]:
    entry |= {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


@pytest.fixture
def small():
    return hs.vocab.from_bytes(TABLE, CONTROL, name="small é")


@pytest.fixture
def path(tmp_path, small):
    small.save(tmp_path / "small")
    return tmp_path / "small"


def same(one: hs.Vocab, other: hs.Vocab) -> bool:
    return (len(one), one.control, one.fingerprint, one.name) == (
        len(other),
        other.control,
        other.fingerprint,
        other.name,
    )


def test_what_was_saved_is_loaded(small, path):
    loaded = hs.Vocab.load(path)
    assert same(loaded, small)
    assert (small.path, loaded.path) == (None, str(path))
    ids = [4, 0, 5, 3, 2, 0, 1, 7]
    assert hs.parse(ids, vocab=loaded) == hs.parse(ids, vocab=small)
    state = hs.Parser("harmony", small).to_bytes()
    assert hs.Parser.from_bytes(state, loaded).to_bytes() == state


def test_the_embedded_vocabulary(tmp_path):
    whole = hs.vocab.o200k_harmony()
    whole.save(tmp_path / "o200k")
    loaded = hs.Vocab.load(tmp_path / "o200k")
    assert same(loaded, whole)
    assert [loaded.token_bytes(tid) for tid in range(199_998)] == [whole.token_bytes(tid) for tid in range(199_998)]
    assert loaded.encode("Hi <|end|>", control=True) == whole.encode("Hi <|end|>", control=True)
    assert loaded.markers == whole.markers


def test_a_saved_file_is_replaced_and_who_has_the_old_one_keeps_it(small, path):
    old = hs.Vocab.load(path)
    hs.vocab.from_bytes([b"other"], CONTROL).save(path)
    assert hs.Vocab.load(path).token_bytes(0) == b"other"
    assert old.token_bytes(0) == b"a"
    assert os.listdir(path.parent) == ["small"]


def test_a_loaded_vocabulary_is_pickled_as_its_path(path):
    loaded = hs.Vocab.load(path)
    data = pickle.dumps(loaded)
    assert len(data) < 300
    assert pickle.loads(data) is pickle.loads(data)
    code = "import pickle, sys; vocab = pickle.loads(sys.stdin.buffer.read()); print(vocab.fingerprint, vocab.path)"
    done = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, check=True)
    assert done.stdout.decode().split() == [str(loaded.fingerprint), str(path)]


def test_a_pickle_whose_file_holds_another_vocabulary_is_refused(path):
    data = pickle.dumps(hs.Vocab.load(path))
    hs.vocab.from_bytes([b"other"], CONTROL).save(path)
    with pytest.raises(hs.errors.VocabError, match="holds another vocabulary than when this was pickled"):
        pickle.loads(data)


def test_every_truncation_and_every_damaged_byte_is_refused(path):
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(hs.errors.VocabError, match="vocabulary file"):
            hs.Vocab.load(path)
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        with pytest.raises(hs.errors.VocabError, match="vocabulary file"):
            hs.Vocab.load(path)
    path.write_bytes(whole + b"x")
    with pytest.raises(hs.errors.VocabError, match="its length does not fit its content"):
        hs.Vocab.load(path)


def test_a_file_that_is_missing_is_the_systems_error(tmp_path, small):
    with pytest.raises(FileNotFoundError):
        hs.Vocab.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        small.save(tmp_path / "no" / "where")


def test_a_function_that_encodes_is_given_again(tmp_path):
    made = hs.vocab.from_bytes(TABLE, CONTROL, encode=lambda text: [0] * len(text))
    made.save(tmp_path / "f")
    with pytest.raises(hs.errors.VocabError, match="cannot encode text"):
        hs.Vocab.load(tmp_path / "f").encode("aa")
    assert hs.Vocab.load(tmp_path / "f", encode=lambda text: [0] * len(text)).encode("aa<|end|>", control=True) == [
        0,
        0,
        7,
    ]


def test_a_tokenizer_is_saved_with_its_vocabulary(tmp_path):
    made = hs.vocab.from_tokenizers(json.dumps(TOKENIZER))
    made.save(tmp_path / "t")
    loaded = hs.Vocab.load(tmp_path / "t")
    loaded.save(tmp_path / "u")
    for vocab in (loaded, hs.Vocab.load(tmp_path / "u")):
        assert vocab.markers == made.markers
        assert vocab.encode("ab<|im_end|>", control=True) == made.encode("ab<|im_end|>", control=True) == [0, 1, 2]
        assert vocab.encode("ba") == [1, 0]


def test_a_damaged_tokenizer_is_noticed_when_it_is_needed(tmp_path):
    hs.vocab.from_tokenizers(json.dumps(TOKENIZER)).save(tmp_path / "t")
    data = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(data[:-1] + b"?")
    loaded = hs.Vocab.load(tmp_path / "t")
    with pytest.raises(hs.errors.VocabError, match="damaged where the tokenizer is"):
        loaded.encode("a")


def test_the_cache_has_a_file_for_each_tokenizer(tmp_path, monkeypatch):
    cache = tmp_path / "made" / "here"
    text = json.dumps(TOKENIZER)
    first = hs.vocab.from_tokenizers(text, cache=cache)
    assert same(first, hs.vocab.from_tokenizers(text))
    hs.vocab.from_tokenizers(text.replace('"b"', '"c"'), cache=cache)
    assert len(os.listdir(cache)) == 2
    monkeypatch.setattr(hs.vocab, "_from_tokenizer_json", None)  # it would be called if the file were not used
    (tmp_path / "tokenizer.json").write_text(text)
    assert same(hs.vocab.from_tokenizers(tmp_path, cache=cache), first)


def test_a_damaged_file_of_the_cache_is_made_anew(tmp_path):
    text = json.dumps(TOKENIZER)
    first = hs.vocab.from_tokenizers(text, cache=tmp_path)
    (name,) = os.listdir(tmp_path)
    (tmp_path / name).write_bytes(b"damaged")
    assert same(hs.vocab.from_tokenizers(text, cache=tmp_path), first)
    assert same(files.load(tmp_path / name), first)


def test_a_file_of_another_version_or_machine_is_refused(path, small, monkeypatch):
    data = path.read_bytes()
    path.write_bytes(data[:8] + b"\2" + data[9:])
    with pytest.raises(hs.errors.VocabError, match="has version 2; this release reads version 1"):
        hs.Vocab.load(path)
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(hs.errors.VocabError, match="little-endian"):
        small.save(path)
