"""What is read: a call whose one string is this repository's source code, or its documentation as text, in tokens."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from bench import streams as harmony_streams
from bench.rivals.families import ADDED_IDS, JSON, THINK, Family

SIZES = (200, 1000, 4000, 16000)
BLOCK, BLOCKS = 1000, 64
# The rivals take what looks like a marker for one, wherever it stands: their outputs would not be comparable.
MARKUP = re.compile(r"<\\?[|/a-z｜]|[^\x00-\x7f]")
ONE_TOKEN = re.compile("|".join(map(re.escape, ADDED_IDS)))


@dataclass(frozen=True)
class Stream:
    """Ids and the text of each. `expected` is what a parser must say: reasoning, content, and (name, arguments) pairs.

    `body` is where the N tokens are: a slice's two ends.
    `framed`: the bytes of the response are made, not just the events; what counts is the body's time, or with `whole`
    that of all.
    """

    format: str
    ids: list[int]
    texts: list[str]
    prompt: list[int]
    expected: dict[str, Any]
    body: tuple[int, int] = field(default=(0, 0))
    framed: bool = False
    whole: bool = False


def without_markup(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not MARKUP.search(line))


@cache
def code() -> str:
    return without_markup(harmony_streams.code_text())


@cache
def prose() -> str:
    return without_markup(harmony_streams.prose_text())


def marked_ids(text: str) -> list[int]:
    """Ids of text in which each of the families' markers is one token."""
    ids: list[int] = []
    at = 0
    for found in ONE_TOKEN.finditer(text):
        ids += harmony_streams.plain_ids(text[at : found.start()])
        ids.append(ADDED_IDS[found[0]])
        at = found.end()
    return ids + harmony_streams.plain_ids(text[at:])


@cache
def _texts() -> dict[int, str]:
    return {tid: marker for marker, tid in ADDED_IDS.items()}


def text_of(tid: int) -> str:
    """An id's text. Raises `UnicodeDecodeError` for a piece of a character: the streams are ASCII but for markers."""
    added = _texts().get(tid)
    return harmony_streams.o200k_harmony().token_bytes(tid).decode() if added is None else added


def text_in(ids: list[int], escaped: bool) -> str | None:
    """The string that the ids spell; None if they end in white space, which rivals trim, or in half an escape."""
    text = "".join(map(text_of, ids))
    if escaped:
        if (len(text) - len(text.rstrip("\\"))) % 2:
            return None
        text = json.loads(f'"{text}"')
    return text if text == text.strip() else None


def first_ids(text: str, n: int, escaped: bool) -> tuple[list[int], str]:
    """n ids of text, over and over, or a few more, and the string that they spell."""
    ids = harmony_streams.plain_ids(json.dumps(text)[1:-1] if escaped else text)
    while (value := text_in(taken := harmony_streams.cycled(ids, n), escaped)) is None:
        n += 1
    return taken, value


def stream(family: Family, before: str, body: list[int], after: str, **expected: Any) -> Stream:
    opening, closing = marked_ids(before), marked_ids(after)
    ids = [*opening, *body, *closing]
    says = {"reasoning": "", "content": "", "calls": [], **expected}
    ends = len(opening), len(opening) + len(body)
    return Stream(family.format, ids, [text_of(tid) for tid in ids], marked_ids(family.prompt), says, ends)


def call(family: Family, n: int) -> Stream:
    """A call whose one string has n tokens."""
    body, value = first_ids(code(), n, family.json)
    return stream(family, family.before, body, family.after, calls=[["write_file", {"content": value}]])


def content(family: Family, n: int) -> Stream:
    """n tokens of text, and nothing else."""
    body, text = first_ids(prose(), n, escaped=False)
    return stream(family, "", body, "", content=text)


def reasoning(n: int) -> Stream:
    """n tokens of reasoning, which the prompt has opened, and a short answer."""
    body, text = first_ids(prose(), n, escaped=False)
    return stream(THINK, "", body, THINK.after, reasoning=text, content="It is done.")


def long_call(family: Family) -> Stream:
    """A call whose string is the same block, BLOCKS times."""
    block, value = first_ids(code(), BLOCK, family.json)
    arguments = {"content": value * BLOCKS}
    return stream(family, family.before, block * BLOCKS, family.after, calls=[["write_file", arguments]])


def harmony(before: str, body: list[int], after: str, **expected: Any) -> Stream:
    """Its parsers read ids alone, so there is no text."""
    opening, closing = harmony_streams.marked_ids(before), harmony_streams.marked_ids(after)
    ids = [*opening, *body, *closing]
    says = {"reasoning": "", "content": "", "calls": [], **expected}
    return Stream("harmony", ids, [""] * len(ids), [], says, (len(opening), len(opening) + len(body)))


def harmony_content(n: int) -> Stream:
    """The same text as Harmony's final message, to compare with."""
    body, text = first_ids(prose(), n, escaped=False)
    return harmony(harmony_streams.FINAL, body, "", content=text)


def harmony_call(n: int) -> Stream:
    """The same call in Harmony."""
    body, value = first_ids(code(), n, escaped=True)
    calls = [["write_file", {"content": value}]]
    return harmony(harmony_streams.CALL + JSON[0], body, JSON[1] + "<|call|>", calls=calls)
