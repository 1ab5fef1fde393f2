"""The tag formats that are compared: how a model writes a call in them, and which parsers of the rivals read them.

Imports nothing but the standard library: the processes of the rivals read it, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple


def tool(**properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": ["content"]}
    return {"type": "function", "function": {"name": "write_file", "parameters": parameters}}


TOOL = tool(content={"type": "string"})


class Family(NamedTuple):
    """A format: the name of our row, the prompt's end, and the text before and after the one string of the call.

    `json`: the string is escaped. `parsers`: each rival's names of its tool parser and of its reasoning parser (None:
    the model is served without one); a rival that does not know the format is absent.
    """

    format: str
    label: str
    prompt: str
    before: str
    after: str
    json: bool
    parsers: dict[str, tuple[str | None, str | None]]


def read_by(vllm: tuple[str | None, str | None], sglang: tuple[str | None, str | None]) -> dict[str, Any]:
    return {"vLLM": vllm, "SGLang": sglang}


JSON = '{"content": "', '"}'

FAMILIES = (
    Family(
        "hermes",
        "Qwen3, Hermes",
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
        '<tool_call>\n{"name": "write_file", "arguments": ' + JSON[0],
        JSON[1] + "}\n</tool_call>",
        True,
        read_by(vllm=("hermes", "qwen3"), sglang=("qwen25", "qwen3")),
    ),
    Family(
        "qwen3_coder",
        "Qwen3-Coder",
        "<|im_start|>assistant\n",
        "<tool_call>\n<function=write_file>\n<parameter=content>\n",
        "\n</parameter>\n</function>\n</tool_call>",
        False,
        read_by(vllm=("qwen3_coder", None), sglang=("qwen3_coder", None)),
    ),
    Family(
        "seed_oss",
        "Seed-OSS",
        "<seed:bos>assistant\n<seed:think></seed:think>",
        "<seed:tool_call>\n<function=write_file>\n<parameter=content>",
        "</parameter>\n</function>\n</seed:tool_call>",
        False,
        {"vLLM": ("seed_oss", "seed_oss")},
    ),
    Family(
        "kimi_k2",
        "Kimi-K2",
        "<|im_assistant|>assistant<|im_middle|>",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>" + JSON[0],
        JSON[1] + "<|tool_call_end|><|tool_calls_section_end|>",
        True,
        read_by(vllm=("kimi_k2", None), sglang=("kimi_k2", None)),
    ),
    Family(
        "glm",
        "GLM-4.5",
        "<|assistant|>\n<think></think>\n",
        "<tool_call>write_file\n<arg_key>content</arg_key>\n<arg_value>",
        "</arg_value>\n</tool_call>",
        False,
        read_by(vllm=("glm45", "glm45"), sglang=("glm45", "glm45")),
    ),
    Family(
        "deepseek",
        "DeepSeek-V3.1",
        "<｜Assistant｜></think>",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_file<｜tool▁sep｜>" + JSON[0],
        JSON[1] + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        True,
        read_by(vllm=("deepseek_v31", "deepseek_v3"), sglang=("deepseekv31", "deepseek-v3")),
    ),
    Family(
        "dsml",
        "DeepSeek-V3.2",
        "<｜Assistant｜></think>",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="write_file">\n'
        '<｜DSML｜parameter name="content" string="true">',
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        False,
        read_by(vllm=("deepseek_v32", "deepseek_v3"), sglang=("deepseekv32", "deepseek-v3")),
    ),
)
THINK = Family(
    "think",
    "DeepSeek-R1",
    "<｜Assistant｜><think>\n",
    "",
    "</think>\n\nIt is done.",
    False,
    read_by(vllm=(None, "deepseek_r1"), sglang=(None, "deepseek-r1")),
)
OF_FORMAT = {family.format: family for family in (*FAMILIES, THINK)}

# One vocabulary serves all families: o200k_base, and these markers from 199,998 on, one token each.
SPECIAL_TEXT = """<|im_start|> <|im_end|> [EOS] <|endoftext|> <seed:bos> <seed:eos> <|im_user|> <|im_assistant|>
    <|im_middle|> <|user|> <|assistant|> <|observation|> <｜end▁of▁sentence｜> <｜User｜> <｜Assistant｜> <|EOT|>
    <|im_system|>"""
PLAIN_TEXT = """<think> </think> <tool_call> </tool_call> <seed:think> </seed:think> <seed:tool_call>
    </seed:tool_call> <|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|>
    <|tool_call_argument_begin|> <|tool_call_end|> <arg_key> </arg_key> <arg_value> </arg_value>
    <｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> ｜DSML｜
    <｜search▁begin｜> <｜search▁end｜>"""
SPECIAL, PLAIN = SPECIAL_TEXT.split(), PLAIN_TEXT.split()
FIRST_ADDED = 199_998
ADDED_IDS = {marker: FIRST_ADDED + at for at, marker in enumerate([*SPECIAL, *PLAIN])}
