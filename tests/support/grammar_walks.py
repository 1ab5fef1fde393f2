"""Random outputs of grammars, made by the matchers of the backends, and what they are read as."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, Protocol, TypeAlias

import jsonschema_rs
import llguidance
import numpy as np
from gbnf_matching import Gbnf

import harmonystream as hs
from harmonystream.formats import HeaderFormat, format_of

FORMATS = [name for name in hs.formats.names() if name not in ("think", "kimi_vl")]  # these call no tools
EOS = 256
LONGEST = 1200
END = "<|end of noise|>"


# --- llguidance over a vocabulary of bytes ---


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


# --- vocabularies of bytes and markers ---


def _spellings(field: Any) -> list[str]:
    return [field] if isinstance(field, str) else [one for part in field or () for one in _spellings(part)]


@cache
def markers(format: str) -> tuple[list[bytes], list[bytes]]:
    """All markers, and those that close something."""
    row = format_of(format)
    if isinstance(row, HeaderFormat):
        marks = row.markers
        closers = [marks["end"], marks["call"], marks["return"], marks["message"], f"{marks['channel']}final"]
        every = [*marks.values()]
    else:
        fields = (row.think, row.section, row.call, row.pair, row.element, row.quote, tuple(row.typed), row.answer)
        every = _spellings((*fields, row.value_type))
        closers = _spellings((row.think and row.think[1], row.section and row.section[1], row.call and row.call[2]))
        closers += _spellings((row.pair and (row.pair[1], row.pair[3]), row.element and row.element[1:], row.quote))
        closers += _spellings((tuple(row.typed), row.value_type and row.value_type[1]))
    return [one.encode() for one in every if one], [one.encode() for one in closers if one]


@cache
def vocab_of(format: str, *, control: bool = True, stop: str = END) -> tuple[hs.Vocab, int]:
    """All bytes, the markers as control tokens or as plain ones, and a token that ends an answer, with its id.

    Characters of markers that are no ASCII are tokens as well. The end of an attribute, such as `">`, is a plain token
    in every vocabulary of a model, too.
    """
    names = list(dict.fromkeys(one.decode() for one in markers(format)[0]))
    letters = sorted({one for name in names for one in name if not one.isascii()} - set(names))
    tokens = [bytes([byte]) for byte in range(256)] + [one.encode() for one in (*names, *letters, stop)]
    end = len(tokens) - 1
    # Harmony cannot be read without its control tokens.
    marked = {name: 256 + at for at, name in enumerate(names) if name[0] not in "\"'"}
    marked = marked if control or format == "harmony" else {}
    return hs.vocab.from_bytes(tokens, {**marked, stop: end}), end


# --- the matchers ---


class Cursor(Protocol):
    """Follows one output. beyond: may there come more than the ids say?"""

    beyond: bool

    def allowed(self) -> list[int]:
        """The ids that may come next, the end's among them."""

    def take(self, tid: int) -> None: ...

    def again(self) -> Cursor:
        """One that follows another output of the same grammar, from its beginning."""


def _ids(bits: Any) -> list[int]:
    return np.nonzero(np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little"))[0].tolist()  # type: ignore[no-any-return]


class _Lark:
    beyond = False

    def __init__(self, begun: hs.grammars.Matcher) -> None:
        self._begun, self._matcher = begun, begun.fork()
        self.take = self._matcher.take

    @classmethod
    def of(cls, grammar: hs.grammars.Grammar, vocab: hs.Vocab, end: int) -> _Lark:
        return cls(grammar.matcher(vocab, [end]))

    def again(self) -> _Lark:
        return _Lark(self._begun)

    def allowed(self) -> list[int]:
        return _ids(self._matcher.allowed())


class _Tag:
    """xgrammar's."""

    beyond = False

    def __init__(self, compiled: Any, size: int) -> None:
        import xgrammar

        self._compiled, self._size = compiled, size
        self._matcher = xgrammar.GrammarMatcher(compiled)
        self._bits = xgrammar.allocate_token_bitmask(1, size)

    @classmethod
    def of(cls, grammar: hs.grammars.Grammar, vocab: hs.Vocab, end: int) -> _Tag:
        return cls(_compiler(vocab, end).compile_structural_tag(grammar.structural_tag(vocab)), len(vocab))

    def again(self) -> _Tag:
        return _Tag(self._compiled, self._size)

    def allowed(self) -> list[int]:
        self._matcher.fill_next_token_bitmask(self._bits)
        return _ids(self._bits.numpy().tobytes())

    def take(self, tid: int) -> None:
        assert self._matcher.accept_token(tid)


@lru_cache(8)
def _compiler(vocab: hs.Vocab, end: int) -> Any:
    import xgrammar

    tokens = [vocab.token_bytes(tid) for tid in range(len(vocab))]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[end])
    return xgrammar.GrammarCompiler(info, cache_enabled=False)


class _Gbnf:
    """The reference interpreter's. Its tokens are ASCII characters and markers."""

    beyond = True

    def __init__(self, grammar: str, vocab: hs.Vocab, end: int) -> None:
        self._grammar, self._vocab, self._end = grammar, vocab, end
        self._matcher = Gbnf(grammar)
        self._marks = {tid: vocab.token_bytes(tid).decode() for tid in range(256, end)}

    @classmethod
    def of(cls, grammar: hs.grammars.Grammar, vocab: hs.Vocab, end: int) -> _Gbnf:
        return cls(grammar.gbnf(), vocab, end)

    def again(self) -> _Gbnf:
        return _Gbnf(self._grammar, self._vocab, self._end)

    def allowed(self) -> list[int]:
        found = sorted(map(ord, self._matcher.ascii()))
        found += [tid for tid, text in self._marks.items() if self._matcher.may(text)]
        return found + [self._end] * self._matcher.may_end

    def take(self, tid: int) -> None:
        assert tid == self._end or self._matcher.take(self._vocab.token_bytes(tid).decode())


BACKENDS: dict[str, Callable[[hs.grammars.Grammar, hs.Vocab, int], Cursor]] = {
    "llguidance": _Lark.of,
    "xgrammar": _Tag.of,
    "gbnf": _Gbnf.of,
}


# --- walks ---


@cache
def _beginnings(format: str, closing: bool) -> tuple[dict[bytes, list[int]], range]:
    """The bytes that continue each beginning of a marker, and the lengths of the beginnings."""
    found: dict[bytes, list[int]] = {}
    for marker in markers(format)[closing]:
        for n in range(1, len(marker)):
            found.setdefault(marker[:n], []).append(marker[n])
    return found, range(max(map(len, found), default=0), 0, -1)


def _begun(format: str, closing: bool, tail: bytes, may: set[int]) -> int | None:
    """The byte that continues the longest beginning of a marker at the end of what was written."""
    beginnings, lengths = _beginnings(format, closing)
    for n in lengths:
        for byte in beginnings.get(tail[-n:], ()):
            if byte in may:
                return byte
    return None


def ids_walk(cursor: Cursor, vocab: hs.Vocab, end: int, format: str, dice: random.Random) -> list[int] | None:
    """Random ids that the grammar allows; None: they did not end in time.

    At first the walk does anything, also write markers character by character. Then it closes what is open. Where it
    could end, it may go on for a while: what follows a call directly can make it another one.
    """
    out, tail, goes_on = list[int](), b"", dice.random() < 0.5
    every, closers = markers(format)
    busy = dice.choice((5, 60, 200))
    marks = {vocab.token_bytes(tid): tid for tid in range(256, end)}
    for step in range(LONGEST):
        may = set(cursor.allowed())
        if not may and cursor.beyond:
            return None
        assert may, f"nothing may follow {tail!r}"
        if goes_on and step > busy and end in may and len(may) > 1:
            busy, goes_on = step + dice.choice((5, 20)), False
        closing = step > busy
        wanted = closers if closing else every
        if end in may and (len(may) == 1 or dice.random() < (0.9 if closing else 0.01)):
            cursor.take(end)
            return out
        chosen = None
        if dice.random() < (0.7 if closing else 0.3):
            chosen = _some(dice, may, [marks[one] for one in wanted if one in marks])
        if chosen is None and dice.random() < 0.97:
            chosen = _begun(format, closing, tail, may)
        if chosen is None and dice.random() < (0.7 if closing else 0.3):
            chosen = _some(dice, may, b'"}])\n' if closing else b'"}]>)<\n,')
        if chosen is None and dice.random() < 0.5:
            chosen = _some(dice, may, [one[0] for one in wanted])
        if chosen is None:
            plain = [tid for tid in may if 32 <= tid < 127 and not (closing and tid in b" ,+")]
            chosen = dice.choice(sorted(plain or may - {end} or may))
        cursor.take(chosen)
        out.append(chosen)
        tail = (tail + vocab.token_bytes(chosen))[-80:]
    return None


def _some(dice: random.Random, may: set[int], wanted: Iterable[int]) -> int | None:
    found = [one for one in wanted if one in may]
    return dice.choice(found) if found else None


# --- what a walk has to be ---


def tool(name: str, properties: dict[str, Any], required: list[str], strict: bool = True) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "strict": strict, "parameters": schema}}


POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "s": {"type": "string"}}, "required": ["x"]}
TREE = {"type": "object", "properties": {"v": {"type": "integer"}, "sub": {"$ref": "#/$defs/Tree"}}, "required": ["v"]}
DEFS = {"Point": {**POINT, "additionalProperties": False}, "Unit": {"enum": ["c", "f"], "type": "string"}, "Tree": TREE}
SCALARS: dict[str, Any] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "enum": {"enum": ["dim", "full", "x y"]},
    "constant": {"const": "on", "title": "Constant"},
    "nothing": {"type": "null"},
    # As pydantic writes optional values, and values of several types.
    "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    "number_or_nothing": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "one_of_or_nothing": {"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]},
    "types": {"type": ["integer", "boolean"]},
    "nullable": {"type": ["string", "null"]},
    "unit": {"$ref": "#/$defs/Unit"},
    "coded": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
    "found": {"type": "string", "pattern": "a|[^b-z]z"},
    "short": {"type": "string", "maxLength": 3},
    "long": {"type": "string", "minLength": 2},
    "exact": {"type": "string", "minLength": 1, "maxLength": 1},
    "letters": {"type": "string", "pattern": "^\\w+$", "minLength": 1},
    "short_or_nothing": {"anyOf": [{"type": "string", "maxLength": 4}, {"type": "null"}]},
    "described": {"allOf": [{"$ref": "#/$defs/Unit"}], "description": "A unit"},
}
INNER: dict[str, Any] = {
    "list": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    "point": {"$ref": "#/$defs/Point"},
    "points": {"type": "array", "items": {"$ref": "#/$defs/Point"}},
    "point_or_nothing": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]},
    "tree": {"$ref": "#/$defs/Tree"},
    "several": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "range": {"type": "integer", "minimum": 1, "maximum": 10},
    "codes": {"type": "array", "items": {"type": "string", "pattern": "^[a-c]+$", "maxLength": 9}, "maxItems": 3},
    "counts": {"type": "object", "properties": {"n": {"type": "string", "maxLength": 2}}, "minProperties": 1},
    "one_of": {"oneOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "object", "maxProperties": 1}]},
    "thirds": {"type": "integer", "multipleOf": 3},
    "unique": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
    "either": {"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}, {"not": {}}]},
    "patterns": {"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
    "few": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2},
}


def tools_of(dice: random.Random) -> list[dict[str, Any]]:
    """Some random tools, the last one of which takes any object."""
    made = []
    for number in range(dice.randint(1, 3)):
        kinds = dice.sample(sorted(SCALARS), dice.randint(0, 3)) + dice.sample(sorted(INNER), dice.randint(0, 1))
        dice.shuffle(kinds)
        names = {f"{kind}_{number}": (SCALARS | INNER)[kind] for kind in kinds}
        one = tool(f"tool_{number}", names, [name for name in names if dice.random() < 0.6])
        if "$ref" in str(names):
            one["function"]["parameters"]["$defs"] = DEFS
        made.append(one)
    return [*made, tool("free", {"text": {"type": "string"}}, [], strict=False)]


def is_taken(tool: dict[str, Any], format: str, backend: str) -> bool:
    """Has the format, or the language, a grammar for this tool?"""
    try:
        made = hs.grammar(format, [tool])
        {"gbnf": made.gbnf, "llguidance": made.lark, "xgrammar": made.structural_tag}[backend]()
    except hs.errors.GrammarError:
        return False
    return True


ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
CHOICES = ("required", "auto", "none", "named", "allowed", "answer")


Walk: TypeAlias = "tuple[str, list[str]] | None"  # the output and its faults; None if it did not end in time


def random_walks(format: str, choice: str, backend: str, seed: object, times: int, *, control: bool) -> Iterator[Walk]:
    """Walks through one random grammar.

    choice: one of CHOICES. control: markers are control tokens, as long as the backend knows any.
    """
    dice = random.Random(f"{format} {choice} {seed}")
    tools, options = [one for one in tools_of(dice) if is_taken(one, format, backend)], dict[str, Any]()
    allowed = [one["function"]["name"] for one in tools]
    if choice == "named":
        options["choice"] = dice.choice(allowed)
        allowed = [options["choice"]]
    elif choice == "allowed":
        options["choice"] = allowed = dice.sample(allowed, dice.randint(1, len(allowed)))
    elif choice == "answer":
        options["answer"] = ANSWER
    else:
        options["choice"] = choice
    header = format == "harmony"
    options |= {"parallel": dice.random() < 0.7, "order": dice.choice(["any", "declared"])}
    options |= {"reasoning": dice.choice(["allowed", "none"]), "start": dice.choice(["content", "reasoning"])}
    if header or format_of(format).think is None:  # type: ignore[union-attr]
        options["start"] = "content"
    vocab, end = vocab_of(format, control=control and backend != "gbnf")
    start: Any = options["start"]
    cursor = BACKENDS[backend](hs.grammar(format, tools, **options), vocab, end)
    for _ in range(times):
        cursor = cursor.again()
        ids = ids_walk(cursor, vocab, end, format, dice)
        if ids is None:
            yield None
            continue
        output: Any = ids if (control or header) and backend != "gbnf" else _text(vocab, ids)
        found = hs.parse(output, format, vocab=vocab, tools=tools, start="auto" if header else start)
        wrong = faults_of(found, [one for one in tools if one["function"]["name"] in allowed], choice, preambles=header)
        if not options["parallel"] and len(found.tool_calls) > 1:
            wrong.append(f"{len(found.tool_calls)} calls")
        if options["reasoning"] == "none" and start == "content" and found.reasoning.strip():
            wrong.append(f"reasoning {found.reasoning!r}")
        yield _text(vocab, ids), wrong


def random_walk(format: str, choice: str, backend: str, seed: object, *, control: bool) -> Walk:
    """One of them."""
    return next(random_walks(format, choice, backend, seed, 1, control=control))


def _text(vocab: hs.Vocab, ids: Sequence[int]) -> str:
    return b"".join(map(vocab.token_bytes, ids)).decode(errors="replace")


def faults_of(found: hs.Completion, tools: Sequence[Any], choice: str, *, preambles: bool = False) -> list[str]:
    """What is wrong with what was read. preambles: may there be content before required calls?"""
    schemas = {tool["function"]["name"]: tool["function"] for tool in tools}
    wrong = []
    forced = choice in ("required", "named", "allowed")
    if forced and not found.tool_calls:
        wrong.append("no call")
    if choice == "none" and found.tool_calls:
        wrong.append("a call")
    if forced and not preambles and (found.content or "").strip():
        wrong.append(f"content {found.content!r}")
    answers = [one.content for one in found.messages if not preambles or one.channel == "final"]
    if choice == "answer" and not found.tool_calls and not _fits("".join(answers), ANSWER):
        wrong.append(f"answer {answers!r}")
    for call in found.tool_calls:
        if call.name not in schemas:
            wrong.append(f"a call of {call.name!r}")
            continue
        if not call.complete:
            wrong.append(f"a cut call of {call.name}")
        if not _fits(call.arguments, schemas[call.name]["parameters"] if schemas[call.name].get("strict") else {}):
            wrong.append(f"arguments {call.arguments}")
    return wrong


def _fits(text: str, schema: Any) -> bool:
    try:
        whole = json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return False
    value = json.loads(re.sub("[\ud800-\udfff]", "?", whole))  # jsonschema-rs does not take lone surrogates
    return "inf" in repr(value) or jsonschema_rs.is_valid(schema, value)  # JSON has larger numbers than floats
