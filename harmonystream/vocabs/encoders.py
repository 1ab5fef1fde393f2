"""The encoders of `Vocab.encode`. The packages that they need are imported at the first call."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol
from zlib import crc32

from ..errors import VocabError, missing_extra
from ..surrogates import without_surrogates
from .spellings import any_of

__all__ = ["RANKS_COUNT", "Encoder", "Pieces", "Ranks", "Saved", "Tokenizers", "embedded_encoder", "ranks"]

# How o200k_base cuts a text into the pieces within which bytes are merged. It is a part of the encoding, like the
# ranks.
O200K_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


LONGEST_SPACE = 8192
"""How many characters of white space are encoded at once. tiktoken panics at runs of some hundred thousand."""
_LONG_SPACE = re.compile(rf"(?<!\s)\s{{{LONGEST_SPACE},}}")
PIECE = 1 << 15
"""About how many characters of a long text are encoded at once. Each call makes a list while it holds the GIL."""
_ENDS = re.compile(
    r"(?<=[A-Za-z0-9\u0400-\u04ff\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3])"
    r"(?=[ \t\r\n,.;:!?()\[\]{}<>\"=+*/|\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f])|(?<=[A-Za-z])(?=[0-9])"
)
"""Places at which `O200K_PATTERN` cuts whatever stands around: after a letter or digit, before what cannot go on."""


class Encoder(Protocol):
    """Converts text to ids."""

    @property
    def markers(self) -> Mapping[str, int]:
        """The strings that `marked` turns into one id: control tokens, and tokens added to the model's own."""

    def ordinary(self, text: str) -> list[int]:
        """The ids of a text in which nothing counts as a marker."""

    def marked(self, text: str) -> list[int]:
        """The ids of a text in which every spelled marker counts as one."""

    def ordinary_many(self, texts: Sequence[str]) -> list[array[int]]:
        """The ids of each text as by `ordinary`, in arrays of uint32."""

    def marked_many(self, texts: Sequence[str]) -> list[array[int]]:
        """The ids of each text as by `marked`, in arrays of uint32."""

    def saved(self) -> bytes:
        """The bytes that a `Saved` reads. Empty if the encoder cannot be written to a file."""


class Pieces:
    """An encoder that uses a function for ordinary text. Marked text is cut at its markers."""

    def __init__(self, markers: Mapping[str, int], ordinary: Callable[[str], list[int]]) -> None:
        self.markers = dict(markers)
        self._ordinary = ordinary

    @cached_property
    def _cut(self) -> re.Pattern[str]:
        return re.compile(f"({any_of(self.markers)})")

    def ordinary(self, text: str) -> list[int]:
        return list(self._ordinary(without_surrogates(text))) if text else []

    def marked(self, text: str) -> list[int]:
        ids: list[int] = []
        for i, piece in enumerate(self._cut.split(text)):
            if i % 2:
                ids.append(self.markers[piece])
            elif piece:
                ids += self.ordinary(piece)
        return ids

    def ordinary_many(self, texts: Sequence[str]) -> list[array[int]]:
        return _packed(map(self.ordinary, texts))

    def marked_many(self, texts: Sequence[str]) -> list[array[int]]:
        return _packed(map(self.marked, texts))

    def saved(self) -> bytes:
        return b""  # a function cannot be saved


class Ranks(Pieces):
    """tiktoken over tokens in the order of their ranks.

    Building the encoding takes most of a second, and happens at the first text.
    """

    def __init__(self, markers: Mapping[str, int], read: Callable[[], list[bytes]], pattern: str, name: str) -> None:
        super().__init__(markers, self._first)
        self._read, self._pattern, self._name = read, pattern, name

    def _first(self, text: str) -> list[int]:
        self._ordinary = self._encoding.encode_ordinary
        return self._ordinary(text)

    def ordinary(self, text: str) -> list[int]:
        if len(text) < LONGEST_SPACE:
            return super().ordinary(text)
        ids: list[int] = []
        for piece in _pieces(text):
            # A long run of white space has one of these characters. The expression is only used then, because it takes
            # longer.
            if any(map(str.isspace, piece[LONGEST_SPACE - 1 :: LONGEST_SPACE])):
                ids += self._with_long_spaces(piece)
            else:
                ids += super().ordinary(piece)
        return ids

    def _with_long_spaces(self, text: str) -> list[int]:
        ids: list[int] = []
        at = 0
        for run in _LONG_SPACE.finditer(text):
            for cut in range(run.start() + LONGEST_SPACE, run.end() + 1, LONGEST_SPACE):
                ids += super().ordinary(text[at:cut])
                at = cut
        return ids + super().ordinary(text[at:])

    @cached_property
    def _seam(self) -> tuple[str, bytes]:
        """A marker, and its id as bytes without a zero among the first three.

        Ids have fewer than 25 bits, so their last byte is zero: in the bytes of ids this id is found at its place only.
        """
        return next(
            (name, data) for name, tid in self.markers.items() if (data := array("I", (tid,)).tobytes()).count(0) == 1
        )

    def ordinary_many(self, texts: Sequence[str]) -> list[array[int]]:
        """Encode all texts at once, without the GIL, with a marker between them.

        Texts that contain this marker, and very long texts, are encoded separately.
        """
        name, between = self._seam
        plain = [text for text in texts if len(text) < LONGEST_SPACE and name not in text]
        if not plain:
            return super().ordinary_many(texts)
        found = map(_of_bytes, self._encoded(without_surrogates(name.join(plain)), name).split(between))
        if len(plain) == len(texts):
            return list(found)
        return [
            next(found) if len(text) < LONGEST_SPACE and name not in text else array("I", self.ordinary(text))
            for text in texts
        ]

    def _encoded(self, text: str, marker: str) -> bytes:
        """The ids as bytes, of uint32. With numpy, no Python object is made for an id."""
        options: Any = {"allowed_special": {marker}, "disallowed_special": ()}
        try:
            return bytes(self._encoding.encode_to_numpy(text, **options).tobytes())
        except ImportError:
            return array("I", self._encoding.encode(text, **options)).tobytes()

    def saved(self) -> bytes:
        return EMBEDDED

    @cached_property
    def _encoding(self) -> Any:
        tiktoken = required("tiktoken", "tiktoken")
        ranks = {token: rank for rank, token in enumerate(self._read())}
        return tiktoken.Encoding(
            self._name, pat_str=self._pattern, mergeable_ranks=ranks, special_tokens=dict(self.markers)
        )


def _pieces(text: str) -> Iterator[str]:
    """A long text in pieces, cut only where the encoding also cuts it."""
    start, at = 0, PIECE
    while at < len(text):
        found = _ENDS.search(text, at, at + PIECE)  # not more at once, so that other threads can run
        at += PIECE
        if found is not None:
            yield text[start : found.start()]
            start, at = found.start(), found.start() + PIECE
    yield text[start:]


class Tokenizers:
    """A `tokenizer.json`: the unchanged file for marked text, and a copy without its markers for ordinary text."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._spec = spec
        self.markers = {entry["content"]: entry["id"] for entry in spec.get("added_tokens") or () if _is_marker(entry)}

    @cached_property
    def _whole(self) -> Any:
        return _tokenizer(self._spec)

    @cached_property
    def _bare(self) -> Any:
        return _tokenizer({**self._spec, "added_tokens": self._unmarked})

    @cached_property
    def _unmarked(self) -> list[Mapping[str, Any]]:
        return [entry for entry in self._spec.get("added_tokens") or () if entry["content"] not in self.markers]

    @cached_property
    def _given(self) -> dict[int, int]:
        """The original ids of added tokens, by their ids in the copy. Without the markers, it may number them anew."""
        ids = ((self._bare.token_to_id(entry["content"]), entry["id"]) for entry in self._unmarked)
        return {bare: given for bare, given in ids if bare != given}

    def _renumbered(self, ids: list[int]) -> list[int]:
        return [self._given.get(tid, tid) for tid in ids] if self._given else ids

    @cached_property
    def _ids(self) -> frozenset[int]:
        return frozenset(self.markers.values())

    def ordinary(self, text: str) -> list[int]:
        text = without_surrogates(text)
        return self._kept(_ids_of(self._bare, text), text)

    def _kept(self, ids: list[int], text: str) -> list[int]:
        """The ids of a text that the copy has encoded."""
        ids = self._renumbered(ids)
        if self._ids.isdisjoint(ids):
            return ids
        # The model itself may know a marker's spelling (unigram models do). Cut within each one, so that it cannot
        # match.
        first = {name[0] for name in self.markers if name}
        ids = []
        for piece in re.split(f"(?<=[{re.escape(''.join(sorted(first)))}])", without_surrogates(text)):
            ids += self._renumbered(_ids_of(self._bare, piece))
        if not self._ids.isdisjoint(ids):
            raise VocabError("this tokenizer makes a marker of a single character: its text cannot be encoded safely")
        return ids

    def marked(self, text: str) -> list[int]:
        return _ids_of(self._whole, without_surrogates(text))

    def ordinary_many(self, texts: Sequence[str]) -> list[array[int]]:
        found = _batch(self._bare, list(map(without_surrogates, texts)))
        return _packed(self._kept(ids, text) for ids, text in zip(found, texts))

    def marked_many(self, texts: Sequence[str]) -> list[array[int]]:
        return _packed(_batch(self._whole, list(map(without_surrogates, texts))))

    def saved(self) -> bytes:
        import json

        return json.dumps(self._spec).encode()


EMBEDDED = b"o200k_harmony"
"""What is saved of the embedded vocabulary's encoder: it is in this package."""
_RANKS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "o200k_base.tokens")
RANKS_COUNT = 199_998
_RANKS_BYTES = 6 * RANKS_COUNT


class Saved:
    """The encoder of a vocabulary file. It is read at the first text."""

    def __init__(self, markers: Mapping[str, int], data: memoryview, checksum: int) -> None:
        self._control, self._data, self._checksum = markers, data, checksum

    @cached_property
    def _encoder(self) -> Encoder:
        import json

        if crc32(self._data) != self._checksum:
            raise VocabError("this vocabulary file is damaged where the tokenizer is: save it again")
        if self._data == EMBEDDED:
            return embedded_encoder(self._control)
        try:
            return Tokenizers(json.loads(bytes(self._data)))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise VocabError(f"the tokenizer of this vocabulary file cannot be read: {error!r}") from error

    @property
    def markers(self) -> Mapping[str, int]:
        return self._encoder.markers

    def ordinary(self, text: str) -> list[int]:
        return self._encoder.ordinary(text)

    def marked(self, text: str) -> list[int]:
        return self._encoder.marked(text)

    def ordinary_many(self, texts: Sequence[str]) -> list[array[int]]:
        return self._encoder.ordinary_many(texts)

    def marked_many(self, texts: Sequence[str]) -> list[array[int]]:
        return self._encoder.marked_many(texts)

    def saved(self) -> bytes:
        return bytes(self._data)


def _ids_of(tokenizer: Any, text: str) -> list[int]:
    return next(_batch(tokenizer, [text]))


def _batch(tokenizer: Any, texts: list[str]) -> Iterator[list[int]]:
    """Encode without the GIL. `encode` holds it, so a long text would stop all other threads for seconds."""
    return (made.ids for made in tokenizer.encode_batch_fast(texts, add_special_tokens=False))


def _packed(many: Iterable[list[int]]) -> list[array[int]]:
    return [array("I", ids) for ids in many]


def _of_bytes(data: bytes) -> array[int]:
    return array("I", data)


def _is_marker(entry: Mapping[str, Any]) -> bool:
    """Special tokens are markers, and so are `<think>` or `/nothink`. Runs of spaces and rare letters in some files are
    not.
    """
    content = entry["content"]
    return bool(entry["special"] or (any(map(str.isalpha, content)) and not content.isalpha()))


def _tokenizer(spec: Mapping[str, Any]) -> Any:
    import json

    tokenizer = required("tokenizers", "tokenizers").Tokenizer.from_str(json.dumps(spec))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def required(module: str, extra: str) -> Any:
    """An optional package, imported now. Raises `ImportError` with the command that installs it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise missing_extra(extra, error) from error


# --- the encoder that comes with the package ---


def embedded_encoder(control: Mapping[str, int]) -> Encoder:
    return Ranks(control, _tokens, O200K_PATTERN, "o200k_harmony")


def ranks() -> bytes:
    """The data of o200k_base, as `load_ranks` reads it."""
    with open(_RANKS, "rb") as file:
        data = file.read()
    if len(data) != _RANKS_BYTES:
        raise VocabError(f"{_RANKS} has {len(data)} bytes instead of {_RANKS_BYTES}: reinstall harmonystream")
    return data


def _tokens() -> list[bytes]:
    """The ordinary tokens in the order of their ranks."""
    from .._native.core.ranks import load_ranks

    return list(map(load_ranks(ranks(), RANKS_COUNT, {}).token_bytes, range(RANKS_COUNT)))
