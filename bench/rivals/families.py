"""The formats that are compared: how a model writes a call in them, and which parsers of the rivals read them.

Imports nothing but the standard library: the processes of the rivals read it, too.
"""

from __future__ import annotations

from typing import NamedTuple

TOOL = {
    "type": "function",
    "function": {
        "name": "write_file",
        "description": "Writes a file",
        "parameters": {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
    },
}


class Parsers(NamedTuple):
    """A rival's names of its two parsers; None: the model is served without one."""

    tools: str | None
    reasoning: str | None


class Family(NamedTuple):
    """A format: the name of our row, the prompt's end, and what stands around the one string of the call.

    `json`: the string is escaped. A rival that is None does not know the format.
    """

    format: str
    label: str
    prompt: str
    before: str
    after: str
    json: bool
    vllm: Parsers | None
    sglang: Parsers | None


JSON = '{"content": "', '"}'

FAMILIES = (
    Family(
        "hermes",
        "Qwen3, Hermes",
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
        '<tool_call>\n{"name": "write_file", "arguments": ' + JSON[0],
        JSON[1] + "}\n</tool_call>",
        json=True,
        vllm=Parsers("hermes", "qwen3"),
        sglang=Parsers("qwen25", "qwen3"),
    ),
    Family(
        "qwen3_coder",
        "Qwen3-Coder",
        "<|im_start|>assistant\n",
        "<tool_call>\n<function=write_file>\n<parameter=content>\n",
        "\n</parameter>\n</function>\n</tool_call>",
        json=False,
        vllm=Parsers("qwen3_coder", None),
        sglang=Parsers("qwen3_coder", None),
    ),
    Family(
        "seed_oss",
        "Seed-OSS",
        "<seed:bos>assistant\n<seed:think></seed:think>",
        "<seed:tool_call>\n<function=write_file>\n<parameter=content>",
        "</parameter>\n</function>\n</seed:tool_call>",
        json=False,
        vllm=Parsers("seed_oss", "seed_oss"),
        sglang=None,
    ),
    Family(
        "kimi_k2",
        "Kimi-K2",
        "<|im_assistant|>assistant<|im_middle|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>" + JSON[0],
        JSON[1] + "<|tool_call_end|><|tool_calls_section_end|>",
        json=True,
        vllm=Parsers("kimi_k2", None),
        sglang=Parsers("kimi_k2", None),
    ),
    Family(
        "glm",
        "GLM-4.5",
        "<|assistant|>\n<think></think>\n",
        "<tool_call>write_file\n<arg_key>content</arg_key>\n<arg_value>",
        "</arg_value>\n</tool_call>",
        json=False,
        vllm=Parsers("glm45", "glm45"),
        sglang=Parsers("glm45", "glm45"),
    ),
    Family(
        "deepseek",
        "DeepSeek-V3.1",
        "<｜Assistant｜></think>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_file<｜tool▁sep｜>" + JSON[0],
        JSON[1] + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        json=True,
        vllm=Parsers("deepseek_v31", "deepseek_v3"),
        sglang=Parsers("deepseekv31", "deepseek-v3"),
    ),
    Family(
        "dsml",
        "DeepSeek-V3.2",
        "<｜Assistant｜></think>",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="write_file">\n'
        '<｜DSML｜parameter name="content" string="true">',
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        json=False,
        vllm=Parsers("deepseek_v32", "deepseek_v3"),
        sglang=Parsers("deepseekv32", "deepseek-v3"),
    ),
)

THINK = Family(
    "think",
    "DeepSeek-R1",
    "<｜Assistant｜><think>\n",
    "",
    "</think>\n\nIt is done.",
    json=False,
    vllm=Parsers(None, "deepseek_r1"),
    sglang=Parsers(None, "deepseek-r1"),
)

OF_FORMAT = {family.format: family for family in (*FAMILIES, THINK)}

# One vocabulary serves all families: o200k_base, and these from 199,998 on. True: a special token of the model.
ADDED = {
    "<think>": False,
    "</think>": False,
    "<tool_call>": False,
    "</tool_call>": False,
    "<|im_start|>": True,
    "<|im_end|>": True,
    "[EOS]": True,
    "<|endoftext|>": True,
    "<seed:bos>": True,
    "<seed:eos>": True,
    "<seed:think>": False,
    "</seed:think>": False,
    "<seed:tool_call>": False,
    "</seed:tool_call>": False,
    "<|im_user|>": True,
    "<|im_assistant|>": True,
    "<|im_middle|>": True,
    "<|tool_calls_section_begin|>": False,
    "<|tool_calls_section_end|>": False,
    "<|tool_call_begin|>": False,
    "<|tool_call_argument_begin|>": False,
    "<|tool_call_end|>": False,
    "<|user|>": True,
    "<|assistant|>": True,
    "<|observation|>": True,
    "<arg_key>": False,
    "</arg_key>": False,
    "<arg_value>": False,
    "</arg_value>": False,
    "<｜end▁of▁sentence｜>": True,
    "<｜User｜>": True,
    "<｜Assistant｜>": True,
    "<｜tool▁calls▁begin｜>": False,
    "<｜tool▁calls▁end｜>": False,
    "<｜tool▁call▁begin｜>": False,
    "<｜tool▁call▁end｜>": False,
    "<｜tool▁sep｜>": False,
    "｜DSML｜": False,
}
FIRST_ADDED = 199_998
ADDED_IDS = {marker: FIRST_ADDED + at for at, marker in enumerate(ADDED)}
