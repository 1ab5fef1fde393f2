"""`from_tokenizers` against the Hugging Face library: byte-level and sentencepiece vocabularies, and damaged files."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models

from harmonystream import vocab
from harmonystream.errors import VocabError


def table(loaded: vocab.Vocab) -> list[bytes]:
    return [loaded.token_bytes(tid) for tid in range(len(loaded))]


PRINTABLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
REST = [byte for byte in range(0x100) if byte not in PRINTABLE]
GPT2 = {byte: chr(byte) for byte in PRINTABLE} | {byte: chr(0x100 + n) for n, byte in enumerate(REST)}


def to_gpt2(data: bytes) -> str:
    return "".join(map(GPT2.__getitem__, data))


@pytest.fixture(scope="module")
def byte_level() -> Tokenizer:
    """o200k_harmony as a Hugging Face tokenizer, without its merges: only ids are read."""
    embedded = vocab.o200k_harmony()
    ordinary = range(len(embedded) - len(embedded.control))
    tokenizer = Tokenizer(models.BPE({to_gpt2(embedded.token_bytes(tid)): tid for tid in ordinary}, []))
    tokenizer.decoder = decoders.ByteLevel()
    names = sorted(embedded.control, key=embedded.control.__getitem__)
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in names])
    return tokenizer


def test_byte_level_agrees_on_every_id(byte_level):
    loaded, embedded = vocab.from_tokenizers(byte_level), vocab.o200k_harmony()
    assert table(loaded) == table(embedded)
    assert loaded.control == embedded.control
    assert loaded.fingerprint == embedded.fingerprint


def test_byte_level_agrees_with_the_decoder(byte_level):
    texts = byte_level.decode_batch([[tid] for tid in range(201_089)], skip_special_tokens=False)
    assert [data.decode("utf-8", "replace") for data in table(vocab.from_tokenizers(byte_level))] == texts


def test_byte_level_added_tokens():
    tokenizer = Tokenizer(models.BPE({"a": 0, "Ġa": 1, "Ã": 2, "©": 3, "中": 4}, []))
    tokenizer.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken("<|im_end|>", special=True)])
    plain = ["<think>", "  ", "<｜x▁y｜>"]
    tokenizer.add_tokens([AddedToken(content, special=False, normalized=False) for content in plain])
    loaded = vocab.from_tokenizers(tokenizer)
    assert table(loaded) == [
        b"a", b" a", b"\xc3", b"\xa9", "中".encode(),
        b"<|im_end|>", b"<think>", b"  ", "<｜x▁y｜>".encode(),
    ]  # fmt: skip
    assert loaded.control == {"<|im_end|>": 5}


def sentencepiece() -> Tokenizer:
    pieces = ["<unk>", "<s>", "<0xE4>", "<0xbd>", "<0xA0>", "▁the", "x▁y", "▁", "<0xZZ>", "中", "<0x0A>"]
    model = models.BPE({piece: tid for tid, piece in enumerate(pieces)}, [], byte_fallback=True, unk_token="<unk>")
    tokenizer = Tokenizer(model)
    strip = decoders.Strip(" ", 1, 0)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), strip])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.add_tokens([AddedToken("▁▁", normalized=False)])
    return tokenizer


SENTENCEPIECE = [
    b"<unk>", b"<s>", b"\xe4", b"\xbd", b"\xa0", b" the", b"x y", b" ", b"<0xZZ>", "中".encode(), b"\n", b"</s>", b"  ",
]  # fmt: skip


def test_sentencepiece_with_byte_fallback():
    tokenizer = sentencepiece()
    loaded = vocab.from_tokenizers(tokenizer)
    assert table(loaded) == SENTENCEPIECE
    assert loaded.control == {"<unk>": 0, "<s>": 1, "</s>": 11}
    # Behind another token, where its decoder strips no space, the tokenizer says the same.
    for tid, data in enumerate(SENTENCEPIECE):
        expected = "x y" + data.decode("utf-8", "replace")
        assert tokenizer.decode([6, tid], skip_special_tokens=False) == expected


def test_sentencepiece_unigram():
    pieces = [("<unk>", 0.0), ("▁hi", -1.0), ("é", -2.0), ("<0xC3>", -3.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    tokenizer.decoder = decoders.Metaspace()
    loaded = vocab.from_tokenizers(tokenizer)
    assert table(loaded) == [b"<unk>", b" hi", "é".encode(), b"<0xC3>"]
    assert tokenizer.decode([2, 1, 3], skip_special_tokens=False) == "é hi<0xC3>"


def test_every_form_of_a_hugging_face_tokenizer_is_the_same(tmp_path):
    tokenizer = sentencepiece()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    fast = SimpleNamespace(backend_tokenizer=tokenizer, name_or_path="org/model")  # as in transformers
    for form in (tokenizer, fast, path, str(path), tmp_path, tokenizer.to_str()):
        assert table(vocab.from_tokenizers(form)) == SENTENCEPIECE
    assert vocab.from_tokenizers(fast).name == "org/model"


def spec(**changes: object) -> str:
    whole = {
        "added_tokens": [{"id": 1, "content": "<s>", "special": True}],
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 2}},
    }
    return json.dumps(whole | changes)


REGEX = {"type": "Replace", "pattern": {"Regex": "_+"}, "content": " "}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this text is not JSON: Expecting property name"),
        ("{}", "this text is not a tokenizer.json: it has no model"),
        (spec(model={}), "this tokenizer.json is incomplete or damaged: KeyError('vocab')"),
        (spec(added_tokens=[{"id": 1}]), "this tokenizer.json is incomplete or damaged: KeyError('content')"),
        (
            spec(decoder=None),
            "neither byte-level nor sentencepiece: it has nothing; give the bytes of each id",
        ),
        (spec(decoder={"type": "WordPiece"}), "neither byte-level nor sentencepiece: it has WordPiece; give the bytes"),
        (spec(decoder=REGEX), "the tokenizer's decoder rewrites {'Regex': '_+'} as ' '; give the bytes of each id"),
        (spec(model={"vocab": {"a": 0, "b": 0}}), "id 0 belongs to two tokens, b'a' and 'b'"),
        (spec(model={"vocab": {"a": -1}}), "the id of 'a' must be in 0..16777215, not -1"),
        (spec(model={"vocab": {"a": 1 << 24}}), "the id of 'a' must be in 0..16777215, not 16777216"),
        (
            spec(model={"vocab": {"a": "1"}}),
            "incomplete or damaged: TypeError(\"the id of 'a' must be an int, not str\")",
        ),
        (spec(model={"vocab": {"\ud800": 1}}), "incomplete or damaged: UnicodeEncodeError("),
        (spec(model={"vocab": ["a"]}), "incomplete or damaged: ValueError("),
    ],
)
def test_damaged_or_foreign_tokenizer_files(text, message):
    with pytest.raises(VocabError, match=re.escape(message)):
        vocab.from_tokenizers(text)


def test_a_gap_in_a_tokenizer_file_is_no_token():
    loaded = vocab.from_tokenizers(spec(added_tokens=[]))
    assert (len(loaded), loaded.token_bytes(2)) == (3, b"b")
    with pytest.raises(KeyError):
        loaded.token_bytes(1)


def test_a_missing_tokenizer_file(tmp_path):
    with pytest.raises(VocabError, match=r"the folder .* has no tokenizer\.json: pass the path .* `hf download"):
        vocab.from_tokenizers(tmp_path)
    with pytest.raises(VocabError, match="there is no file Qwen/Qwen3-8B: "):
        vocab.from_tokenizers("Qwen/Qwen3-8B")


@pytest.mark.parametrize("value", [None, 5, ["tokenizer.json"], b"{}", object()])
def test_what_is_no_tokenizer(value):
    message = "a fast tokenizer of transformers, the path of a tokenizer.json or its text, not "
    with pytest.raises(TypeError, match=f"^expected a tokenizers.Tokenizer, {message}"):
        vocab.from_tokenizers(value)
