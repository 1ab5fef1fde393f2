"""A model with random weights behind a grammar: noise that makes valid calls only. `make noise` prints the table.

Each format has a vocabulary of all bytes and its markers, and a tiny model of transformers with random weights over it.
What the model writes under `choice="required"` is read again: each answer has to be complete calls of declared tools
with arguments that fit, and nothing else.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import transformers
from grammar_walks import faults_of, vocab_of

import harmonystream as hs
from harmonystream.engines.transformers import GrammarLogits
from harmonystream.formats import format_of
from harmonystream.grammars import Grammar

LONGEST = 1200  # tokens of an answer; longer ones are cut and do not count
BATCH = 50
SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}


def tool(name: str, properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "strict": True, "parameters": schema}}


TOOLS = [
    tool("get_weather", {"city": {"enum": ["Oslo", "São Paulo"]}, "days": {"type": "integer"}}, ["city"]),
    tool("write_file", {"path": {"type": "string"}, "append": {"type": "boolean"}}, ["path", "append"]),
    tool("set_levels", {"levels": {"type": "array", "items": {"type": "number"}}}, ["levels"]),
]


class Row(NamedTuple):
    """What came of one format. whole: answers that ended. wrong: what is wrong with them. cut: answers that did not."""

    whole: int
    wrong: list[str]
    cut: int
    calls: int
    tokens: int
    seconds: float


def model_of(size: int, seed: int) -> Any:
    torch.manual_seed(seed)
    config = transformers.Qwen3Config(vocab_size=size, intermediate_size=64, **SIZES)
    made = transformers.Qwen3ForCausalLM(config).eval()
    made.generation_config.eos_token_id = None
    return made


def logits_of(grammar: Grammar, vocab: hs.Vocab, end: int, backend: str) -> Any:
    if backend == "llguidance":
        return GrammarLogits(grammar.matcher(vocab, [end]))
    import xgrammar
    from xgrammar.contrib.hf import LogitsProcessor

    tokens = [vocab.token_bytes(tid) for tid in range(len(vocab))]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[end])
    return LogitsProcessor(xgrammar.GrammarCompiler(info).compile_structural_tag(grammar.structural_tag(vocab)))


def noise(format: str, answers: int, *, control: bool, backend: str, seed: int = 0) -> Row:
    vocab, end = vocab_of(format, control=control)
    model = model_of(len(vocab), seed)
    grammar = hs.grammar(format, TOOLS, choice="required", reasoning="none")
    begun, whole, cut, calls, tokens = time.perf_counter(), 0, 0, 0, 0
    wrong: list[str] = []
    while whole < answers and cut < 3 * answers + 20:
        start = torch.zeros((min(BATCH, answers - whole), 1), dtype=torch.long)
        made = model.generate(
            start,
            attention_mask=torch.ones_like(start),
            max_new_tokens=LONGEST,
            do_sample=True,
            eos_token_id=end,
            pad_token_id=end,
            logits_processor=[logits_of(grammar, vocab, end, backend)],
        )
        for ids in made[:, 1:].tolist():
            if end not in ids:
                cut += 1
                continue
            ids = ids[: ids.index(end)]
            found = hs.parse(ids, format, vocab=vocab, tools=TOOLS)
            whole, calls, tokens = whole + 1, calls + len(found.tool_calls), tokens + len(ids)
            if said := faults_of(found, TOOLS, "required", preambles=format == "harmony"):
                wrong.append(f"{said}: {b''.join(map(vocab.token_bytes, ids))!r}")
    return Row(whole, wrong, cut, calls, tokens, time.perf_counter() - begun)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--answers", type=int, default=1000)
    options.add_argument("--format", nargs="*")
    options.add_argument("--backend", default="llguidance", choices=["llguidance", "xgrammar"])
    options.add_argument("--text", action="store_true", help="markers are plain tokens, not control tokens")
    given = options.parse_args()
    torch.set_num_threads(1)
    failed = 0
    print("| format | answers | valid | calls | tokens | seconds |\n|---|--:|--:|--:|--:|--:|")
    for name in given.format or hs.formats.names():
        row = format_of(name)
        if name in ("think", "kimi_vl"):  # these call no tools
            continue
        made = noise(row.name, given.answers, control=not given.text, backend=given.backend)
        valid = made.whole - len(made.wrong)
        print(f"| {name} | {made.whole} | {valid} | {made.calls} | {made.tokens} | {made.seconds:.1f} |", flush=True)
        for one in made.wrong[:2]:
            print("    " + one[:600], flush=True)
        failed += bool(made.wrong) or made.whole < given.answers
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
