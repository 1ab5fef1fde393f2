"""Calls whose arguments are an object with bare keys, and with the row's own quotes: Google's Gemma."""

from .spec import Format

# The marks are control tokens. The name of a channel follows the opener of thoughts.
GEMMA4 = Format(
    name="gemma4",
    think=("<|channel>", "<channel|>"),
    think_label="thought",
    section=("<|tool_call>", "<tool_call|>"),
    body="object",
    quote='<|"|>',
    name_as="call",
    control=True,
    stops=("<turn|>", "<|tool_response>", "<eos>"),
    turns=("<|turn>",),
    after_call="content",
)

FUNCTIONGEMMA = Format(
    name="functiongemma",
    section=("<start_function_call>", "<end_function_call>"),
    body="object",
    quote="<escape>",
    name_as="call",
    control=True,
    stops=("<end_of_turn>", "<start_function_response>", "<eos>"),
    turns=("<start_of_turn>",),
)
