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

    `vllm`, `sglang`: that rival's names of its tool parser and of its reasoning parser, with "-" if the model is served
    without one; "" if it does not know the format.
    """

    format: str
    label: str
    vllm: str = ""
    sglang: str = ""
    prompt: str = ""
    before: str = ""
    after: str = ""

    @property
    def json(self) -> bool:
        """The string is escaped."""
        return self.before.endswith(JSON[0])

    @property
    def parsers(self) -> dict[str, tuple[str | None, ...]]:
        """By the rivals that know the format, the names of the two parsers."""
        given = {"vLLM": self.vllm, "SGLang": self.sglang}
        return {
            rival: tuple({"-": None}.get(each, each) for each in names.split())
            for rival, names in given.items()
            if names
        }


JSON = '{"content": "', '"}'
KIMI = "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>" + JSON[0]
DEEPSEEK = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_file<｜tool▁sep｜>" + JSON[0]
DSML = '<｜DSML｜function_calls>\n<｜DSML｜invoke name="write_file">\n<｜DSML｜parameter name="content" string="true">'
DSML_END = "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"

FAMILIES = (
    Family(
        *("hermes", "Qwen3, Hermes", "hermes qwen3", "qwen25 qwen3"),
        prompt="<|im_start|>assistant\n<think>\n\n</think>\n\n",
        before='<tool_call>\n{"name": "write_file", "arguments": ' + JSON[0],
        after=JSON[1] + "}\n</tool_call>",
    ),
    Family(
        *("qwen3_coder", "Qwen3-Coder", "qwen3_coder -", "qwen3_coder -"),
        prompt="<|im_start|>assistant\n",
        before="<tool_call>\n<function=write_file>\n<parameter=content>\n",
        after="\n</parameter>\n</function>\n</tool_call>",
    ),
    Family(
        *("seed_oss", "Seed-OSS", "seed_oss seed_oss", ""),
        prompt="<seed:bos>assistant\n<seed:think></seed:think>",
        before="<seed:tool_call>\n<function=write_file>\n<parameter=content>",
        after="</parameter>\n</function>\n</seed:tool_call>",
    ),
    Family(
        *("kimi_k2", "Kimi-K2", "kimi_k2 -", "kimi_k2 -"),
        prompt="<|im_assistant|>assistant<|im_middle|>",
        before=KIMI,
        after=JSON[1] + "<|tool_call_end|><|tool_calls_section_end|>",
    ),
    Family(
        *("glm", "GLM-4.5", "glm45 glm45", "glm45 glm45"),
        prompt="<|assistant|>\n<think></think>\n",
        before="<tool_call>write_file\n<arg_key>content</arg_key>\n<arg_value>",
        after="</arg_value>\n</tool_call>",
    ),
    Family(
        *("deepseek", "DeepSeek-V3.1", "deepseek_v31 deepseek_v3", "deepseekv31 deepseek-v3"),
        prompt="<｜Assistant｜></think>",
        before=DEEPSEEK,
        after=JSON[1] + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    Family(
        *("dsml", "DeepSeek-V3.2", "deepseek_v32 deepseek_v3", "deepseekv32 deepseek-v3"),
        prompt="<｜Assistant｜></think>",
        before=DSML,
        after=DSML_END,
    ),
)
THINK = Family(
    *("think", "DeepSeek-R1", "- deepseek_r1", "- deepseek-r1"),
    prompt="<｜Assistant｜><think>\n",
    after="</think>\n\nIt is done.",
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


def byte_letters() -> dict[int, str]:
    """How a byte-level BPE spells each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(0x100 + at) for at, byte in enumerate(others)}
