"""Makes a `Vocab` from the embedded o200k_harmony, from a tokenizer, or from a plain mapping.

A `Vocab` maps each token id to its bytes, and each control token's name to its id. All loaders here read the bytes of
single ids, never decoded text, so a token that is half a character keeps its half. Nothing third-party is imported. A
loader calls methods of the object that it gets.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from harmonystream._native.core.ranks import load_ranks
from harmonystream._native.core.vocab import Vocab
from harmonystream.checks import check_function, check_text
from harmonystream.errors import VocabError
from harmonystream.vocabs.encoders import RANKS_COUNT, Encoder, Pieces, Tokenizers, embedded_encoder, ranks

__all__ = ["Vocab", "from_bytes", "from_harmony", "from_tiktoken", "from_tokenizers", "o200k_harmony"]

MAX_IDS = 1 << 24

_CONTROL_IDS = range(199_998, 201_089)
_CONTROL_NAMES = {
    199_998: "<|startoftext|>",
    199_999: "<|endoftext|>",
    200_002: "<|return|>",
    200_003: "<|constrain|>",
    200_005: "<|channel|>",
    200_006: "<|start|>",
    200_007: "<|end|>",
    200_008: "<|message|>",
    200_012: "<|call|>",
}


@cache
def o200k_harmony() -> Vocab:
    """The vocabulary of gpt-oss, from a file in this package: 201,089 ids, including 1,091 control ids.

    Loaded once. Raises `VocabError` if the file is damaged.
    """
    control = {_CONTROL_NAMES.get(tid, f"<|reserved_{tid}|>"): tid for tid in _CONTROL_IDS}
    return load_ranks(ranks(), RANKS_COUNT, control, "o200k_harmony", embedded_encoder(control))


def from_bytes(
    tokens: Mapping[int, bytes] | Sequence[bytes | None],
    control: Mapping[str, int],
    *,
    name: str = "",
    encode: Callable[[str], list[int]] | None = None,
) -> Vocab:
    """A vocabulary from plain data.

    tokens: the bytes of each id, as a mapping, or as a sequence indexed by id (`None`: no such id).
    control: the id of each control token by its name, such as `{"<|start|>": 200006}`. These ids need no entry in
    `tokens`. An entry that differs from the name is refused.
    encode: a function that takes ordinary text, in which nothing is a control token, and returns its ids.
    `Vocab.encode` needs it.

    Ids may have gaps and must be below 2**24. Raises `TypeError` for anything but ids, bytes and names, and
    `VocabError` for ids that are out of range or given twice.
    """
    check_text("name", name, none=False)
    check_function("encode", encode)
    return _build(tokens, control, name, None if encode is None else Pieces(control, encode))


def _build(
    tokens: Mapping[int, bytes] | Sequence[bytes | None], control: Mapping[str, int], name: str, encoder: Encoder | None
) -> Vocab:
    pairs = _pairs(tokens)
    if not isinstance(control, Mapping):
        raise TypeError(f"control must map names to ids, such as {{'<|start|>': 200006}}, not {_type(control)}")
    table: list[bytes | None] = [None] * (1 + max(pairs, default=-1))
    for tid, data in pairs.items():
        table[tid] = data
    vocab = Vocab(table, control, name, encoder)
    for marker, tid in control.items():
        if pairs.get(tid, marker.encode()) != marker.encode():
            raise VocabError(f"id {tid} is both the token {pairs[tid]!r} and the control token {marker!r}: remove one")
    return vocab


def from_tiktoken(encoding: Any) -> Vocab:
    """The vocabulary of a `tiktoken.Encoding`: its special tokens become control ids.

    If two special tokens share an id, the name to which the encoding itself decodes the id is kept.
    Raises `TypeError` for another object.
    """
    _require(encoding, "a tiktoken.Encoding", "decode_single_token_bytes", "special_tokens_set", "max_token_value")
    control = {}
    for marker in encoding.special_tokens_set:
        tid = encoding.encode_single_token(marker)
        if encoding.decode_single_token_bytes(tid) == marker.encode():
            control[marker] = tid
    reader = encoding.decode_single_token_bytes
    tokens = _read_ids(reader, range(encoding.max_token_value + 1), set(control.values()))
    return _build(tokens, control, encoding.name, Pieces(control, encoding.encode_ordinary))


def from_harmony(encoding: Any) -> Vocab:
    """The vocabulary of a `HarmonyEncoding`, from openai-harmony or from oss-harmony.

    Every id up to the highest control id is read. Raises `TypeError` for another object and `VocabError` if the
    encoding cannot give bytes.
    """
    _require(encoding, "a HarmonyEncoding, as load_harmony_encoding() returns", "special_tokens_set", "encode")
    # The Python class has no method for the bytes of an id; the native object that it wraps has.
    decode = getattr(getattr(encoding, "_inner", encoding), "decode_bytes", None)
    if decode is None:
        raise VocabError(f"{_type(encoding)} has no decode_bytes: use harmonystream.vocab.o200k_harmony() instead")
    control = {marker: _single(encoding, marker) for marker in encoding.special_tokens_set}
    ids = range(1 + max(control.values(), default=-1))
    tokens = _read_ids(lambda tid: decode([tid]), ids, set(control.values()))
    name = "o200k_harmony" if encoding.name == "HarmonyGptOss" else encoding.name
    return _build(tokens, control, name, Pieces(control, lambda text: encoding.encode(text, disallowed_special=())))


def from_tokenizers(tokenizer: Any, *, cache: str | os.PathLike[str] | None = None) -> Vocab:
    """The vocabulary of a Hugging Face tokenizer: byte-level, or sentencepiece with or without byte fallback.

    tokenizer: a `tokenizers.Tokenizer`, a fast tokenizer of transformers, the path of a `tokenizer.json` or of its
    directory, or the JSON text itself. Files and text need no package.
    cache: a directory for files named by the SHA-256 of the tokenizer.json. The next process that loads the same
    tokenizer maps the file, in milliseconds. Only trusted users may write to this directory.

    Added tokens that are marked special become control ids, all others are ordinary tokens. A piece keeps the space
    that it starts with (`▁the` is ` the`), also where the tokenizer drops it at the very beginning of a text. Raises
    `TypeError` for another object, `VocabError` for a file that cannot be read and for a tokenizer that does not keep
    bytes, and `OSError` for a cache that cannot be written.
    """
    text, origin = _tokenizer_text(tokenizer)
    name = str(getattr(tokenizer, "name_or_path", ""))
    if cache is None:
        return _from_tokenizer_json(text, origin, name)
    from .vocabs.files import cached

    return cached(cache, (text, name), lambda: _from_tokenizer_json(text, origin, name))


def _from_tokenizer_json(text: str | bytes, origin: str, name: str) -> Vocab:
    spec = _tokenizer_json(text, origin)
    try:
        tokens, control = _read_tokenizer(spec)
    except VocabError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise VocabError(f"this tokenizer.json is incomplete or damaged: {error!r}") from error
    return _build(tokens, control, name, Tokenizers(spec))


def _read_tokenizer(spec: Mapping[str, Any]) -> tuple[dict[int, bytes], dict[str, int]]:
    """The bytes of the ordinary tokens, and the ids of the special ones."""
    reader = _piece_reader(spec)
    tokens: dict[int, bytes] = {}
    for piece, tid in _model_pieces(spec["model"]):
        _check_id(tid, f"the id of {piece!r}")
        if tid in tokens:
            raise VocabError(f"id {tid} belongs to two tokens, {tokens[tid]!r} and {piece!r}")
        tokens[tid] = reader.piece(piece)
    control: dict[str, int] = {}
    for entry in spec.get("added_tokens") or ():
        content, tid = entry["content"], entry["id"]
        _check_id(tid, f"the id of {content!r}")
        tokens.pop(tid, None)  # the model may list an added token too
        if entry["special"]:
            control[content] = tid
        else:
            tokens[tid] = reader.added(content)
    return tokens, control


_ADVICE = "give the bytes of each id yourself, with harmonystream.vocab.from_bytes()"


class _ByteLevel:
    """Pieces written in GPT-2's alphabet: one printable character for each byte."""

    def __init__(self) -> None:
        printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
        others = (byte for byte in range(0x100) if byte not in printable)
        self._bytes = {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}

    def piece(self, piece: str) -> bytes:
        try:
            return bytes(self._bytes[char] for char in piece)
        except KeyError:  # the tokenizer's own decoder leaves such a piece unchanged
            return piece.encode()

    def added(self, content: str) -> bytes:
        return content.encode()  # never in the alphabet: "é" means é here, not a byte


class _Sentencepiece:
    """Pieces written as text, with `▁` for a space and, in some vocabularies, `<0xAB>` for a byte."""

    def __init__(self, spaces: str, byte_fallback: bool) -> None:
        self._spaces = spaces
        spellings = ("<0x%02X>", "<0x%02x>") if byte_fallback else ()
        self._bytes = {spelling % byte: bytes([byte]) for byte in range(0x100) for spelling in spellings}

    def piece(self, piece: str) -> bytes:
        return self._bytes.get(piece) or piece.replace(self._spaces, " ").encode()

    added = piece


def _piece_reader(spec: Mapping[str, Any]) -> _ByteLevel | _Sentencepiece:
    """A function that decodes one piece like the tokenizer's decoder."""
    steps = list(_decoder_steps(spec.get("decoder")))
    kinds = {step["type"] for step in steps}
    if "ByteLevel" in kinds and kinds <= {"ByteLevel", "Fuse"}:
        return _ByteLevel()
    spaces = [step["replacement"] for step in steps if step["type"] == "Metaspace"]
    for step in steps:
        if step["type"] == "Replace":
            if step["content"] != " " or "String" not in step["pattern"]:
                rewrites = f"{step['pattern']} as {step['content']!r}"
                raise VocabError(f"the tokenizer's decoder rewrites {rewrites}; {_ADVICE}")
            spaces.append(step["pattern"]["String"])
    if len(spaces) == 1 and kinds <= {"Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"}:
        return _Sentencepiece(spaces[0], "ByteFallback" in kinds)
    listed = ", ".join(sorted(kinds)) or "nothing"
    raise VocabError(f"the tokenizer's decoder is neither byte-level nor sentencepiece: it has {listed}; {_ADVICE}")


def _decoder_steps(decoder: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    if decoder is None:
        return
    if decoder["type"] == "Sequence":
        for step in decoder["decoders"]:
            yield from _decoder_steps(step)
    else:
        yield decoder


def _model_pieces(model: Mapping[str, Any]) -> Iterable[tuple[str, int]]:
    """Each (piece, id) of the model: a mapping in BPE files, a list of [piece, score] in unigram files."""
    vocab = model["vocab"]
    if isinstance(vocab, Mapping):
        return vocab.items()
    return [(piece, tid) for tid, (piece, _score) in enumerate(vocab)]


def _tokenizer_text(tokenizer: Any) -> tuple[str | bytes, str]:
    """The tokenizer.json, and its name in errors."""
    fast = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if hasattr(fast, "to_str"):
        return fast.to_str(), _type(tokenizer)
    if isinstance(tokenizer, str) and tokenizer.lstrip().startswith("{"):
        return tokenizer, "this text"
    if isinstance(tokenizer, (str, os.PathLike)):
        return _file_of(tokenizer)
    raise TypeError(
        "expected a tokenizers.Tokenizer, a fast tokenizer of transformers, the path of a tokenizer.json "
        f"or its text, not {_type(tokenizer)}"
    )


def _file_of(path: str | os.PathLike[str]) -> tuple[bytes, str]:
    """The contents of a tokenizer.json, and its path."""
    name = os.fspath(path)
    folder = os.path.isdir(name)
    file = os.path.join(name, "tokenizer.json") if folder else name
    try:
        with open(file, "rb") as opened:
            return opened.read(), file
    except OSError as error:
        what = f"the folder {name} has no tokenizer.json" if folder else f"there is no file {name}"
        if not isinstance(error, FileNotFoundError):
            what = f"{file}: {error.strerror or error}"
        raise VocabError(
            f"{what}: pass the path of the model's tokenizer.json, or of its folder. Nothing is downloaded here: "
            "`hf download MODEL tokenizer.json` does"
        ) from None


def _tokenizer_json(text: str | bytes, origin: str) -> Mapping[str, Any]:
    import json

    try:
        spec = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise VocabError(f"{origin} is not JSON: {error}") from error
    if not isinstance(spec, dict) or "model" not in spec:
        raise VocabError(f"{origin} is not a tokenizer.json: it has no model")
    return spec


def _pairs(tokens: Mapping[int, bytes] | Sequence[bytes | None]) -> dict[int, bytes]:
    """Each id with its bytes, checked."""
    items: Iterable[tuple[int, bytes | None]]
    if isinstance(tokens, Mapping):
        items = tokens.items()
    elif isinstance(tokens, Sequence) and not isinstance(tokens, (str, bytes, bytearray)):
        items = ((tid, data) for tid, data in enumerate(tokens) if data is not None)
    else:
        raise TypeError(f"tokens must be a mapping of ids to bytes, or a sequence of bytes, not {_type(tokens)}")
    pairs: dict[int, bytes] = {}
    for tid, data in items:
        _check_id(tid, "a token id")
        if not isinstance(data, bytes):
            raise TypeError(f"token {tid} must be bytes, not {_type(data)}")
        pairs[tid] = data
    return pairs


def _check_id(tid: Any, what: str) -> None:
    if not isinstance(tid, int) or isinstance(tid, bool):
        raise TypeError(f"{what} must be an int, not {_type(tid)}")
    if not 0 <= tid < MAX_IDS:
        raise VocabError(f"{what} must be in 0..{MAX_IDS - 1}, not {tid}")


def _read_ids(reader: Any, ids: range, skip: set[int]) -> list[bytes | None]:
    """The bytes of each id. `None` if the reader does not know the id."""
    tokens: list[bytes | None] = []
    for tid in ids:
        try:
            tokens.append(None if tid in skip else reader(tid))
        except (KeyError, RuntimeError):  # how tiktoken and openai-harmony refuse an id that they lack
            tokens.append(None)
    return tokens


def _single(encoding: Any, marker: str) -> int:
    ids = encoding.encode(marker, allowed_special="all")
    if len(ids) != 1:
        raise VocabError(f"the encoding lists {marker!r} as a special token and encodes it as {ids}")
    tid: int = ids[0]
    return tid


def _require(value: Any, what: str, *attributes: str) -> None:
    if not all(hasattr(value, attribute) for attribute in attributes):
        raise TypeError(f"expected {what}, not {_type(value)}")


def _type(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def __dir__() -> list[str]:
    return sorted(__all__)
