"""A vocabulary of some hundred tokens, and the table that makes a stream of its ids out of any bytes.

One byte of a payload is one token, so that the fuzzer's mutations are mutations of the stream; the table is biased to
markers, to the words of headers and to pieces of characters.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import harmonystream as hs

MARKERS = ("start", "channel", "constrain", "message", "end", "call", "return", "endoftext")
MARKUP = tuple(f"<|{name}|>" for name in MARKERS)
INERT = ("<|startoftext|>", "<|reserved_200013|>")
WORDS = (  # of more than one byte: the others are there already
    *(b"assistant", b"analysis", b"commentary", b"comment", b"final", b"user", b"system", b"developer", b"tool"),
    *(b" to=", b"to=", b"to=assistant", b"functions.", b" to=functions.f", b"get_weather", b"Answer"),
    *(
        b" to=Answer Tool",
        b" Two",
        b"python",
        b"browser.",
        b"container",
        b"json",
        b" json",
        b"code",
        b"text",
        b"markdown",
    ),
    *(b"markdown", b"response", b"js", b'{"a":', b"[1]", b"true", b"Hello", b" world"),
    *(b"<|end|>", b"<|", b"|>", b"chan", b"Final", b"assist", b"y" * 250, b"\n\n"),
    *("\u3000".encode(), "\u2003".encode(), "\u1680".encode(), "\x85".encode(), "\u00a0".encode()),
    *("日本".encode(), "é".encode(), "😀".encode(), "\ufffd".encode()),
    *(b"a\xe6\x97", b"\xa5b", b"\xf0\x9f", b"\x98\x80"),
)
LEADS = b"\x80\x85\x97\x9f\xa0\xa5\xa9\xc0\xc2\xc3\xe0\xe1\xe2\xe3\xe6\xed\xf0\xf4\xf5\xfd\xfe\xff"

FIRST_WORD = 256  # below: a token for each byte
EMPTY = FIRST_WORD + len(WORDS)  # a token without bytes
HOLE = EMPTY + 1
CONTROL = {name: HOLE + 1 + i for i, name in enumerate((*MARKUP, *INERT))}
SIZE = HOLE + 1 + len(CONTROL)
UNKNOWN = (HOLE, SIZE, 2**24, 2**31 - 1, 2**32 - 1)

REPEAT, LITERAL = 0xFE, 0xFF
TABLE = (
    *range(128),
    *CONTROL.values(),
    *UNKNOWN,
    EMPTY,
    *range(FIRST_WORD, EMPTY),
    *LEADS,
)
MOST_TOKENS = 300

TOOLS: tuple[list[str] | None, ...] = (None, [], ["f"], ["f", "python", "get_weather", "Answer", "Answer Tool Two"])
STARTS = (
    *("auto", "content", "reasoning", "answer", "", "<|start|>", "<|start|>assistant<|channel|>comm"),
    *("<|channel|>commentary to=functions.f<|message|>", "<|start|>user<|message|>", " to=f<|message|>"),
    *("<|start|>assistant<|channel|>final<|message|>ok<|end|>", "<|channel|>analysis" + 235 * "x"),
)
REASONS = (None, "stop", "length", "tool_calls")


@cache
def vocab() -> hs.Vocab:
    tokens = {i: bytes([i]) for i in range(256)} | {FIRST_WORD + i: word for i, word in enumerate(WORDS)}
    return hs.vocab.from_bytes(tokens | {EMPTY: b""}, CONTROL, name="fuzz")


def read_ids(payload: bytes) -> list[int]:
    """The stream of a payload: a byte of the table, or REPEAT and a count, or LITERAL and four bytes."""
    ids: list[int] = []
    i, size = 0, len(payload)
    while i < size and len(ids) < MOST_TOKENS:
        byte = payload[i]
        if byte < REPEAT:
            ids.append(TABLE[byte % len(TABLE)])
            i += 1
        elif byte == REPEAT:
            count = payload[i + 1] if i + 1 < size else 0
            ids += ids[-1:] * count
            i += 2
        else:
            ids.append(int.from_bytes(payload[i + 1 : i + 5], "little"))
            i += 5
    return ids


def write_ids(ids: Iterable[int]) -> bytes:
    """A payload of these ids, for seeds."""
    codes = {tid: code for code, tid in reversed(list(enumerate(TABLE)))}
    return b"".join(
        bytes([codes[tid]]) if tid in codes else bytes([LITERAL]) + tid.to_bytes(4, "little") for tid in ids
    )


@cache
def spellings(control: bool) -> tuple[bytes, ...]:
    """The bytes of each id; with `control`, the names of control ids as well."""
    table = vocab()
    known = (tid in table and (control or not table.is_control(tid)) for tid in range(SIZE))
    return tuple(table.token_bytes(tid) if shown else b"" for tid, shown in enumerate(known))


def spelled(ids: Iterable[int]) -> bytes:
    """The same stream as text; what has no spelling is left out."""
    table = spellings(control=True)
    return b"".join([table[tid] for tid in ids if tid < SIZE])


def ordinary(ids: Iterable[int]) -> bytes:
    """The bytes that the tokens which are text stand for."""
    table = spellings(control=False)
    return b"".join([table[tid] for tid in ids if tid < SIZE])


def can_be_spelled(ids: Iterable[int]) -> bool:
    """Are these tokens as text read as they are as ids? Not if they are inert or unknown, or spell part of a marker."""
    inert = (EMPTY, *UNKNOWN, *(CONTROL[name] for name in INERT))
    return all(tid < SIZE and tid not in inert for tid in ids) and b"<" not in ordinary(ids)
