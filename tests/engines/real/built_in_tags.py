"""Our structural tags beside those that xgrammar has for the same models: what they accept, and how long they take.

python tests/engines/real/built_in_tags.py prints the tables of docs/grammars.md. The texts are what each family's chat
template renders: with and without reasoning, a text before the calls, one call or two, JSON with and without spaces.
The times are those of the processor, with a vocabulary of 200,000 tokens, in which all markers are text but Harmony's:
the first tag of a new compiler, for two tools; then a tag of 20 other tools in the same compiler, as a server has it;
and the time of the slowest mask, while the tag of two tools reads such a text.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import xgrammar
from xgrammar import GrammarCompiler, GrammarMatcher, TokenizerInfo, VocabType, get_model_structural_tag

TESTS = Path(__file__).parents[2]
sys.path[:0] = [str(TESTS.parent), str(TESTS / "support"), str(TESTS / "reference")]

from families import FAMILIES, Family, render  # noqa: E402
from well_formed import of_the_corpora, why_refused  # noqa: E402

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
OF_CORPORA = {
    "qwen3_coder": "qwen_3_5",
    "mimo": "mimo",
    "kimi_k3": "kimi_k3",
    "minimax_m2": "minimax",
    "llama3": "llama",
    "cohere": "cohere",
    "exaone4": "exaone",
    "dsml": "deepseek_v4_1",
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


def others(number: int) -> list[dict[str, Any]]:
    """Twenty tools that no other number has."""
    made = []
    for at in range(20):
        text, count = f"s{number}_{at}", f"i{number}_{at}"
        schema = {
            "type": "object",
            "properties": {text: {"type": "string"}, count: {"type": "integer"}},
            "required": [text],
        }
        function = {"name": f"tool_{number}_{at}", "description": "Looks", "strict": True, "parameters": schema}
        made.append({"type": "function", "function": function})
    return made


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


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


def row_of(built_in: str, cases: list[tuple[str, str]], row: str, tools: list[Sequence[Any]] | None = None) -> None:
    """tools: those of each case."""

    def ours(start: str, tools: Sequence[Any] = TOOLS) -> Any:
        return hs.grammar(row, tools, start=start).structural_tag()  # type: ignore[arg-type]

    def theirs(start: str, tools: Sequence[Any] = TOOLS) -> Any:
        reasoning = "enabled" if start == "reasoning" else "auto"
        return get_model_structural_tag(built_in, list(tools), "auto", reasoning=reasoning)

    counts = []
    for made in (ours, theirs):
        called = zip(cases, tools or [TOOLS] * len(cases))
        counts.append(sum(accepts(made(start, given), text) for (text, start), given in called))
    times = []
    for made in (ours, theirs):
        info = compiler(True)[1]
        first, later, masks = [], [], []
        for _ in range(3):
            kept = GrammarCompiler(info)
            first.append(seconds(partial(kept.compile_structural_tag, made(cases[0][1]))))
            kept.compile_structural_tag(made(cases[0][1], others(0)))
            later.append(seconds(partial(kept.compile_structural_tag, made(cases[0][1], others(1)))))
            masks.append(longest_mask(kept.compile_structural_tag(made(cases[0][1])), cases[0][0]))
        times += [f"{min(first) * 1e3:.0f}", f"{min(later) * 1e3:.0f}", f"{min(masks) * 1e3:.2f}"]
    print(f"| `{row}` | `{built_in}` | {len(cases)} | {counts[0]} | {counts[1]} | {' | '.join(times)} |", flush=True)


def longest_mask(compiled: Any, text: str) -> float:
    matcher, bits = GrammarMatcher(compiled), xgrammar.allocate_token_bitmask(1, compiler(True)[1].vocab_size)
    longest = 0.0
    for byte in text.encode():
        longest = max(longest, seconds(partial(matcher.fill_next_token_bitmask, bits)))
        if not matcher.accept_token(byte_ids()[byte]):
            break
    return longest


@cache
def byte_ids() -> dict[int, int]:
    vocab = hs.vocab.o200k_harmony()
    ids = {vocab.token_bytes(tid): tid for tid in range(len(vocab)) if tid in vocab}
    return {byte: ids[bytes([byte])] for byte in range(256)}


def main() -> None:
    times = [f"{whose}: {what}, ms" for whose in ("ours", "theirs") for what in ("first", "20 tools", "mask")]
    heads = ("row", "xgrammar's tag", "texts", "ours takes", "theirs takes", *times)
    print(f"| {' | '.join(heads)} |")
    print(f"|---|---|{'--:|' * (len(heads) - 2)}")
    for name, built_in in BUILT_IN.items():
        family = FAMILIES[name]
        row_of(built_in, list(texts(family)), family.row)
    row_of("harmony", [(text, "content") for text in HARMONY], "harmony")
    outputs = [one for one in of_the_corpora() if one.where.endswith("strict") and why_refused(one) is None]
    for row, built_in in OF_CORPORA.items():
        found = [one for one in outputs if one.format == row]
        row_of(built_in, [(one.text, one.start) for one in found], row, [one.tools for one in found])


if __name__ == "__main__":
    main()
