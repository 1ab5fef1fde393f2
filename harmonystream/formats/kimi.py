"""Moonshot's Kimi-K2."""

from .spec import Format

KIMI_K2 = Format(
    name="kimi_k2",
    think=("<think>", "</think>"),
    section=(
        ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        ("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
    ),
    call=("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"),
    name_as="id",
    control=True,
    stops=("<|im_end|>", "[EOS]"),
    turns=("<|im_user|>", "<|im_assistant|>", "<|im_system|>"),
)
