"""render_many(): converts a column of conversations to columns of ids and loss masks."""

from __future__ import annotations

import datetime
import os
from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar

from .._native.core.vocab import Vocab
from .._native.stream.arrow_in import rows_of
from .._native.stream.arrow_out import Node
from .._native.stream.label import label_rows_of, labeller_of
from .._native.stream.many import bits, joined_ends
from .._native.stream.parser import Parser
from ..checks import check_names, shown
from ..errors import PromptError
from ..formats import Format, HeaderFormat
from ..prompt.messages import normalize
from ..prompt.rendering import Draft, PromptWriter, prompt_writer
from ..prompt.template import Template
from ..prompt.tool_definitions import chat_tools
from ..regions import Region
from ..surrogates import without_surrogates
from .chunks import ParsedChunks
from .conversations import conversation_of, in_chunks
from .messages import NO_MESSAGE, Span, spans_of
from .outputs import Parsed
from .turns import NO_MARKS, TurnMarks, turn_marks, turns_after_results

__all__ = ["FIELDS", "TRAINED", "render_chunks", "render_many"]

FIELDS = ("ids", "labels", "mask", "messages", "text", "error")
TRAINED = (Region.HEADER, Region.REASONING, Region.CONTENT, Region.ARGUMENTS)
"""Everything that the assistant writes."""

_LABELLED = {"labels", "mask", "messages"}
_ROLES = {"system", "developer", "user", "assistant", "tool"}
_Given = TypeVar("_Given")
_Made = TypeVar("_Made")


def render_many(
    conversations: Any,
    *,
    tools: Any = None,
    model: str | None = None,
    format: str | Format | HeaderFormat | None = None,
    template: str | os.PathLike[str] | Template | None = None,
    vocab: Any = None,
    training: bool = True,
    fields: Sequence[str] = ("ids", "error"),
    regions: Collection[Region] = TRAINED,
    roles: Collection[str] = ("assistant",),
    threads: int = 0,
    progress: Callable[[int, int | None], object] | None = None,
    reasoning: str | None = None,
    thinking: bool | None = None,
    date: datetime.date | str | None = "today",
    dialect: str | None = None,
    **more: Any,
) -> Parsed:
    """Renders many conversations into Arrow. The ids are those of `render`, and masks mark the ids to learn.

    conversations: any iterable of rows, such as an open file of JSON lines (blank lines are skipped), or an Arrow
        column, table or stream (read with pyarrow). A row is a list of messages, a mapping with `messages` and perhaps
        its own `tools`, as in a file for OpenAI's fine-tuning, or the JSON of either.
    training: the whole conversation, for training. False: a prompt, with the beginning of the assistant's turn.
    tools, model, format, template, vocab and all other options: as in `render`, for all rows.
    fields: which columns to make, of
        "ids": a list of int32;
        "labels": a list of uint8, each token's `Region`; what the assistant did not write is SUPPRESSED;
        "mask": a list of uint8, 1 for what is learned;
        "messages": a list of int32, the number of the message that a token belongs to, counted as `normalize` returns
            them; -1 for none. In formats with tags, only the assistant's messages have numbers;
        "text": the prompt as a string;
        "error": why the row has no ids, or no mask, as a string; otherwise null.
    regions: which of the assistant's tokens are learned, for "mask". roles: whose messages are learned. In Harmony,
        other roles are possible, too. A message with `"weight": 0` is not learned.
    threads: how many chunks of rows are rendered at the same time. Tokenizers run without the GIL. 0: one per core.
    progress: called after each chunk with the number of finished rows and of all rows. The latter is None if
        `conversations` has no length, such as a file.

    If a row cannot be rendered, all its columns are null except its error. Raises what `render` raises for its options,
    and ValueError for unknown fields and roles, or for labels in a format without turns.
    """
    plan = _plan(
        tools,
        fields,
        regions,
        roles,
        model=model,
        format=format,
        template=template,
        vocab=vocab,
        reasoning=reasoning,
        thinking=thinking,
        date=date,
        dialect=dialect,
        training=training,
        **more,
    )
    pieces = list(_counted(in_order(plan.chunk, in_chunks(conversations), threads), conversations, progress))
    return _table(pieces, fields)


def render_chunks(
    conversations: Any,
    *,
    tools: Any = None,
    fields: Sequence[str] = ("ids", "error"),
    regions: Collection[Region] = TRAINED,
    roles: Collection[str] = ("assistant",),
    training: bool = True,
    threads: int = 0,
    progress: Callable[[int, int | None], object] | None = None,
    **options: Any,
) -> ParsedChunks:
    """`render_many` as a stream of chunks of rows, for data sets that do not fit into memory.

    Rows are read when their chunk is needed. Each thread works one chunk ahead. Options and errors are those of
    `render_many`.
    """
    plan = _plan(tools, fields, regions, roles, training=training, **options)
    chunks = _counted(in_order(plan.chunk, in_chunks(conversations), threads), conversations, progress)
    return ParsedChunks(_table([], fields), (_table([chunk], fields) for chunk in chunks))


def _counted(
    chunks: Iterable[_Chunk], conversations: Any, progress: Callable[[int, int | None], object] | None
) -> Iterator[_Chunk]:
    """The chunks. After each one, `progress` is called with the number of finished rows and of all rows."""
    done, total = 0, len(conversations) if hasattr(conversations, "__len__") else None
    for chunk in chunks:
        done += chunk.rows
        if progress is not None:
            progress(done, total)
        yield chunk


def in_order(work: Callable[[_Given], _Made], given: Iterable[_Given], threads: int) -> Iterator[_Made]:
    """The results of `work`, in order. Only a few items are taken ahead of the reader.

    One of the threads is the caller's own.
    """
    if threads < 0:
        raise ValueError(f"threads is 0 or more, not {threads}")
    threads = threads or os.cpu_count() or 1
    if threads == 1:
        yield from map(work, given)
        return
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[_Made]] = deque()
        for each in given:
            ahead.append(pool.submit(work, each))
            if len(ahead) > threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


# --- a chunk of rows ----------------------------------------------------------------------------------------------


class _Chunk(NamedTuple):
    """The rows of a chunk. Lists are stored one after the other. `ends` and `text_ends` have each row's end (int64)."""

    rows: int
    ids: bytes
    ends: bytes
    there: bytes
    """A byte for each row: 1 if it has ids."""
    known: bytes
    """A byte for each row: 1 if it has a mask."""
    labels: bytes
    mask: bytes
    messages: bytes
    text: bytes
    text_ends: bytes
    errors: list[bytes]


class _Row(NamedTuple):
    """A conversation after writing. chat: its messages, if they are needed."""

    draft: Draft
    chat: list[dict[str, Any]]


class _Plan(NamedTuple):
    writer: PromptWriter
    definitions: list[dict[str, Any]]
    vocab: Vocab | None
    """None if no ids are needed."""
    wanted: frozenset[str]
    parser: Parser | None
    """Makes the labels. None if no labels are needed."""
    learned: bytes
    """A byte for each region: 1 if it is learned."""
    roles: frozenset[str]
    marks: TurnMarks

    def chunk(self, given: list[Any]) -> _Chunk:
        rows: list[_Row | None] = []
        errors: list[bytes] = []
        for each in given:
            row, error = self.row(each)
            rows.append(row)
            errors.append(error)
        there = bytes(row is not None for row in rows)
        text, text_ends = b"", array("q")
        if "text" in self.wanted:
            texts = [b"" if row is None else without_surrogates(row.draft.text).encode() for row in rows]
            text, text_ends = b"".join(texts), _ends(map(len, texts))
        nothing = _Chunk(len(rows), b"", b"", there, there, b"", b"", b"", text, text_ends.tobytes(), errors)
        if self.vocab is None:
            return nothing
        pieces = _encoded([row.draft for row in rows if row is not None], self.vocab)
        begins = iter(pieces)
        lengths = [0 if row is None else sum(map(len, next(begins))) for row in rows]
        ends = _ends(lengths)
        ids = b"".join([piece for row in pieces for piece in row])
        made = nothing._replace(ids=ids, ends=ends.tobytes())
        if self.parser is None or not ids:
            return made
        labels, turns = self.labelled(array("I", ids), rows, pieces, ends)
        return self.masked(made._replace(labels=labels), rows, pieces, ends, turns)

    def labelled(
        self, ids: array[int], rows: list[_Row | None], pieces: list[list[array[int]]], ends: array[int]
    ) -> tuple[bytes, list[list[int]]]:
        """The region of each id, and where in each row turns of the assistant begin that no marker opens."""
        turns: list[list[int]] = []
        there = iter(pieces)
        for row in rows:
            at = [] if row is None else [0, *accumulate(map(len, next(there)))]
            turns.append([] if row is None else [at[turn] for turn in row.draft.turns])
        labels = self.regions(ids, turns, ends)
        if not self.marks.results:
            return labels, turns
        spans = list(zip((0, *ends), ends))
        found = [turns_after_results(ids[begin:end], labels[begin:end], self.marks) for begin, end in spans]
        if any(found):
            turns = [sorted({*own, *more}) for own, more in zip(turns, found)]
            labels = self.regions(ids, turns, ends)
        return labels, turns

    def regions(self, ids: array[int], turns: list[list[int]], ends: array[int]) -> bytes:
        """The region of each id. The labeller finds turns by their markers, so it gets one where a turn has none."""
        assert self.parser is not None
        opener = self.marks.opener
        marked, stops, added = array("I"), array("q", (0,)), list[int]()
        begin = 0
        for own, end in zip(turns, ends):
            last = begin
            for turn in own if opener is not None else ():
                marked += ids[last : begin + turn]
                last = begin + turn
                added.append(len(marked))
                marked.append(opener or 0)
            marked += ids[last:end]
            stops.append(len(marked))
            begin = end
        column = rows_of((memoryview(marked), memoryview(stops)))[0]
        labels: bytes = label_rows_of(self.parser, column, 0, len(turns), True)[0]
        if not added:
            return labels
        begins = [0, *(at + 1 for at in added)]
        return b"".join([labels[first:last] for first, last in zip(begins, (*added, len(labels)))])

    def row(self, given: Any) -> tuple[_Row | None, bytes]:
        """A row, or the reason why there is none."""
        try:
            messages, tools = conversation_of(given)
            if isinstance(messages, Iterator):
                messages = list(messages)
            draft = self.writer.write(messages, self.definitions if tools is None else tools)
            chat = normalize(messages, think=None) if self.wanted & {"mask", "messages"} else []
            check_weights(chat)
        except PromptError as error:
            return None, str(error).encode("utf-8", "replace")
        return _Row(draft, chat), b""

    def masked(
        self,
        made: _Chunk,
        rows: list[_Row | None],
        pieces: list[list[array[int]]],
        ends: array[int],
        turns: list[list[int]],
    ) -> _Chunk:
        """The chunk, with the mask and the messages of its tokens. Where it is not known which tokens the assistant
        wrote, the row has no mask, because one that lacks turns would be trained on unnoticed.
        """
        if not self.wanted & {"mask", "messages"}:
            return made
        mask = bytearray(made.labels.translate(self.learned))
        messages = array("i", (NO_MESSAGE,)) * len(made.labels)
        errors, known = list(made.errors), bytearray(made.there)
        begin, there = 0, iter(pieces)
        for i, (row, end) in enumerate(zip(rows, ends)):
            if row is not None:
                spans = spans_of(row.draft, row.chat, next(there), made.labels[begin:end], turns[i])
                if spans is None:
                    errors[i] = _unknown(row.chat).encode()
                    known[i] = 0
                else:
                    self.write_spans(spans, row.chat, begin, mask, messages)
            begin = end
        return made._replace(mask=bytes(mask), messages=messages.tobytes(), errors=errors, known=bytes(known))

    def write_spans(
        self, spans: Iterable[Span], chat: list[dict[str, Any]], base: int, mask: bytearray, messages: array[int]
    ) -> None:
        for begin, end, number in spans:
            if number == NO_MESSAGE:
                continue
            n, at = end - begin, slice(base + begin, base + end)
            messages[at] = array("i", (number,)) * n
            message = chat[number]
            role = message["role"]
            if role not in self.roles or not _weighs(message):
                mask[at] = bytes(n)
            elif role != "assistant":
                mask[at] = b"\1" * n


def check_weights(chat: list[dict[str, Any]]) -> None:
    """Raises `PromptError` for a weight that is not 0 or 1, as in OpenAI's files."""
    for number, message in enumerate(chat):
        if (weight := message.get("weight")) not in (None, 0, 1):
            raise PromptError(f"message {number}: weight is 0 or 1, not {shown(weight)}")


def _weighs(message: dict[str, Any]) -> bool:
    return message.get("weight") in (None, 1)


def _unknown(chat: list[dict[str, Any]]) -> str:
    """Why a row has no mask: the number of the first message that may have no turn of its own, and what to do."""
    what = "it is not known which tokens belong to which message"
    roles = [message["role"] for message in chat]
    for number, (before, role) in enumerate(pairwise(roles), 1):
        if role == "assistant" and before in ("tool", "assistant"):
            after = "a tool's result" if before == "tool" else "another message of the assistant"
            why = f"message {number}, which follows {after}, may have no turn of its own"
            return f"{what}: {why}. Leave the row out, or end it before that message"
    return what


def _encoded(drafts: list[Draft], vocab: Vocab) -> list[list[array[int]]]:
    """The ids of all pieces. Texts are encoded together, which is faster than one by one."""
    made: dict[bool, Iterator[array[int]]] = {}
    for marked in (False, True):
        texts = [
            piece
            for draft in drafts
            if draft.marked is marked
            for piece in draft.pieces or ()
            if isinstance(piece, str)
        ]
        made[marked] = iter(vocab.encode_many(texts, control=marked) if texts else ())
    return [
        [next(made[draft.marked]) if isinstance(piece, str) else piece for piece in draft.pieces or ()]
        for draft in drafts
    ]


def _ends(lengths: Iterable[int]) -> array[int]:
    return array("q", accumulate(lengths))


def _plan(
    tools: Any, fields: Sequence[str], regions: Collection[Region], roles: Collection[str], **options: Any
) -> _Plan:
    check_names("fields", fields)
    check_names("roles", roles)
    if wrong := [one for one in regions if not isinstance(one, int)]:
        raise TypeError(f"regions are some of hs.Region, such as hs.Region.CONTENT, not {shown(wrong[0])}")
    if unknown := set(fields) - set(FIELDS):
        raise ValueError(f"fields are some of {', '.join(FIELDS)}, not {', '.join(sorted(unknown))}")
    if unknown := set(roles) - _ROLES:
        raise ValueError(f"roles are some of {', '.join(sorted(_ROLES))}, not {', '.join(sorted(unknown))}")
    writer = prompt_writer(**options)
    wanted = frozenset(fields)
    if "mask" not in wanted and (set(regions) != set(TRAINED) or set(roles) != {"assistant"}):
        raise ValueError('regions= and roles= say what the mask has: list "mask" in fields=, too')
    vocab = writer.vocab
    if wanted & {"ids", *_LABELLED}:
        if vocab is None:
            raise ValueError("ids need the model's vocabulary: pass vocab=, such as the path of its tokenizer.json")
        vocab.encode("")
    if set(roles) - {"assistant"} and not isinstance(writer.row, HeaderFormat):
        raise ValueError("only Harmony labels the roles of messages: in other formats, pass roles=['assistant']")
    parser = None
    if wanted & _LABELLED:
        if writer.row is None:
            raise ValueError("labels need the format that the model writes: pass format= or model=")
        parser = labeller_of(writer.row, vocab, None, "auto", True)
    learned = bytes(number in regions for number in range(256))
    needed = vocab if wanted & {"ids", *_LABELLED} else None
    marks = NO_MARKS
    if parser is not None and vocab is not None and isinstance(writer.row, Format):
        marks = turn_marks(writer.row, vocab)
    return _Plan(writer, chat_tools(tools), needed, wanted, parser, learned, frozenset(roles), marks)


# --- all chunks ---------------------------------------------------------------------------------------------------


def _table(chunks: Sequence[_Chunk], fields: Sequence[str]) -> Parsed:
    n = sum(chunk.rows for chunk in chunks)
    valid, missing = bits(b"".join([chunk.there for chunk in chunks]))
    nulls = valid if missing else None
    ends = joined_ends([(chunk.ends, len(chunk.ids) // 4) for chunk in chunks])

    known, unknown = bits(b"".join([chunk.known for chunk in chunks]))

    def lists(name: str, format: bytes, values: bytes, size: int) -> Node:
        item = Node(format, "item", len(values) // size, (None, values))
        if name in ("mask", "messages"):
            return Node(b"+L", name, n, (known if unknown else None, ends), (item,), unknown)
        return Node(b"+L", name, n, (nulls, ends), (item,), missing)

    def text(name: str) -> Node:
        text_ends = joined_ends([(chunk.text_ends, len(chunk.text)) for chunk in chunks])
        return Node(b"U", name, n, (nulls, text_ends, b"".join([chunk.text for chunk in chunks])), (), missing)

    def error(name: str) -> Node:
        errors = [error for chunk in chunks for error in chunk.errors]
        there, fine = bits(bytes(map(bool, errors)))
        data, at = b"".join(errors), joined_ends([(_ends(map(len, errors)).tobytes(), 0)])
        return Node(b"U", name, n, (there if fine else None, at, data), (), fine)

    made: dict[str, Callable[[str], Node]] = {
        "ids": lambda name: lists(name, b"i", b"".join([chunk.ids for chunk in chunks]), 4),
        "labels": lambda name: lists(name, b"C", b"".join([chunk.labels for chunk in chunks]), 1),
        "mask": lambda name: lists(name, b"C", b"".join([chunk.mask for chunk in chunks]), 1),
        "messages": lambda name: lists(name, b"i", b"".join([chunk.messages for chunk in chunks]), 4),
        "text": text,
        "error": error,
    }
    return Parsed(Node(b"+s", "", n, (None,), tuple(made[name](name) for name in fields)))
