"""What the parsers read: token ids of this repository's text, as messages of Harmony and as calls of each family."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import harmonystream as hs
from bench.families import ADDED_IDS, FIRST_ADDED, JSON, PLAIN, SPECIAL, THINK, Family
from bench.worker import ROOT

ANALYSIS = "<|channel|>analysis<|message|>"
FINAL = "<|channel|>final<|message|>"
CALL = "<|channel|>commentary to=functions.write_file <|constrain|>json<|message|>"
SHORT_ANSWER = (
    f"{ANALYSIS}The user asks about Paris. I should call the tool.<|end|>"
    "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
    '{"city": "Paris", "unit": "celsius"}<|call|>'
    f"<|start|>assistant{FINAL}It is sunny in Paris, 21 degrees, with a light wind from the west. The evening will be "
    "cooler, so take a jacket along. Do enjoy the day!<|return|>"
)
HARMONY = Family("harmony", "gpt-oss", before=CALL + JSON[0], after=JSON[1] + "<|call|>")
# The rivals take what looks like a marker for one, anywhere: their outputs would not be comparable.
MARKUP = re.compile(r"<\\?[|/a-z｜]|[^\x00-\x7f]")
ONE_TOKEN = re.compile("|".join(map(re.escape, ADDED_IDS)))
TEXT_OF_ADDED = {tid: marker for marker, tid in ADDED_IDS.items()}


@dataclass(frozen=True)
class Stream:
    """Ids of one stream. `opening` is read before the clock starts, and `closing` after it has stopped.

    `whole`: making the parser or emitter, the opening and the closing are timed, too. `framed`: the bytes of the
    response are made, not just the events. `expected` is what a parser must say: reasoning, content, and (name,
    arguments) pairs. `prompt` is the end of the prompt; vLLM's parsers look at it.
    """

    name: str
    opening: list[int]
    body: list[int]
    closing: list[int]
    format: str = "harmony"
    whole: bool = False
    framed: bool = False
    expected: dict[str, Any] | None = None
    prompt: tuple[int, ...] = ()

    @property
    def ids(self) -> list[int]:
        return [*self.opening, *self.body, *self.closing]

    def merged(self) -> Stream:
        """The same stream, all of it timed."""
        return replace(self, opening=[], body=self.ids, closing=[])

    def message(self) -> dict[str, Any]:
        """For another process. Harmony's parsers read ids alone, and some of those are pieces of characters."""
        texts = [""] * len(self.ids) if self.format == "harmony" else list(map(text_of, self.ids))
        return {**asdict(self), "texts": texts}


# --- tokens ---------------------------------------------------------------------------------------------------------


@cache
def vocab() -> hs.Vocab:
    """o200k_base and the families' markers, one token each: special where the model's is."""
    o200k = hs.vocab.o200k_harmony()
    tokens = {tid: o200k.token_bytes(tid) for tid in range(FIRST_ADDED)}
    tokens |= {ADDED_IDS[marker]: marker.encode() for marker in PLAIN}
    return hs.vocab.from_bytes(tokens, {marker: ADDED_IDS[marker] for marker in SPECIAL})


@cache
def _plain_ids(text: str) -> tuple[int, ...]:
    return tuple(hs.vocab.o200k_harmony().encode(text))


def plain_ids(text: str) -> list[int]:
    """Ids of text; a spelled marker is text, too."""
    return list(_plain_ids(text))


def harmony_ids(text: str) -> list[int]:
    """Ids of Harmony text: a spelled marker is one control id."""
    return hs.vocab.o200k_harmony().encode(text, control=True)


def marked_ids(text: str, cut: Any = plain_ids) -> list[int]:
    """Ids of text in which each of the families' markers is one token; `cut` makes those between them."""
    ids: list[int] = []
    at = 0
    for found in ONE_TOKEN.finditer(text):
        ids += [*cut(text[at : found.start()]), ADDED_IDS[found[0]]]
        at = found.end()
    return [*ids, *cut(text[at:])]


@cache
def byte_ids() -> tuple[int, ...]:
    """The token of each byte: they are the first."""
    own = hs.vocab.o200k_harmony()
    of_byte = {own.token_bytes(tid): tid for tid in range(256)}
    return tuple(of_byte[bytes([byte])] for byte in range(256))


def smallest_ids(text: str) -> list[int]:
    """The most tokens that text can have: one for each byte, and for each marker that is a token."""
    return marked_ids(text, lambda part: [byte_ids()[byte] for byte in part.encode()])


def text_of(tid: int) -> str:
    """An id's text. Raises `UnicodeDecodeError` for a piece of a character."""
    added = TEXT_OF_ADDED.get(tid)
    return hs.vocab.o200k_harmony().token_bytes(tid).decode() if added is None else added


# --- texts ----------------------------------------------------------------------------------------------------------


@cache
def prose_text() -> str:
    pages = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


@cache
def code_text() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "harmonystream").rglob("*.py")))


def chinese_text() -> str:
    return (ROOT / "bench" / "chinese.txt").read_text(encoding="utf-8")


@cache
def without_markup(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not MARKUP.search(line))


def cycled(ids: Iterable[int], n: int) -> list[int]:
    return list(itertools.islice(itertools.cycle(ids), n))


def text_in(ids: list[int], escaped: bool) -> str | None:
    """The string that the ids spell; None if they end in white space, which rivals trim, or in half an escape."""
    text = "".join(map(text_of, ids))
    if escaped:
        if (len(text) - len(text.rstrip("\\"))) % 2:
            return None
        text = json.loads(f'"{text}"')
    return text if text == text.strip() else None


def prose_block(n: int) -> tuple[list[int], str]:
    """n ids of the documentation, or a few more, and their text."""
    return _first_ids(prose_text(), n, escaped=False)


def code_block(n: int, escaped: bool) -> tuple[list[int], str]:
    """n ids of the source code, or a few more, and the string that they spell."""
    return _first_ids(code_text(), n, escaped)


def _first_ids(text: str, n: int, escaped: bool) -> tuple[list[int], str]:
    text = without_markup(text)
    ids = plain_ids(json.dumps(text)[1:-1] if escaped else text)
    while (value := text_in(taken := cycled(ids, n), escaped)) is None:
        n += 1
    return taken, value


# --- Harmony --------------------------------------------------------------------------------------------------------


def inside(name: str, header: str, ids: list[int]) -> Stream:
    """The body of one long message, whose header is not timed."""
    return Stream(name, harmony_ids(header), ids, [])


def prose(n: int, header: str = ANALYSIS) -> Stream:
    return inside("prose", header, cycled(plain_ids(prose_text()), n))


def code_in_arguments(n: int) -> Stream:
    arguments = json.dumps({"path": "parser.py", "content": code_text()})
    return inside("code", CALL, plain_ids(arguments)[:n])


def chinese(n: int) -> Stream:
    return inside("chinese", FINAL, cycled(plain_ids(chinese_text()), n))


def short_answer() -> Stream:
    return Stream("short answer", [], harmony_ids(SHORT_ANSWER), [], whole=True)


def endless_header(n: int) -> Stream:
    """The cap of 256 bytes is reached in the opening."""
    ids = [*harmony_ids("<|channel|>"), *cycled(plain_ids(prose_text()), n + 255)]
    return Stream("endless header", ids[:256], ids[256:], [])


def split_characters(n: int) -> Stream:
    """Emoji of four tokens each, one byte apiece."""
    return inside("split characters", FINAL, cycled([byte_ids()[byte] for byte in "😀🚀🌉".encode()], n))


def escapes_in_arguments(n: int) -> Stream:
    return inside("escapes", CALL, plain_ids(json.dumps({"content": '"\\\n\t' * n}))[:n])


def many_messages(n: int) -> Stream:
    """Messages of one token: there is nothing but markers and headers. The prompt has the first two tokens."""
    message = harmony_ids(f"<|start|>assistant{ANALYSIS}Hi<|end|>")
    return Stream("many messages", [], (message * (n // len(message)))[2:], [], whole=True)


# --- with what a parser must say ------------------------------------------------------------------------------------


def expecting(reasoning: str = "", content: str = "", calls: Iterable[Any] = ()) -> dict[str, Any]:
    return {"reasoning": reasoning, "content": content, "calls": list(calls)}


def of_family(family: Family, what: str, before: str, body: list[int], after: str, expected: dict[str, Any]) -> Stream:
    ids = harmony_ids if family is HARMONY else marked_ids
    name = f"{family.format} {what} {len(body)}"
    prompt = tuple(ids(family.prompt))
    return Stream(name, ids(before), body, ids(after), family.format, expected=expected, prompt=prompt)


def call(family: Family, n: int) -> Stream:
    """A call whose one string has n tokens."""
    body, value = code_block(n, family.json)
    expected = expecting(calls=[["write_file", {"content": value}]])
    return of_family(family, "call", family.before, body, family.after, expected)


def content(family: Family, n: int) -> Stream:
    """n tokens of text, and nothing else."""
    body, text = prose_block(n)
    return of_family(family, "content", FINAL if family is HARMONY else "", body, "", expecting(content=text))


def reasoning(n: int) -> Stream:
    """n tokens of reasoning, which the prompt has opened, and a short answer."""
    body, text = prose_block(n)
    return of_family(THINK, "reasoning", "", body, THINK.after, expecting(reasoning=text, content="It is done."))
