from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import final

from typing_extensions import Self

from harmonystream.formats.spec import Format, HeaderFormat

from ..._encoders import Encoder

DEBUG: bool
__pyx_capi__: dict[str, object]

@final
class Vocab:
    """A vocabulary: id -> bytes, and control ids by name. Immutable; share it between threads. Usually made by a loader in
    `vocab`.

    tokens[i] is the bytes of id i, or None where there is no such id; control maps names to ids.
    encoder is what encode() asks, an Encoder of _encoders.py; loaders pass it.
    Raises TypeError for what is not bytes or int, VocabError for ids that are out of range or given twice.
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
        """Write it to a file, which load() maps: a few milliseconds instead of a second. An old file is replaced.

        A text's ids need the tokenizer, too: that of from_tokenizers() is saved with it, and that of a function is not.
        Raises OSError if the file cannot be written.
        """
    @staticmethod
    def load(path: str | PathLike[str], *, encode: Callable[[str], list[int]] | None = None) -> Vocab:
        """The vocabulary in a file that save() wrote. It is mapped, so all processes that load it share its memory.

        encode: gives the ids of an ordinary text, as from_bytes() has it; None: what was saved. What was loaded is
        pickled as its path. Raises VocabError for a file that is damaged, truncated or none of ours, and OSError if it
        cannot be read. Replace a file with save(): one that is written to while it is mapped makes processes crash.
        """
    def encode(self, text: str, *, control: bool = False) -> list[int]:
        """The ids of a text, as a list.

        By default the whole text is ordinary: a control token that is spelled in it never becomes a control id. With
        control=True each spelled control token becomes its id, as in a prompt that a template has rendered.
        Raises VocabError if the vocabulary was loaded from something that cannot encode, and ImportError if the package
        that encodes (tiktoken or tokenizers) is not installed.
        """
    @property
    def markers(self) -> dict[str, int]:
        """What encode(control=True) takes for one token, with its id: control tokens, and added tokens such as <think>."""
    @property
    def name(self) -> str: ...
    @property
    def control(self) -> dict[str, int]:
        """Control names -> ids (a new dict)."""
    @property
    def fingerprint(self) -> int:
        """64 bits that tell this vocabulary from others: the ids, their bytes and flags."""
    def token_bytes(self, tid: int, /) -> bytes:
        """The bytes of an id; a control id has its name. KeyError for an id that does not exist."""
    def missing(self, format: str | Format | HeaderFormat, /) -> tuple[str, ...]:
        """The markers of this format, a name or a row, that are no id here, as a tuple of spellings; () if nothing is
        missing.

        Looked for are the control tokens that Harmony needs, and in other formats the stops and, if its markers are
        control tokens, these. Of a marker with several spellings, one is enough. Raises FormatError for an unknown
        name.
        """
    def is_control(self, tid: int, /) -> bool:
        """Is it a control id?"""
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
