"""Random outputs of a grammar, made by llguidance's matcher over a vocabulary of bytes, and what they are read as."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import jsonschema_rs
import llguidance
import numpy as np

import harmonystream as hs
from harmonystream.formats import HeaderFormat, format_of

EOS = 256
LONGEST = 3000


class _Bytes:
    eos_token_id, bos_token_id, special_token_ids = EOS, None, (EOS,)
    tokens = (*(bytes([byte]) for byte in range(256)), b"\xff<eos>")

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


@cache
def tokenizer() -> Any:
    return llguidance.LLTokenizer(llguidance.TokenizerWrapper(_Bytes()))


def matcher(lark: str) -> Any:
    made = llguidance.LLMatcher(tokenizer(), lark, log_level=0)
    assert not made.get_error(), made.get_error()
    return made


def accepts(lark: str, text: str) -> bool:
    """Is this whole output allowed?"""
    found = matcher(lark)
    return all(found.consume_token(byte) for byte in text.encode()) and found.is_accepting()


def allowed(found: Any) -> list[int]:
    bits = np.unpackbits(np.frombuffer(found.compute_bitmask(), dtype=np.uint8), bitorder="little")
    return np.nonzero(bits[: EOS + 1])[0].tolist()  # type: ignore[no-any-return]


def _spellings(field: Any) -> list[str]:
    return [field] if isinstance(field, str) else [one for part in field or () for one in _spellings(part)]


def markers(format: str) -> tuple[list[bytes], list[bytes]]:
    """All markers, and those that close something."""
    row = format_of(format)
    if isinstance(row, HeaderFormat):
        marks = row.markers
        closers = [marks["end"], marks["call"], marks["return"], marks["message"], f"{marks['channel']}final"]
        every = [*marks.values()]
    else:
        fields = (row.think, row.section, row.call, row.pair, row.element, row.quote, tuple(row.typed))
        every = _spellings(fields)
        closers = _spellings((row.think and row.think[1], row.section and row.section[1], row.call and row.call[2]))
        closers += _spellings((row.pair and (row.pair[1], row.pair[3]), row.element and row.element[1:], row.quote))
        closers += _spellings(tuple(row.typed))
    return [one.encode() for one in every if one], [one.encode() for one in closers if one]


END = "<|end of noise|>"


def vocab_of(format: str, *, control: bool = True) -> tuple[hs.Vocab, int]:
    """All bytes, the markers as control tokens or as plain ones, and a token that ends an answer, with its id."""
    names = list(dict.fromkeys(one.decode() for one in markers(format)[0]))
    tokens: list[bytes] = [bytes([byte]) for byte in range(256)] + [name.encode() for name in names] + [END.encode()]
    end = len(tokens) - 1
    # Harmony cannot be read without its control tokens.
    marked = {name: 256 + at for at, name in enumerate(names)} if control or format == "harmony" else {}
    return hs.vocab.from_bytes(tokens, {**marked, END: end}), end


def ids_walk(
    grammar: hs.grammars.Grammar, vocab: hs.Vocab, end: int, dice: random.Random, busy: int = 200
) -> list[int] | None:
    """Random ids that the grammar allows; None: they did not end in time. After some time they rather close things."""
    found, out = grammar.matcher(vocab, [end]), list[int]()
    closing = [*range(256, end + 1), *b'"}])>']
    for step in range(LONGEST):
        bits = np.unpackbits(np.frombuffer(found.allowed(), dtype=np.uint8), bitorder="little")
        may = np.nonzero(bits)[0].tolist()
        assert may, f"nothing may follow {b''.join(map(vocab.token_bytes, out[-40:]))!r}"
        rather = [tid for tid in closing if tid in may] if step > busy else []
        chosen = end if rather and end in may else dice.choice(rather if rather and dice.random() < 0.7 else may)
        found.take(chosen)
        if chosen == end:
            return out
        out.append(chosen)
    return None


def _next_of(markers_: Iterable[bytes], tail: bytes, may: set[int]) -> int | None:
    """The byte that continues the longest beginning of a marker at the end of what was written."""
    best = (0, -1)
    for marker in markers_:
        for n in range(min(len(marker) - 1, len(tail)), 0, -1):
            if tail.endswith(marker[:n]):
                if marker[n] in may:
                    best = max(best, (n, marker[n]))
                break
    return best[1] if best[0] else None


def walk(lark: str, format: str, dice: random.Random) -> str | None:
    """A random output; None: it did not end in time. At first it does anything, and then it closes what is open."""
    found, out = matcher(lark), bytearray()
    every, closers = markers(format)
    busy = dice.choice((5, 60, 200))
    for step in range(LONGEST):
        may = set(allowed(found))
        assert may, f"nothing may follow {bytes(out[-80:])!r}"
        closing = step > busy
        if EOS in may and (len(may) == 1 or dice.random() < (0.9 if closing else 0.01)):
            return out.decode(errors="replace")
        chosen = _next_of(closers if closing else every, bytes(out[-70:]), may) if dice.random() < 0.97 else None
        if chosen is None and dice.random() < (0.7 if closing else 0.3):
            chosen = _some(dice, may, b'"}])\n' if closing else b'"}]>)<\n,')
        if chosen is None and dice.random() < 0.5:
            chosen = _some(dice, may, bytes(one[0] for one in (closers if closing else every)))
        if chosen is None:
            plain = [byte for byte in may if 32 <= byte < 127 and not (closing and byte in b" ,+")]
            chosen = dice.choice(sorted(plain or may - {EOS} or may))
        assert found.consume_token(chosen)
        out.append(chosen)
    return None


def _some(dice: random.Random, may: set[int], wanted: bytes) -> int | None:
    found = [byte for byte in wanted if byte in may]
    return dice.choice(found) if found else None


def faults(format: str, text: str, tools: Sequence[Any], choice: str, start: Any = "content") -> list[str]:
    """What is wrong with an output that the grammar has allowed."""
    found = hs.parse(text, format, tools=list(tools), start="auto" if format == "harmony" else start)
    return faults_of(found, tools, choice, preambles=isinstance(format_of(format), HeaderFormat))


def faults_of(found: hs.Completion, tools: Sequence[Any], choice: str, *, preambles: bool = False) -> list[str]:
    """What is wrong with what was read. preambles: may there be content before required calls?"""
    schemas = {tool["function"]["name"]: tool["function"] for tool in tools}
    wrong = []
    if choice == "required" and not found.tool_calls:
        wrong.append("no call")
    if choice == "none" and found.tool_calls:
        wrong.append("a call")
    if choice == "required" and not preambles and (found.content or "").strip():
        wrong.append(f"content {found.content!r}")
    for call in found.tool_calls:
        if call.name not in schemas:
            wrong.append(f"a call of {call.name!r}")
            continue
        if not call.complete:
            wrong.append(f"a cut call of {call.name}")
        arguments = json.loads(call.arguments)
        strict = schemas[call.name].get("strict") and "inf" not in repr(
            arguments
        )  # JSON has larger numbers than floats
        if strict and not jsonschema_rs.is_valid(schemas[call.name]["parameters"], arguments):
            wrong.append(f"arguments {call.arguments}")
    return wrong
