"""What the parsers read: real token ids, made from the text of this repository, so that nobody's answer is needed."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harmonystream.vocab import o200k_harmony

ROOT = Path(__file__).parent.parent
# openai-harmony would download the rank file; it is in the package.
os.environ.setdefault("TIKTOKEN_ENCODINGS_BASE", str(ROOT / "harmonystream" / "data"))

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


@cache
def encoding() -> Any:
    from openai_harmony import HarmonyEncodingName, load_harmony_encoding

    return load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)


def marked_ids(text: str) -> list[int]:
    """Ids of Harmony text: a spelled marker is one control id."""
    ids: list[int] = encoding().encode(text, allowed_special="all")
    return ids


def plain_ids(text: str) -> list[int]:
    """Ids of text in which a spelled marker is but text."""
    ids: list[int] = encoding().encode(text, disallowed_special=())
    return ids


def prose_text() -> str:
    pages = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def code_text() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "harmonystream").glob("*.py")))


def chinese_text() -> str:
    return (Path(__file__).parent / "chinese.txt").read_text(encoding="utf-8")


def cycled(ids: list[int], n: int) -> list[int]:
    return list(itertools.islice(itertools.cycle(ids), n))


@dataclass(frozen=True)
class Work:
    """One stream. `opening` is read before the clock starts; with `whole`, making the parser is timed too."""

    name: str
    opening: list[int]
    ids: list[int]
    whole: bool = False


def inside(name: str, header: str, ids: list[int]) -> Work:
    """The body of one long message, whose header is not timed."""
    return Work(name, marked_ids(header), ids)


def prose(n: int) -> Work:
    return inside("prose", ANALYSIS, cycled(plain_ids(prose_text()), n))


def code_in_arguments(n: int) -> Work:
    arguments = json.dumps({"path": "parser.py", "content": code_text()})
    return inside("code", CALL, plain_ids(arguments)[:n])


def chinese(n: int) -> Work:
    return inside("chinese", FINAL, cycled(plain_ids(chinese_text()), n))


def short_answer() -> Work:
    return Work("short answer", [], marked_ids(SHORT_ANSWER), whole=True)


def endless_header(n: int) -> Work:
    """The cap of 256 bytes is reached in the opening."""
    ids = [*marked_ids("<|channel|>"), *cycled(plain_ids(prose_text()), n + 255)]
    return Work("endless header", ids[:256], ids[256:])


def split_characters(n: int) -> Work:
    """Emoji of four tokens each, one byte apiece."""
    vocab = o200k_harmony()
    of_byte = {vocab.token_bytes(tid): tid for tid in range(256)}  # the first ids are the single bytes
    return inside("split characters", FINAL, cycled([of_byte[bytes([byte])] for byte in "😀🚀🌉".encode()], n))


def escapes_in_arguments(n: int) -> Work:
    arguments = json.dumps({"content": '"\\\n\t' * n})
    return inside("escapes", CALL, plain_ids(arguments)[:n])


def many_messages(n: int) -> Work:
    """Messages of one token: markers and headers are all there is."""
    message = marked_ids(f"<|start|>assistant{ANALYSIS}Hi<|end|>")
    return Work("many messages", [], (message * (n // len(message)))[2:], whole=True)  # the prompt has the first two
