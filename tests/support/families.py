"""The model families of the tag formats: how they render a chat (templates/), and tokenizers with their markers.

The tokenizers are small byte-level BPEs, trained on a few lines; what makes them a family's are the added tokens, which
are the real ones, with their real `special` flags unless a test wants others.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

import harmonystream as hs


class Family(NamedTuple):
    """What there is to know of a family.

    row: its format. special, plain: the added tokens, by their `special` flag. modes: what the template takes as
    `thinking` -> where a stream then starts. python: values other than text are written as Python prints them.
    after_tool: where a stream starts after a tool's result, where the template then adds nothing. block: for `dsml`.
    """

    row: str
    template: str
    special: tuple[str, ...]
    plain: tuple[str, ...]
    modes: dict[str, str]
    python: bool = False
    after_tool: str = ""
    block: str = ""


QWEN = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_pad|>")
QWEN_PLAIN = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
DEEPSEEK = (
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜▁pad▁｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
    "<|EOT|>",
)
CALLS = ("tool▁calls▁begin", "tool▁calls▁end", "tool▁call▁begin", "tool▁call▁end", "tool▁sep")
OUTPUTS = ("tool▁outputs▁begin", "tool▁outputs▁end", "tool▁output▁begin", "tool▁output▁end")
DEEPSEEK_PLAIN = (
    *("<think>", "</think>", "<｜search▁begin｜>", "<｜search▁end｜>"),
    *(f"<｜{name}｜>" for name in (*CALLS, *OUTPUTS)),
)
KIMI = ("[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>", "[PAD]")
KIMI_PLAIN = (
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>"),
    *("<|tool_call_argument_begin|>", "<think>", "</think>"),
)
GLM = ("<|endoftext|>", "[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|observation|>", "<eop>")
GLM_PLAIN = (
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "/nothink"),
)
SEED = ("<seed:bos>", "<seed:eos>", "<seed:pad>")
SEED_PLAIN = (
    *("<seed:think>", "</seed:think>", "<seed:tool_call>", "</seed:tool_call>"),
    *("<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"),
)
CHATML = {"model": "content", "open": "reasoning", "off": "answer"}
PROMPTED = {"open": "reasoning", "off": "answer"}

FAMILIES = {
    "qwen3": Family("hermes", "qwen3", QWEN, QWEN_PLAIN, CHATML),
    "qwen3_coder": Family("qwen3_coder", "qwen3_coder", QWEN, QWEN_PLAIN, CHATML, python=True),
    "deepseek_v3": Family(
        "deepseek",
        "deepseek_v3",
        DEEPSEEK,
        DEEPSEEK_PLAIN,
        {"off": "content", "open": "reasoning"},
        after_tool="content",
    ),
    "deepseek_v31": Family("deepseek", "deepseek_v31", DEEPSEEK, DEEPSEEK_PLAIN, PROMPTED, after_tool="answer"),
    "deepseek_search": Family(
        "deepseek_search", "deepseek_search", DEEPSEEK, DEEPSEEK_PLAIN, {"model": "content"}, after_tool="reasoning"
    ),
    "deepseek_v32": Family(
        *("dsml", "dsml", DEEPSEEK, ("<think>", "</think>", "｜DSML｜"), PROMPTED), block="function_calls"
    ),
    "deepseek_v4": Family(
        *("dsml", "dsml", DEEPSEEK, ("<think>", "</think>", "｜DSML｜"), PROMPTED), block="tool_calls"
    ),
    "kimi_k2": Family("kimi_k2", "kimi_k2", KIMI, KIMI_PLAIN, CHATML),
    "glm45": Family("glm", "glm45", GLM, GLM_PLAIN, {"model": "content", "off": "answer"}),
    "glm47": Family("glm", "glm47", GLM, GLM_PLAIN, PROMPTED),
    "seed_oss": Family(
        "seed_oss", "seed_oss", SEED, SEED_PLAIN, {"model": "content", "budget": "reasoning"}, python=True
    ),
    "think": Family("think", "think", DEEPSEEK, ("<think>", "</think>"), {"model": "content", "open": "reasoning"}),
}

LLAMA3 = (
    *("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|start_header_id|>", "<|end_header_id|>"),
    "<|python_tag|>",
)
LLAMA4 = (
    *("<|begin_of_text|>", "<|end_of_text|>", "<|eot|>", "<|eom|>", "<|header_start|>", "<|header_end|>"),
    *("<|python_start|>", "<|python_end|>"),
)
MISTRAL = (
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[TOOL_CALLS]",
)
SERVED = FAMILIES | {
    "llama3": Family("llama3", "", LLAMA3, (), {"model": "answer"}),
    "llama4": Family("pythonic", "", LLAMA4, (), {"model": "answer"}),
    "mistral": Family("mistral", "", MISTRAL, (), {"model": "answer"}),
}
"""Those that servers of engines are tested with: more than there are templates of."""

# --- tools --------------------------------------------------------------------------------------------------------

NULLABLE = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
PROPERTIES = {
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "n": {"type": "number"},
    "b": {"type": "boolean"},
    "o": {"type": "object"},
    "l": {"type": "array"},
    "u": NULLABLE,
    "su": {"type": ["string", "null"]},
    "e": {"enum": ["red", "green"]},
    "the key-1": {"$ref": "#/$defs/text"},
}
TEXT = {"text": {"type": "string"}}
NAMES = ("f", "get_weather", "web-search", "math.sum")
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"properties": PROPERTIES, "$defs": TEXT}}}
    for name in NAMES
]

# --- rendering ----------------------------------------------------------------------------------------------------


def as_json(value: Any) -> str:
    """As templates of transformers write it."""
    return json.dumps(value, ensure_ascii=False)


@cache
def _template(name: str, dump: Callable[[Any], str]) -> Any:
    import jinja2

    loader = jinja2.FileSystemLoader(Path(__file__).resolve().parents[1] / "templates")
    environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, keep_trailing_newline=False)
    environment.filters["json"] = dump
    return environment.get_template(f"{name}.jinja")


def render(
    family: Family, messages: list[dict[str, Any]], thinking: str, dump: Callable[[Any], str] = as_json
) -> tuple[str, str]:
    """The prompt that ends before the last message, and what the model writes of it: the rest, its stop included.

    dump: writes a value as JSON.
    """
    options = {"tools": TOOLS, "thinking": thinking, "block": family.block}
    template = _template(family.template, dump)
    prompt = template.render(messages=messages[:-1], add_generation_prompt=True, **options)
    whole = template.render(messages=messages, add_generation_prompt=False, **options)
    assert whole.startswith(prompt)
    return prompt, whole[len(prompt) :]


# --- tokenizers ---------------------------------------------------------------------------------------------------

LINES = [
    '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3, "exact": true, "list": [1, 2, null]}}\n',
    "Let me look at the weather, and then answer. The answer is 42.\n\n",
    "<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n",
    '<invoke name="get_weather">\n<parameter name="city" string="true">Paris</parameter>\n</invoke>\n',
    "functions.get_weather:0 functions.get_weather:1 function\n```json\n{}\n```\n",
    "</think>\n\n<tool_call>\n</tool_call>\n<｜DSML｜ <|tool_call_begin|> 天气很好，今天晴。 😀😀 é ü\n",
]


@cache
def base() -> Tokenizer:
    """Byte-level BPE without added tokens; every family's ordinary tokens have the same ids as here."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, show_progress=False, min_frequency=2)
    tokenizer.train_from_iterator(LINES * 3, trainer)
    return tokenizer


@cache
def tokenizer(special: tuple[str, ...], plain: tuple[str, ...]) -> Tokenizer:
    """The base with these tokens added: first the special ones."""
    made = Tokenizer.from_str(base().to_str())
    made.add_special_tokens([AddedToken(content, special=True, normalized=False) for content in special])
    made.add_tokens([AddedToken(content, special=False, normalized=False) for content in plain])
    return made


@cache
def vocab(special: tuple[str, ...], plain: tuple[str, ...]) -> hs.Vocab:
    return hs.vocab.from_tokenizers(tokenizer(special, plain))


def flavours(family: Family) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Which of the family's tokens are special, and which are added without that."""
    return {
        "as released": (family.special, family.plain),
        "all special": (family.special + family.plain, ()),
        "none special": ((), family.special + family.plain),
        "no markers": ((), ()),
        "only the stops": (family.special, ()),
        "every other marker": (family.special[::2], family.plain[::2]),
        "every other marker, special": (family.special[1::2] + family.plain[1::2], ()),
    }


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids
