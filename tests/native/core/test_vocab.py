"""The loaders against the libraries whose vocabularies they load, id by id, and what they say to wrong input."""

from __future__ import annotations

import hashlib
import pickle
import re
from pathlib import Path
from types import SimpleNamespace

import openai_harmony
import pytest
import rank_file
import tiktoken
import tiktoken.load
import tiktoken_ext.openai_public

import harmonystream as hs
from harmonystream import vocab
from harmonystream._native.core.vocab import Vocab
from harmonystream.errors import VocabError

RANKS = Path(vocab.__file__).parent / "data" / "o200k_base.tokens"
PUBLISHED = Path(rank_file.folder()) / rank_file.NAME
MARKERS = {
    "<|endoftext|>": 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
}


@pytest.fixture(scope="module")
def ranks() -> list[bytes]:
    """The ordinary tokens, as tiktoken reads them."""
    by_bytes = tiktoken.load.load_tiktoken_bpe(str(PUBLISHED), expected_hash=rank_file.SHA256)
    return sorted(by_bytes, key=by_bytes.__getitem__)


@pytest.fixture(scope="module")
def official(monkeypatch_module: pytest.MonkeyPatch) -> openai_harmony.HarmonyEncoding:
    monkeypatch_module.setenv("TIKTOKEN_ENCODINGS_BASE", rank_file.folder())
    return openai_harmony.load_harmony_encoding("HarmonyGptOss")


@pytest.fixture(scope="module")
def encoding(monkeypatch_module: pytest.MonkeyPatch) -> tiktoken.Encoding:
    """tiktoken's own o200k_harmony, on the tokens in this package instead of a download."""
    load = tiktoken.load.load_tiktoken_bpe
    monkeypatch_module.setattr(
        tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *_, expected_hash: load(str(PUBLISHED), expected_hash)
    )
    return tiktoken.Encoding(**tiktoken_ext.openai_public.o200k_harmony())


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def table(loaded: vocab.Vocab) -> list[bytes]:
    return [loaded.token_bytes(tid) for tid in range(len(loaded))]


# --- the embedded vocabulary ---


def test_the_tokens_are_those_of_the_published_rank_file():
    assert hashlib.sha256(PUBLISHED.read_bytes()).hexdigest() == rank_file.SHA256


def test_embedded_shape(ranks):
    embedded = vocab.o200k_harmony()
    assert embedded.name == "o200k_harmony"
    assert len(embedded) == 201_089
    assert table(embedded)[:199_998] == ranks
    assert sorted(embedded.control.values()) == list(range(199_998, 201_089))
    assert {name: embedded.control[name] for name in MARKERS} == MARKERS
    assert [tid for tid in range(len(embedded)) if embedded.is_control(tid)] == list(range(199_998, 201_089))
    assert embedded.decode(embedded.control.values()) == "".join(embedded.control)
    assert all(embedded.token_bytes(tid) == name.encode() for name, tid in embedded.control.items())


def test_embedded_is_loaded_once():
    assert vocab.o200k_harmony() is vocab.o200k_harmony()


def test_a_truncated_file_is_named(monkeypatch, tmp_path):
    damaged = tmp_path / "o200k_base.tokens"
    damaged.write_bytes(RANKS.read_bytes()[:-12])
    monkeypatch.setattr("harmonystream.vocabs.encoders._RANKS", damaged)
    with pytest.raises(VocabError, match=re.escape(f"{damaged} has 1199976 bytes instead of 1199988: reinstall")):
        vocab.o200k_harmony.__wrapped__()


@pytest.mark.parametrize("tid", [-1, 201_089, 1 << 24, 1 << 70])
def test_unknown_ids(tid):
    with pytest.raises(KeyError):
        vocab.o200k_harmony().token_bytes(tid)
    assert vocab.o200k_harmony().is_control(tid) is False


# --- the same vocabulary, from the libraries that have it ---


def test_openai_harmony_agrees_on_every_id(official):
    loaded, embedded = vocab.from_harmony(official), vocab.o200k_harmony()
    assert table(loaded) == table(embedded)
    assert loaded.control == embedded.control
    assert (loaded.name, loaded.fingerprint) == (embedded.name, embedded.fingerprint)
    assert set(embedded.control) == official.special_tokens_set


def test_tiktoken_agrees_on_every_id(encoding):
    loaded, embedded = vocab.from_tiktoken(encoding), vocab.o200k_harmony()
    assert loaded.name == "o200k_harmony"
    assert table(loaded) == [encoding.decode_single_token_bytes(tid) for tid in range(encoding.n_vocab)]
    # tiktoken's list stops one id early, and has two names for 200018; both ids are unused.
    differing = [tid for tid in range(len(loaded)) if loaded.token_bytes(tid) != embedded.token_bytes(tid)]
    assert len(loaded) == 201_088
    assert set(differing) <= {200_018}
    assert {embedded.token_bytes(200_018), loaded.token_bytes(200_018)} <= {b"<|reserved_200018|>", b"<|endofprompt|>"}
    assert {name: loaded.control[name] for name in MARKERS} == MARKERS
    assert len(loaded.control) == 1_090


def test_a_tiktoken_encoding_with_gaps():
    ranks = {bytes([byte]): 2 * byte for byte in range(256)}
    encoding = tiktoken.Encoding("gaps", pat_str=".", mergeable_ranks=ranks, special_tokens={"<|end|>": 600})
    loaded = vocab.from_tiktoken(encoding)
    assert (loaded.name, len(loaded), loaded.control) == ("gaps", 601, {"<|end|>": 600})
    assert [tid for tid in range(601) if tid in loaded] == [*range(0, 512, 2), 600]
    assert loaded.token_bytes(2 * 0xE4) == b"\xe4"


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (vocab.from_tiktoken, "expected a tiktoken.Encoding, not list"),
        (vocab.from_harmony, "expected a HarmonyEncoding, as load_harmony_encoding() returns, not list"),
    ],
)
def test_another_object_than_the_loader_is_for(load, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        load([b"a"])


def test_a_harmony_encoding_without_bytes():
    encoding = SimpleNamespace(special_tokens_set={"<|end|>"}, encode=lambda text, allowed_special: [0], name="other")
    with pytest.raises(VocabError, match=re.escape("has no decode_bytes: use harmonystream.vocab.o200k_harmony()")):
        vocab.from_harmony(encoding)


def test_a_harmony_encoding_that_splits_a_special_token():
    encoding = SimpleNamespace(
        special_tokens_set={"<|end|>"}, encode=lambda text, allowed_special: [1, 2], decode_bytes=bytes, name="other"
    )
    with pytest.raises(VocabError, match=re.escape("lists '<|end|>' as a special token and encodes it as [1, 2]")):
        vocab.from_harmony(encoding)


# --- plain data ---


def test_from_bytes_takes_a_mapping_or_a_sequence():
    control = {"<|end|>": 4, "<|start|>": 2}
    by_id = vocab.from_bytes({0: b"a", 3: b"\xe4\xbd"}, control, name="tiny")
    by_place = vocab.from_bytes([b"a", None, None, b"\xe4\xbd"], control, name="tiny")
    for loaded in (by_id, by_place):
        assert (loaded.name, len(loaded), loaded.control) == ("tiny", 5, control)
        assert [loaded.token_bytes(tid) for tid in (0, 2, 3, 4)] == [b"a", b"<|start|>", b"\xe4\xbd", b"<|end|>"]
        assert [loaded.is_control(tid) for tid in range(5)] == [False, False, True, False, True]
        with pytest.raises(KeyError):
            loaded.token_bytes(1)
    assert by_id.fingerprint == by_place.fingerprint


def test_a_control_token_may_also_be_listed_with_its_name():
    assert vocab.from_bytes([b"a", b"<|end|>"], {"<|end|>": 1}).control == {"<|end|>": 1}


def test_different_vocabularies_have_different_fingerprints():
    variants = [
        ([b"a", b"b"], {"<|end|>": 2}),
        ([b"b", b"a"], {"<|end|>": 2}),
        ([b"ab", b""], {"<|end|>": 2}),
        ([b"a", b"b"], {"<|end|>": 3}),
        ([b"a", b"b"], {"<|call|>": 2}),
        ([b"a", b"b", b"<|end|>"], {}),
        ([b"a", None], {"<|end|>": 2}),
    ]
    prints = [vocab.from_bytes(tokens, control).fingerprint for tokens, control in variants]
    assert len(set(prints)) == len(variants)
    assert all(0 <= value < 1 << 64 for value in prints)


@pytest.mark.parametrize(
    ("tokens", "control", "error", "message"),
    [
        (b"ab", {}, TypeError, "tokens must be a mapping of ids to bytes, or a sequence of bytes, not bytes"),
        (None, {}, TypeError, "tokens must be a mapping of ids to bytes, or a sequence of bytes, not NoneType"),
        (["a"], {}, TypeError, "token 0 must be bytes, not str"),
        ({0: None}, {}, TypeError, "token 0 must be bytes, not NoneType"),
        ({b"a": 0}, {}, TypeError, "a token id must be an int, not bytes"),
        ({True: b"a"}, {}, TypeError, "a token id must be an int, not bool"),
        ({-1: b"a"}, {}, VocabError, "a token id must be in 0..16777215, not -1"),
        ({1 << 24: b"a"}, {}, VocabError, "a token id must be in 0..16777215, not 16777216"),
        ([b"a"], ["<|end|>"], TypeError, "control must map names to ids, such as {'<|start|>': 200006}, not list"),
        ([b"a"], {1: "<|end|>"}, TypeError, "control maps names (str) to ids (int), not 1 to '<|end|>'"),
        ([b"a"], {"<|end|>": "1"}, TypeError, "control maps names (str) to ids (int), not '<|end|>' to '1'"),
        ([b"a"], {"<|end|>": -5}, VocabError, "control id -5 of '<|end|>' is out of range (0 to 16777215)"),
        (
            [b"a"],
            {"<|end|>": 1 << 60},
            VocabError,
            f"control id {1 << 60} of '<|end|>' is out of range (0 to 16777215)",
        ),
        ([b"a"], {"<|x|>": 1, "<|y|>": 1}, VocabError, "control tokens '<|x|>' and '<|y|>' have the same id 1"),
        ([], {}, VocabError, "the vocabulary is empty: pass the bytes of at least one token"),
        ([b"a"], {"<|x|>": 0}, VocabError, "id 0 is both the token b'a' and the control token '<|x|>': remove one"),
    ],
)
def test_from_bytes_says_what_is_wrong(tokens, control, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        vocab.from_bytes(tokens, control)


# --- the native class ---


def test_control_ids_extend_the_tokens():
    loaded = Vocab([b"a"], {"<|end|>": 2})
    assert (len(loaded), 0 in loaded, 1 in loaded, 2 in loaded, 3 in loaded) == (3, True, False, True, False)
    assert repr(loaded) == "<Vocab unnamed: 3 ids, 1 control ids>"


def test_control_is_a_copy():
    loaded = Vocab([b"a"], {"<|end|>": 1})
    loaded.control.clear()
    assert loaded.control == {"<|end|>": 1}


def test_a_vocabulary_is_not_pickled():
    with pytest.raises(TypeError, match="a Vocab is not pickled: load it again where it is needed, or save"):
        pickle.dumps(vocab.o200k_harmony())


def test_a_vocabulary_is_never_empty():
    with pytest.raises(TypeError):
        Vocab()
    with pytest.raises(VocabError, match="empty"):
        Vocab([], {})


# --- what a format needs ---


@pytest.mark.parametrize(
    ("format", "control", "missing"),
    [
        ("harmony", {}, 8),
        ("hermes", {}, ("<|im_end|>", "<|endoftext|>")),
        ("hermes", {"<|im_end|>": 1}, ("<|endoftext|>",)),
        ("hermes", {"<|im_end|>": 1, "<|endoftext|>": 2}, ()),
        ("think", {}, ()),
    ],
)
def test_what_a_vocabulary_lacks_for_a_format(format, control, missing):
    found = Vocab([b"a"], control).missing(format)
    assert (len(found) if isinstance(missing, int) else found) == missing


def test_one_spelling_of_a_marker_is_enough():
    """Kimi's section has two spellings, and its markers are control tokens."""
    every = Vocab([b"a"], {}).missing("kimi_k2")
    assert "<|tool_calls_section_begin|>" in every
    other = Vocab([b"a"], {"<|tool_call_section_begin|>": 1}).missing("kimi_k2")
    assert set(every) - set(other) == {"<|tool_calls_section_begin|>"}


def test_an_ordinary_token_that_spells_a_marker_counts():
    assert Vocab([b"<|im_end|>", b"<|endoftext|>"], {}).missing("hermes") == ()


def test_a_vocabulary_without_the_stops_is_refused():
    """With the wrong tokenizer, or without its special tokens, a decode loop would never end."""
    vocab, whole = Vocab([b"a"], {}), Vocab([b"a"], {"<|endoftext|>": 1})
    for refused in (
        hs.Parser,
        hs.batch.Batch,
        lambda *given: hs.MessagesStream(given[0], id="m", model="m", vocab=given[1]),
    ):
        with pytest.raises(
            VocabError, match=r"has none of the tokens at which 'hermes' stops \(<\|im_end\|>, <\|endoftext"
        ):
            refused("hermes", vocab)
    parser = hs.Parser("hermes", vocab, check_stops=False)
    assert (parser.stop_ids, parser.fork().stop_ids) == ((), ())
    assert hs.Parser.from_bytes(parser.to_bytes(), vocab).feed(0)[-1].text == "a"
    assert hs.batch.Batch("hermes", vocab, check_stops=False).open() == 0
    assert hs.parse([0], "hermes", vocab=vocab).content == "a"
    assert hs.label([0], "hermes", vocab=vocab) == bytes([hs.Region.CONTENT])
    with pytest.raises(VocabError, match=r"that begin or end a turn in 'hermes' \(<\|im_end\|>, <\|im_start\|>\)"):
        hs.Parser("hermes", whole)  # every vocabulary has <|endoftext|>, gpt-oss's too
    assert hs.Parser("hermes", whole, check_stops=False).stop_ids == (1,)


def test_a_stop_that_is_an_ordinary_token_stops():
    assert hs.Parser("hermes", Vocab([b"a", b"<|im_end|>"], {})).stop_ids == (1,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hs.Parser("harmony", None, None), "Parser() takes at most 2 positional arguments"),
        (lambda: hs.Parser(vocabulary=None), "Parser() got an unexpected keyword argument 'vocabulary'"),
        (lambda: hs.batch.Batch(slots=3), "Batch() got an unexpected keyword argument 'slots'"),
        (lambda: Vocab(), "Vocab() "),
    ],
)
def test_an_error_names_the_class_that_was_called(call, message):
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value).startswith(message)
    assert "__cinit__" not in str(raised.value)


class Name(str):
    """One that encodes itself in another way each time."""

    sizes = iter(range(1, 100_000, 10_000))

    def encode(self, *_):
        return b"x" * next(self.sizes)


class Number(int):
    """One that lies about its size."""

    def __lt__(self, other):
        return True

    __gt__ = __le__ = __ge__ = __lt__

    def __add__(self, other):
        return 1


def test_a_subclass_answers_for_nothing():
    vocab = hs.Vocab([b"a"], {Name("<x>"): 1, "<y>": Number(70_000)})
    assert (vocab.token_bytes(1), vocab.control, len(vocab)) == (b"<x>", {"<x>": 1, "<y>": 70_000}, 70_001)
    with pytest.raises(hs.errors.VocabError, match="out of range"):
        hs.Vocab([b"a"], {"<y>": Number(-1)})
