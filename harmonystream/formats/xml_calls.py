"""Calls whose arguments are pairs of tags: Qwen3-Coder, MiMo, Seed-OSS, GLM."""

from .spec import Format

QWEN3_CODER = Format(
    name="qwen3_coder",
    think=("<think>", "</think>"),
    section=("<tool_call>", "</tool_call>"),
    call=("<function=", ">", "</function>"),
    pair=("<parameter=", ">", "", "</parameter>"),
    wrapped=True,
    bare="declared",
    newlines="strip",
    stops=("<|im_end|>", "<|endoftext|>"),
    turns=("<|im_start|>",),
)

# The same tags, but the template writes a value as it is: a newline at its end is the file's last.
MIMO = QWEN3_CODER._replace(name="mimo", newlines="keep")

SEED_OSS = MIMO._replace(
    name="seed_oss",
    think=("<seed:think>", "</seed:think>"),
    section=("<seed:tool_call>", "</seed:tool_call>"),
    stops=("<seed:eos>",),
    turns=("<seed:bos>",),
    keep=("<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"),
)

GLM = Format(
    name="glm",
    think=("<think>", "</think>"),
    call=("<tool_call>", "", "</tool_call>"),
    pair=("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    wrapped=True,
    untyped="json",
    stops=("<|observation|>", "<|user|>", "<|endoftext|>", "<|role_end|>"),
    turns=("<|assistant|>", "<|system|>", "<role>"),
)
