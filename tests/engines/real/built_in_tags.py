"""Our structural tags beside those that xgrammar has for the same models: what they accept, and how long they take.

python tests/engines/real/built_in_tags.py prints the tables of docs/grammars.md. The texts are what each family's chat
template renders: with and without reasoning, a text before the calls, one call or two, JSON with and without spaces.
The times are those of a vocabulary of 200,000 tokens, in which all markers are text but Harmony's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import xgrammar
from xgrammar import GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType, get_model_structural_tag

sys.path[:0] = [str(Path(__file__).parents[3]), str(Path(__file__).parents[2] / "support")]

from families import FAMILIES, Family, render  # noqa: E402

import harmonystream as hs  # noqa: E402
from harmonystream.formats import format_of  # noqa: E402

BUILT_IN = {
    "qwen3": "qwen_3",
    "qwen3_coder": "qwen_3_coder",
    "deepseek_v3": "deepseek_r1",
    "deepseek_v31": "deepseek_v3_1",
    "deepseek_v32": "deepseek_v3_2",
    "deepseek_v4": "deepseek_v4",
    "kimi_k2": "kimi",
    "glm47": "glm_4_7",
}
SCHEMA = {"type": "object", "properties": {"s": {"type": "string"}, "i": {"type": "integer"}}, "required": ["s"]}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "Looks", "strict": True, "parameters": SCHEMA}}
    for name in ("get_weather", "find")
]
ARGUMENTS = {"s": "Bergen", "i": 3}
HARMONY = tuple(
    f"{before}{header}{body}"
    for before in ("", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant")
    for header in (
        "<|channel|>commentary to=functions.find <|constrain|>json<|message|>",
        "<|channel|>commentary to=functions.find<|constrain|>json<|message|>",
        "<|channel|>commentary<|message|>On it.<|end|><|start|>assistant<|channel|>commentary to=functions.find "
        "<|constrain|>json<|message|>",
    )
    for body in ('{"s": "Bergen", "i": 3}<|call|>', '{"s":"Bergen","i":3}<|call|>')
)


@cache
def compiler(large: bool) -> tuple[GrammarCompiler, TokenizerInfo]:
    if large:
        vocab = hs.vocab.o200k_harmony()
        tokens = [vocab.token_bytes(tid) if tid in vocab else b"" for tid in range(len(vocab))]
        info = TokenizerInfo(tokens, vocab_type=VocabType.RAW, stop_token_ids=[vocab.control["<|return|>"]])
    else:
        tokens = [*(bytes([byte]) for byte in range(256)), b"<end>"]
        info = TokenizerInfo(tokens, vocab_type=VocabType.RAW, stop_token_ids=[256])
    return GrammarCompiler(info, cache_enabled=False), info


def accepts(tag: Any, text: str) -> bool:
    matcher = GrammarMatcher(compiler(False)[0].compile_structural_tag(tag))
    return all(matcher.accept_token(token) for token in (*text.encode(), 256))


def texts(family: Family) -> Iterator[tuple[str, str]]:
    """What the template renders, and where it begins."""
    call = {"name": "get_weather", "arguments": ARGUMENTS}
    for count, content, thinking in product((1, 2), ("", "On it."), family.modes):
        calls = [{"id": f"functions.get_weather:{at}", **call} for at in range(count)]
        turn = {"role": "assistant", "reasoning": "Hm.", "content": content, "calls": calls}
        text = render(family, [{"role": "user", "content": "?"}, turn], thinking)[1]
        for stop in format_of(family.row).stops:
            text = text.removesuffix("\n").removesuffix(stop)
        start = "reasoning" if family.modes[thinking] == "reasoning" else "content"
        yield text, start
        yield text.replace('": ', '":').replace(', "', ',"'), start


def row_of(name: str, built_in: str, cases: list[tuple[str, str]], ours: Callable[[str], str], row: str) -> None:
    def theirs(start: str) -> Any:
        return get_model_structural_tag(
            built_in, TOOLS, "auto", reasoning="enabled" if start == "reasoning" else "auto"
        )

    counts = []
    for made in (ours, theirs):
        counts.append(sum(accepts(made(start), text) for text, start in cases))
    times = []
    for made in (ours, theirs):
        tag, text = made(cases[0][1]), cases[0][0]
        compiled, spent = None, []
        for _ in range(3):
            begun = time.perf_counter()
            compiled = compiler(True)[0].compile_structural_tag(tag)
            spent.append(time.perf_counter() - begun)
        matcher, bits = GrammarMatcher(compiled), xgrammar.allocate_token_bitmask(1, compiler(True)[1].vocab_size)
        masks = []
        for byte in text.encode():
            begun = time.perf_counter()
            matcher.fill_next_token_bitmask(bits)
            masks.append(time.perf_counter() - begun)
            if not matcher.accept_token(byte_ids()[byte]):
                break
        times += [f"{min(spent) * 1e3:.0f}", f"{median(masks) * 1e6:.0f}"]
    print(f"| `{row}` | `{built_in}` | {len(cases)} | {counts[0]} | {counts[1]} | {' | '.join(times)} |", flush=True)


@cache
def byte_ids() -> dict[int, int]:
    vocab = hs.vocab.o200k_harmony()
    ids = {vocab.token_bytes(tid): tid for tid in range(len(vocab)) if tid in vocab}
    return {byte: ids[bytes([byte])] for byte in range(256)}


def main() -> None:
    heads = ("row", "xgrammar's tag", "texts", "ours takes", "theirs takes", "ours, ms", "µs", "theirs, ms", "µs")
    print(f"| {' | '.join(heads)} |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, built_in in BUILT_IN.items():
        family = FAMILIES[name]
        row_of(
            name,
            built_in,
            list(texts(family)),
            lambda start, row=family.row: hs.grammar(row, TOOLS, start=start).structural_tag(),
            family.row,
        )
    cases = [(text, "content") for text in HARMONY]
    row_of("harmony", "harmony", cases, lambda start: hs.grammar("harmony", TOOLS).structural_tag(), "harmony")


if __name__ == "__main__":
    main()
