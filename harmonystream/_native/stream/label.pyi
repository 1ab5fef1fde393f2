from collections.abc import Iterable
from typing import SupportsIndex, TypeVar, overload

from typing_extensions import Buffer

from harmonystream._native.core.tools import _Tools
from harmonystream._native.core.vocab import Vocab
from harmonystream._native.stream.arrow_in import Rows
from harmonystream._native.stream.parser import Parser, _Ids
from harmonystream.formats.spec import Format, HeaderFormat

DEBUG: bool

_Out = TypeVar("_Out", bound=Buffer)

@overload
def label(
    ids: _Ids,
    format: str | Format | HeaderFormat = "harmony",
    vocab: Vocab | None = None,
    *,
    tools: _Tools | None = None,
    start: str = "auto",
    prompt: str | bytes | _Ids | None = None,
    conversation: bool = False,
    offsets: Iterable[SupportsIndex] | Buffer | None = None,
    out: None = None,
) -> bytes:
    """One byte per token, its `Region`, for loss masks and counts. Releases the GIL. Header text that turns out to be a
    body counts as it.

    format, vocab, tools, start, prompt: as Parser has them. conversation: the ids are a whole rendered conversation;
    what is not the assistant's is SUPPRESSED, and so, in formats with tags, is the marker of its turn, which the
    template writes.
    offsets: the ids are many rows, `ids[offsets[i]:offsets[i + 1]]`, each a stream of its own. out: a writable buffer
    of len(ids) bytes that gets the labels, and is returned; None: new bytes.

    Raises what Parser() and feed() raise, never ParseError; ValueError for offsets that do not cover the ids, for an
    `out` of another size, and for a conversation in a format without turns; VocabError if the vocabulary has none of
    them.
    """

@overload
def label(
    ids: _Ids,
    format: str | Format | HeaderFormat = "harmony",
    vocab: Vocab | None = None,
    *,
    tools: _Tools | None = None,
    start: str = "auto",
    prompt: str | bytes | _Ids | None = None,
    conversation: bool = False,
    offsets: Iterable[SupportsIndex] | Buffer | None = None,
    out: _Out,
) -> _Out: ...
def labeller_of(
    format: str | Format | HeaderFormat, vocab: Vocab | None, tools: _Tools | None, start: str, conversation: bool
) -> Parser:
    """The parser that label_rows_of() copies."""

def label_rows_of(parser: Parser, rows: Rows, begin: int, stop: int, conversation: bool) -> tuple[bytes, bytes, bytes]:
    """Label the rows begin .. stop of a column of ids, without the GIL: the labels, where each row's end (int64), and
    a byte for each row, 0 if it is null or has an invalid id. Such a row has no labels.
    """
