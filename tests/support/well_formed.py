"""Well-formed outputs: those of the corpora, and what chat templates render. A format's grammar has to take each."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import corpus_format
import corpus_format_tags
import jsonschema_rs
from families import FAMILIES, as_json, render
from gbnf_matching import Gbnf
from grammar_walks import matcher
from tag_streams import PARAMETERS

import harmonystream as hs
from harmonystream.errors import GrammarError
from harmonystream.formats import format_of
from harmonystream.grammars import Grammar

TESTS = Path(__file__).parents[1]


class Output(NamedTuple):
    """What a model wrote. where: the case that has it. start: the region in which it begins."""

    format: str
    where: str
    text: str
    start: str
    tools: tuple[Any, ...]


# --- the corpora ---


def of_the_corpora() -> Iterator[Output]:
    """The cases that end, in which nothing is wrong, and in which there are only calls of declared tools."""
    for case in corpus_format.read_cases():
        stream = case.stream if isinstance(case.stream, bytes) else _harmony_text(case.stream)
        yield from _outputs("harmony", case.name, stream, case.start, case.tools or ())
    for tag in corpus_format_tags.read_cases():
        yield from _outputs(tag.options.format, tag.name, tag.stream, tag.options.start, tag.options.tools or ())


def _harmony_text(ids: list[int]) -> bytes:
    vocab = hs.vocab.o200k_harmony()
    return b"".join(vocab.token_bytes(tid) for tid in ids if tid in vocab)


def _outputs(format: str, where: str, stream: bytes, start: str, names: Any) -> Iterator[Output]:
    """The output with tools that take any object, and with tools whose schemas have what was called."""
    row = format_of(format)
    try:
        text = without_stop(stream.decode(), row)
    except UnicodeDecodeError:
        return
    if start not in ("auto", "content", "reasoning") or not text:
        return
    declared = [_tool(name, PARAMETERS, (), strict=False) for name in names]
    found = hs.parse(text, format, tools=declared, start=start)  # type: ignore[arg-type]
    calls = [(call.name, _object(call.arguments)) for call in found.tool_calls if call.complete and call.name in names]
    if found.deviations or not calls or len(calls) < len(found.tool_calls) or None in dict(calls).values():
        return
    begin = "reasoning" if start == "reasoning" else "content"
    yield Output(format, where, text, begin, tuple(declared))
    said: dict[str, list[Any]] = {name: [] for name in names}
    for name, arguments in calls:
        said[name].append(arguments)
    strict = []
    for name, every in said.items():
        keys = max((list(one) for one in every), key=len, default=[])
        needed = [key for key in keys if all(key in one for one in every)]
        tool = _tool(name, {key: PARAMETERS.get(key, {}) for key in keys}, needed, strict=True)
        if not all(_fits(tool, one) for one in every):
            return
        strict.append(tool)
    yield Output(format, f"{where}, strict", text, begin, tuple(strict))


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _tool(name: str, properties: Any, required: Any, *, strict: bool) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if strict:
        schema |= {"required": list(required), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "strict": strict, "parameters": schema}}


def _fits(tool: dict[str, Any], value: Any) -> bool:
    """Does it fit the schema, with its members in the schema's order?"""
    schema = tool["function"]["parameters"]
    declared = [name for name in schema["properties"] if name in value]
    return list(value) == declared and jsonschema_rs.is_valid(schema, value)


def without_stop(text: str, row: Any) -> str:
    """The text without the stop at its end, which is a token of its own."""
    for stop in getattr(row, "stops", ()):
        text = text.removesuffix(stop)
    return text


# --- chat templates ---

ARGUMENTS: dict[str, Any] = {"s": "Bergen", "i": 3, "n": 1.5, "b": True, "l": ["a", "b c"], "o": {"x": [1, None]}}
STYLES: dict[str, Callable[[Any], str]] = {
    "as templates": as_json,
    "compact": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    "spread": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
    "escaped": lambda value: json.dumps(value),
}


def of_the_templates(seed: int = 0) -> Iterator[Output]:
    """What each family's template makes of random calls: one or two, with and without reasoning and content."""
    dice = random.Random(seed)
    for name, family in FAMILIES.items():
        if not family.template or family.row == "think":
            continue
        row = format_of(family.row)
        for count, content, mode, style in product((0, 1, 2), ("", "On it."), family.modes, STYLES):
            if not count and not content:
                continue
            calls, tools = [], []
            for number in range(count):
                keys = dice.sample(sorted(ARGUMENTS), dice.randint(0, 3))
                given = {key: ARGUMENTS[key] for key in keys}
                calls.append({"id": f"functions.f{number}:{number}", "name": f"f{number}", "arguments": given})
                tools.append(_tool(f"f{number}", {key: PARAMETERS[key] for key in keys}, keys, strict=True))
            tools.append(_tool("other", PARAMETERS, (), strict=False))
            turn = {"role": "assistant", "reasoning": "Hm.", "content": content, "calls": calls}
            text = render(family, [{"role": "user", "content": "?"}, turn], mode, STYLES[style])[1]
            text = without_stop(text.removesuffix("\n"), row)
            start = "reasoning" if family.modes[mode] == "reasoning" else "content"
            yield Output(family.row, f"{name}, {mode}, {count} calls, {style}", text, start, tuple(tools))


# --- what takes an output ---


def lark(grammar: Grammar, output: Output) -> bool:
    found = matcher(grammar.lark())
    return all(found.consume_token(byte) for byte in output.text.encode()) and found.is_accepting()


def gbnf(grammar: Grammar, output: Output) -> bool:
    found = Gbnf(grammar.gbnf())
    return found.take(output.text) and found.may_end


def xgrammar(grammar: Grammar, output: Output) -> bool:
    return tag_takes(grammar.structural_tag(), output.text.encode())


def tag_takes(tag: Any, text: bytes) -> bool:
    """Does a structural tag of xgrammar take this whole output? tag: JSON text, or xgrammar's object."""
    from xgrammar import GrammarMatcher

    found = GrammarMatcher(_byte_compiler().compile_structural_tag(tag))
    return all(found.accept_token(token) for token in (*text, 256))


@cache
def _byte_compiler() -> Any:
    from xgrammar import GrammarCompiler, TokenizerInfo, VocabType

    tokens = [*(bytes([byte]) for byte in range(256)), b"<end>"]
    return GrammarCompiler(TokenizerInfo(tokens, vocab_type=VocabType.RAW, stop_token_ids=[256]))


TAKERS: dict[str, Callable[[Grammar, Output], bool]] = {
    "llguidance": lark,
    "llama.cpp": gbnf,
    "xgrammar": xgrammar,
}


def is_taken(output: Output, backend: str) -> bool | None:
    """Does the grammar of its tools take this output? None: it has no grammar for this backend."""
    try:
        grammar = hs.grammar(output.format, output.tools, start=output.start)  # type: ignore[arg-type]
        return TAKERS[backend](grammar, output)
    except GrammarError:
        return None


# --- what no grammar takes, and why ---

EXPLAINED = {
    "a string without quotes has a marker in it, which the parser reads as text because of what follows": (
        "FX07.1 FX07.2 FX07.3 FX07.4 X19.1 X19.2 X20.4 FC06.1 FC06.2 FC06.3 FC07.1 FC07.2 N1.5 N23.1 N23.2 N23.4 N23.5 "
        "N31.4 G14.1 G14.2 FG05 G31.1 G31.3 N4.3 S12 D19 K19 P13 V18"
    ),
    "it has another spelling of a marker than the first": (
        "L10.2 L10.3 L16.3 L16.4 L16.5 L16.6 L16.9 L16.11 L16.12 L16.13 L16.14 D26.1 D26.2 D26.3 V2"
    ),
    "a marker is missing, or stands where the text before a call may have none": (
        "D9.1 D9.2 D9.3 D11.3 D12 D17.2 D17.3 D17.4 Q19.1 Q19.2 Q19.3 Q20.3 Q28.2 FQ01 J15 O2 O33 O34 O38 V10 X38 N9.3 "
        "N28.4 B7 G30.1 FX14 FX17.2 K20.1 K20.2"
    ),
    "the arguments are missing, text, null, or before the name, or an array of calls stands between tags": (
        "Q8.1 Q8.2 Q10.1 Q10.2 Q11 Q12.1 Q12.2 Q18.1 Q22.2 N14.3 N14.4 N14.7 D10.1 D10.2 K16 YH3"
    ),
    "a name has white space around it, or no `functions.`, or another one": (
        "E10 E16 E17 E53 H13.2 H15.3 D4 K4 K6 K8.1 K8.2 FK03.1 FK03.2 Q26.3 X34.3 G10 G29.1"
    ),
    "more than one call, where the first one ends the output": "H66",
    "a value is of another type than its schema, or than it says, or is there twice": (
        "X9.2 X10 X15.1 X15.2 X29 X36.1 X36.2 N21 G8.1 S3 L6 L13 YK2 YH1"
    ),
    "values are literals of Python, or of an object with bare keys, that JSON and the models do not write": (
        "G9 P8 P9 P20 P22 B3 B5"
    ),
    "an object in elements has members that its schema does not name": "V14 V15",
    "a string in JSON has a stop in it": "N25.3",
}
"""Cases of the corpora whose outputs are read without a deviation, but that a grammar does not let a model write."""


def why_refused(output: Output) -> str | None:
    """The reason for which no grammar has to take an output. None: there is none."""
    if output.format == "seed_oss" and re.search(r"<parameter=[ol]>[\[{]", output.text):
        return "Seed-OSS's template writes arrays and objects as Python prints them"
    name = output.where.partition(",")[0]
    return next((reason for reason, names in EXPLAINED.items() if name in names.split()), None)
