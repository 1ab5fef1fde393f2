"""Models with random weights behind a grammar: noise that makes valid calls only. `make noise` has larger numbers."""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from itertools import product
from pathlib import Path

import pytest

import harmonystream as hs
from harmonystream.agent.steering import call_plan, steered
from harmonystream.engines import Finished, Sampling, TransformersEngine
from harmonystream.formats import format_of
from harmonystream.grammars.json_tags import json_tag

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("llguidance")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "support")]

from families import FAMILIES, render  # noqa: E402
from families import TOOLS as FAMILY_TOOLS  # noqa: E402
from grammar_walks import vocab_of  # noqa: E402
from noise import TOOLS, model_of, noise  # noqa: E402


@pytest.mark.parametrize("backend", ["llguidance", "xgrammar"])
@pytest.mark.parametrize("format", [name for name in hs.formats.names() if name not in ("think", "kimi_vl")])
def test_noise_makes_valid_calls(format, backend):
    pytest.importorskip(backend)
    made = noise(format, 2, control=True, backend=backend)
    assert made.wrong == []
    assert made.whole == 2


@pytest.mark.parametrize("name", [name for name, family in FAMILIES.items() if family.row != "think"])
def test_xgrammar_accepts_what_a_chat_template_writes(name):
    xgrammar = pytest.importorskip("xgrammar")
    family = FAMILIES[name]
    tokens = [*(bytes([byte]) for byte in range(256)), b"<end>"]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    compiler = xgrammar.GrammarCompiler(info)
    call = {"name": "get_weather", "arguments": {"s": "Bergen", "i": 3}}
    for count, content, thinking in product((1, 2), ("", "On it."), family.modes):
        calls = [{"id": f"functions.get_weather:{at}", **call} for at in range(count)]
        turn = {"role": "assistant", "reasoning": "Hm.", "content": content, "calls": calls}
        text = render(family, [{"role": "user", "content": "?"}, turn], thinking)[1]
        for stop in format_of(family.row).stops:
            text = text.removesuffix("\n").removesuffix(stop)
        start = "reasoning" if family.modes[thinking] == "reasoning" else "content"
        tag = hs.grammar(family.row, FAMILY_TOOLS, start=start).structural_tag()
        matcher = xgrammar.GrammarMatcher(compiler.compile_structural_tag(tag))
        assert all(matcher.accept_token(token) for token in (*text.encode(), 256)), text


@pytest.mark.parametrize(
    "words", [("<|i", "<|e"), ("</t",), ("aab", "ab"), ("aba", "bab"), ("<|i", "[|x", "]<]"), ("<",), ("<<a",)]
)
@pytest.mark.parametrize("schema", ['{"type":"string"}', '{"type":"array","items":{"type":"string"},"maxItems":1}'])
def test_strings_in_json_without_these(words, schema):
    """Written out, and as rules."""
    xgrammar = pytest.importorskip("xgrammar")
    tokens = [*(bytes([byte]) for byte in range(256)), b"<end>"]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    tag = f'{{"type":"structural_tag","format":{json_tag(json.loads(schema), words, False)}}}'
    assert "json_schema" not in tag
    compiled = xgrammar.GrammarCompiler(info).compile_structural_tag(tag)

    def is_taken(string):
        matcher = xgrammar.GrammarMatcher(compiled)
        text = f"[{string}]" if "array" in schema else string
        return all(matcher.accept_token(token) for token in (*text.encode(), 256))

    dice = random.Random(str(words))
    pieces = [*"".join(words), *words, *(word[:-1] for word in words), "z", "\\n", '\\"', "\\u00e9", "é", "\x7f"]
    texts = ["".join(dice.choices(pieces, k=dice.randint(0, 6))) for _ in range(500)]
    taken = [is_taken(f'"{text}"') for text in texts]
    assert taken == [not any(word in text for word in words) for text in texts]
    assert 50 < sum(taken) < 450
    for wrong in ("a\nb", "\x00", "\\x", "\\u12", 'a"b', "\\"):
        assert not is_taken(f'"{wrong}"'), wrong


def test_the_page_s_loop_of_xgrammar():
    """The example of docs/grammars.md, with random numbers for the model."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("xgrammar")
    page = (Path(__file__).parents[3] / "docs" / "grammars.md").read_text()
    (program,) = re.findall(r"```python\n(import xgrammar\n.*?)```", page, re.DOTALL)
    source, numbers, generated = torch.Generator().manual_seed(1), "logits = ...  #", list[int]()
    assert numbers in program
    colour = {"type": "object", "properties": {"colour": {"enum": ["red", "warm white"]}}, "required": ["colour"]}
    lamp = [{"type": "function", "function": {"name": "set_lamp", "strict": True, "parameters": colour}}]
    prompt = hs.render("Light, please.", tools=lamp, model="gpt-oss")
    grammar = hs.grammar("gpt-oss", lamp, choice="required", reasoning="none", prompt=prompt)
    names = {"vocab": hs.vocab.o200k_harmony(), "parser": prompt.parser(), "grammar": grammar}
    names |= {"source": source, "torch": torch, "chosen": generated.append}
    program = program.replace(numbers, "logits = torch.randn(1, len(vocab), generator=source)  #")
    exec(program + "    chosen(int(logits.argmax()))\n", names)
    (call,) = hs.parse(generated, "gpt-oss", tools=lamp).tool_calls
    assert (call.name, call.complete) == ("set_lamp", True)
    assert json.loads(call.arguments)["colour"] in ("red", "warm white")


def test_an_engine_of_transformers_keeps_a_required_call():
    vocab, end = vocab_of("kimi_k2", stop="<|im_end|>")
    prompt = hs.prompts.Prompt("Hi", [72, 105], format_of("kimi_k2"), stop_ids=(end,), vocab=vocab, tools=TOOLS)

    async def answer_ids() -> list[int]:
        engine = TransformersEngine(model_of(len(vocab), 1))
        plan = call_plan(prompt, ["get_weather"], TOOLS[:1], engine, parallel=False)
        assert plan.grammar is not None
        items = steered(engine.generate, prompt, Sampling(max_tokens=3000, temperature=1.0), plan)
        return [tid async for item in items if not isinstance(item, Finished) for tid in item]

    calls = hs.parse(asyncio.run(answer_ids()), "kimi_k2", vocab=vocab).tool_calls
    assert calls
    assert all(call.complete for call in calls)


def test_formats_are_models_of_xgrammar():
    xgrammar = pytest.importorskip("xgrammar")
    from harmonystream.integrations.xgrammar_tags import register

    known = register()
    assert len(known) == 50
    named = {"type": "function", "function": {"name": "set_levels"}}
    for choice, expected in (("auto", "auto"), ("required", "required"), (named, "set_levels")):
        tag = xgrammar.get_model_structural_tag("harmonystream_glm", TOOLS, choice, parallel_tool_calls=False)
        made = hs.grammar("glm", TOOLS, choice=expected, parallel=False).structural_tag()
        assert tag == xgrammar.StructuralTag.model_validate_json(made)
