"""Reads conversations from Python's lists, JSON texts, or Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ..errors import PromptError
from ..prompt.messages import read_request
from ..prompt.tool_definitions import chat_tools

__all__ = ["CHUNK", "Conversation", "conversation_of", "in_chunks"]

CHUNK = 256
"""How many rows a thread takes at a time."""


class Conversation(NamedTuple):
    """messages: as `render` takes them. tools: as `chat_tools` returns them. None: the tools of all rows."""

    messages: Any
    tools: list[dict[str, Any]] | None


def conversation_of(row: Any) -> Conversation:
    """A row: messages, or a mapping with `messages` and perhaps `tools`, or either of them as JSON.

    Raises `PromptError` for anything else.
    """
    if row is None:
        raise PromptError("the row is null")
    if isinstance(row, (str, bytes)):
        row = _json(row, "the row")
    if not isinstance(row, Mapping):
        return Conversation(row, None)
    if isinstance(row.get("messages"), str):
        row = {**row, "messages": _json(row["messages"], "messages")}
    if isinstance(row.get("tools"), str):
        row = {**row, "tools": _json(row["tools"], "tools")}
    if row.get("messages") is None and row.get("input") is None:
        raise PromptError(f"the row has no messages, but {', '.join(map(str, row)) or 'nothing'}")
    messages, tools, _ = read_request(row)
    return Conversation(messages, None if tools is None else chat_tools(tools))


def _json(text: str | bytes, what: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:  # its own text counts lines from the row, and not from the file
        raise PromptError(f"{what} is not JSON: {error.msg} at character {error.pos}") from None
    except (ValueError, RecursionError) as error:
        raise PromptError(f"{what} is not JSON: {error}") from None


def in_chunks(conversations: Any) -> Iterator[list[Any]]:
    """The rows, at most `CHUNK` at a time. Each chunk is read on demand. Blank lines of a file are not rows.

    Raises TypeError for a str or a mapping, which is one conversation, and for anything that is not iterable.
    """
    if hasattr(conversations, "__arrow_c_stream__") or hasattr(conversations, "__arrow_c_array__"):
        return _of_arrow(conversations)
    if isinstance(conversations, (str, bytes, Mapping)) or not isinstance(conversations, Iterable):
        kind = type(conversations).__name__
        what = (
            "conversations are a list of conversations, an Arrow column or table of them, record batches, or an open "
            "file of JSON lines"
        )
        raise TypeError(f"{what}, not {kind}")
    if hasattr(conversations, "readline"):
        return _of_iterable(line for line in conversations if line.strip())
    return _of_iterable(conversations)


def _of_iterable(rows: Iterable[Any]) -> Iterator[list[Any]]:
    one_by_one = iter(rows)
    for first in one_by_one:
        if hasattr(first, "__arrow_c_array__"):  # a record batch, as a Parquet file gives them
            yield from _of_arrow(first)
        else:
            yield [first, *islice(one_by_one, CHUNK - 1)]


def _of_arrow(column: Any) -> Iterator[list[Any]]:
    try:
        import pyarrow as arrow
    except ImportError as error:
        raise ImportError("conversations in Arrow are read with pyarrow: run `pip install pyarrow`") from error
    if not hasattr(column, "__arrow_c_stream__"):
        parts: Iterable[Any] = [arrow.array(column)]
    else:
        try:
            parts = arrow.RecordBatchReader.from_stream(column)  # a table, or a stream of one
        except (TypeError, ValueError):
            parts = arrow.chunked_array(column).chunks
    for part in parts:
        for at in range(0, len(part), CHUNK):
            yield [_without_nulls(row) for row in part.slice(at, CHUNK).to_pylist()]


def _without_nulls(value: Any) -> Any:
    """The same without null fields. All structs of a column have the same fields, so most fields are null."""
    if isinstance(value, dict):
        return {key: _without_nulls(field) for key, field in value.items() if field is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
