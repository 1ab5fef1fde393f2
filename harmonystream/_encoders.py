"""The encoders that `Vocab.encode` uses. The packages that do the work are imported at the first call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol
from zlib import crc32

from .errors import VocabError, missing_extra

__all__ = ["Encoder", "Pieces", "Ranks", "Saved", "Tokenizers"]

# How o200k_base cuts a text into the pieces within which bytes are merged. It belongs to the encoding as the ranks do.
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
"""Characters of white space that are encoded at once. tiktoken panics where a run is some hundred thousand long."""
_LONG_SPACE = re.compile(rf"(?<!\s)\s{{{LONGEST_SPACE},}}")


class Encoder(Protocol):
    """Turns a text into ids."""

    @property
    def markers(self) -> Mapping[str, int]:
        """The texts that `marked` turns into one id: control tokens, and tokens added to the model's own."""

    def ordinary(self, text: str) -> list[int]:
        """The ids of a text in which nothing is a marker."""

    def marked(self, text: str) -> list[int]:
        """The ids of a text in which every spelled marker is one."""

    def saved(self) -> bytes:
        """What a `Saved` reads; empty if it cannot be written to a file."""


def without_surrogates(text: str) -> str:
    """The text with each lone surrogate as U+FFFD: no encoder takes one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Pieces:
    """An encoder made of a function that encodes ordinary text: a marked text is cut at its markers."""

    def __init__(self, markers: Mapping[str, int], ordinary: Callable[[str], list[int]]) -> None:
        self.markers = dict(markers)
        self._ordinary = ordinary

    @cached_property
    def _cut(self) -> re.Pattern[str]:
        longest_first = sorted(filter(None, self.markers), key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")

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

    def saved(self) -> bytes:
        return b""  # a function


class Ranks(Pieces):
    """tiktoken over tokens in the order of their ranks.

    Building the encoding takes most of a second, so the first text pays for it.
    """

    def __init__(self, markers: Mapping[str, int], read: Callable[[], list[bytes]], pattern: str, name: str) -> None:
        super().__init__(markers, self._first)
        self._read, self._pattern, self._name = read, pattern, name

    def _first(self, text: str) -> list[int]:
        self._ordinary = self._encoding().encode_ordinary
        return self._ordinary(text)

    def ordinary(self, text: str) -> list[int]:
        if len(text) < LONGEST_SPACE or _LONG_SPACE.search(text) is None:
            return super().ordinary(text)
        ids: list[int] = []
        at = 0
        for run in _LONG_SPACE.finditer(text):
            for cut in range(run.start() + LONGEST_SPACE, run.end() + 1, LONGEST_SPACE):
                ids += super().ordinary(text[at:cut])
                at = cut
        return ids + super().ordinary(text[at:])

    def saved(self) -> bytes:
        return EMBEDDED

    def _encoding(self) -> Any:
        tiktoken = required("tiktoken", "tiktoken")
        ranks = {token: rank for rank, token in enumerate(self._read())}
        return tiktoken.Encoding(
            self._name, pat_str=self._pattern, mergeable_ranks=ranks, special_tokens=dict(self.markers)
        )


class Tokenizers:
    """A `tokenizer.json`: the file as it is for marked text, and a copy without its markers for ordinary text."""

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
        """The ids of added tokens by those that the copy gives them: without the markers it may number them anew."""
        ids = ((self._bare.token_to_id(entry["content"]), entry["id"]) for entry in self._unmarked)
        return {bare: given for bare, given in ids if bare != given}

    def _encoded(self, text: str) -> list[int]:
        ids = _ids_of(self._bare, text)
        return [self._given.get(tid, tid) for tid in ids] if self._given else ids

    @cached_property
    def _ids(self) -> frozenset[int]:
        return frozenset(self.markers.values())

    def ordinary(self, text: str) -> list[int]:
        text = without_surrogates(text)
        ids = self._encoded(text)
        if self._ids.isdisjoint(ids):
            return ids
        # The model itself knows a marker's spelling (unigram models may): cut within each, so that it cannot be met.
        first = {name[0] for name in self.markers if name}
        ids = []
        for piece in re.split(f"(?<=[{re.escape(''.join(sorted(first)))}])", text):
            ids += self._encoded(piece)
        if not self._ids.isdisjoint(ids):
            raise VocabError("this tokenizer makes a marker of a single character: its text cannot be encoded safely")
        return ids

    def marked(self, text: str) -> list[int]:
        return _ids_of(self._whole, without_surrogates(text))

    def saved(self) -> bytes:
        import json

        return json.dumps(self._spec).encode()


EMBEDDED = b"o200k_harmony"
"""What is saved of the embedded vocabulary's encoder: it is in this package."""


class Saved:
    """The encoder of a vocabulary file, read when the first text comes."""

    def __init__(self, markers: Mapping[str, int], data: memoryview, checksum: int) -> None:
        self._control, self._data, self._checksum = markers, data, checksum

    @cached_property
    def _encoder(self) -> Encoder:
        import json

        if crc32(self._data) != self._checksum:
            raise VocabError("this vocabulary file is damaged where the tokenizer is: save it again")
        if self._data == EMBEDDED:
            from .vocab import embedded_encoder

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

    def saved(self) -> bytes:
        return bytes(self._data)


def _ids_of(tokenizer: Any, text: str) -> list[int]:
    """Without the GIL, which `encode` holds: a long text would stop all other threads for seconds."""
    ids: list[int] = tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids
    return ids


def _is_marker(entry: Mapping[str, Any]) -> bool:
    """Special tokens are, and `<think>` or `/nothink`. Runs of spaces and rare letters in some files are not."""
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
