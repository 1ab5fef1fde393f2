"""label_many(): converts a column of ids to a column of their regions, for Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .._native.core.vocab import Vocab
from .._native.stream.arrow_in import rows_of
from .._native.stream.arrow_out import Node
from .._native.stream.label import label_rows_of, labeller_of
from .._native.stream.many import bits, joined_ends
from ..formats import Format, HeaderFormat
from .outputs import Parsed, each, spans

__all__ = ["label_many"]


def label_many(
    column: Any,
    format: str | Format | HeaderFormat = "harmony",
    vocab: Vocab | None = None,
    *,
    tools: Iterable[Any] | None = None,
    start: str = "auto",
    conversation: bool = False,
    threads: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Parsed:
    """Label a column of whole outputs, or of conversations: for each row a list of its tokens' `Region`s, as uint8.

    column: ids, as in `parse_many`.
    format, vocab, tools, start, conversation: as in `label`.
    threads, progress: as in `parse_many`.

    A row that is null, or has an invalid id, is null. Raises what `label` and `parse_many` raise for their
    arguments.
    """
    parser = labeller_of(format, vocab, tools, start, conversation)
    chunks = rows_of(column)
    total, done = sum(map(len, chunks)), 0
    pieces = []
    for piece, count in each(
        lambda span: label_rows_of(parser, span.rows, span.begin, span.stop, conversation), spans(chunks), threads
    ):
        pieces.append(piece)
        done += count
        if progress is not None:
            progress(done, total)
    labels = b"".join([piece[0] for piece in pieces])
    ends = joined_ends([(piece[1], len(piece[0])) for piece in pieces])
    valid, missing = bits(b"".join([piece[2] for piece in pieces]))
    item = Node(b"C", "item", len(labels), (None, labels))
    return Parsed(Node(b"+L", "", total, (valid if missing else None, ends), (item,), missing))
