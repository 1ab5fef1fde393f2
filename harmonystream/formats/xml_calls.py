"""Calls whose arguments are pairs of tags: Qwen3-Coder, Seed-OSS, GLM."""

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

SEED_OSS = QWEN3_CODER._replace(
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
    stops=("<|observation|>", "<|user|>", "<|endoftext|>"),
    turns=("<|assistant|>", "<|system|>"),
)
