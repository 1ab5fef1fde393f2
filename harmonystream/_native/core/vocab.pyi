from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import final

from typing_extensions import Self

from harmonystream.formats.spec import Format, HeaderFormat

from ...vocabs.encoders import Encoder

DEBUG: bool
__pyx_capi__: dict[str, object]

@final
class Vocab:
    """A vocabulary: id -> bytes, and control ids by name. Immutable; share it between threads. Usually made by a loader in
    `vocab`.

    tokens: the bytes of each id, or None where there is no such id.
    control: names -> ids.
    encoder: an Encoder of vocabs/encoders.py, which encode() calls. Loaders pass it.

    Raises TypeError for tokens that are not bytes and ids that are not int, VocabError for ids that are out of range or
    given twice.
    """
    def __new__(
        cls,
        tokens: Sequence[bytes | None],
        control: Mapping[str, int],
        name: str = "",
        encoder: Encoder | None = None,
    ) -> Self: ...
    @property
    def path(self) -> str | None: ...
    def save(self, path: str | PathLike[str]) -> None:
        """Writes a file that load() maps in a few milliseconds. An old file is replaced.

        The tokenizer that encode() needs is saved, too, unless it is a function of the caller. Raises OSError if the
        file cannot be written.
        """
    @staticmethod
    def load(path: str | PathLike[str], *, encode: Callable[[str], list[int]] | None = None) -> Vocab:
        """The vocabulary in a file that save() wrote. It is mapped, so all processes that load it share its memory.

        encode: a function from an ordinary text to its ids, as in from_bytes(). None: the saved tokenizer.

        A loaded vocabulary is pickled as its path. Raises VocabError for a file that is damaged, truncated or not
        written by save(), and OSError if it cannot be read. Replace a file with save() only. A process crashes if its
        mapped file is written to.
        """
    def encode(self, text: str, *, control: bool = False) -> list[int]:
        """The ids of a text, as a list.

        By default the whole text is ordinary: a control token that is spelled in it never becomes a control id. With
        control=True each spelled control token becomes its id, as in a prompt that a template has rendered.
        Raises VocabError if the vocabulary was loaded from something that cannot encode, and ImportError if the package
        that encodes (tiktoken or tokenizers) is not installed.
        """
    def encode_many(self, texts: Sequence[str], *, control: bool = False) -> list[array[int]]:
        """What encode() gives for each text of a list, as a list of arrays of uint32 (array.array).

        It is faster than many calls, and lets go of the GIL while tiktoken or tokenizers encode.
        Raises what encode() raises.
        """
    @property
    def markers(self) -> dict[str, int]:
        """The spellings that encode(control=True) reads as one token, with their ids: control and added tokens."""
    @property
    def name(self) -> str: ...
    @property
    def control(self) -> dict[str, int]:
        """Control names -> ids (a new dict)."""
    @property
    def fingerprint(self) -> int:
        """A hash of 64 bits over the ids, their bytes and flags."""
    def token_bytes(self, tid: int, /) -> bytes:
        """The bytes of an id; for a control id, its name. Raises KeyError for an id that does not exist."""
    def decode(self, ids: Iterable[int], /) -> str:
        """The text of ids. A control id is its name. What is not UTF-8 is U+FFFD. Raises what token_bytes() raises."""
    def missing(self, format: str | Format | HeaderFormat, /) -> tuple[str, ...]:
        """The markers that this format needs and this vocabulary does not have as ids, as a tuple of spellings.

        format: a name or a row. Harmony needs its control tokens. Other formats need their stops and, if their markers
        are control tokens, all markers; of a marker that goes on after such a token, the token. Of a marker with
        several spellings, one is enough. Raises FormatError for an unknown name.
        """
    def is_control(self, tid: int, /) -> bool:
        """Is it a control id?"""
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
