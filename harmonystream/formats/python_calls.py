"""Calls as Python writes them: `[f(a=1, b="x"), g()]`."""

from .open_calls import LLAMA3
from .spec import Format

PYTHONIC = LLAMA3._replace(
    name="pythonic",
    section=(("<|python_start|>", "<|python_tag|>", ""), ("<|python_end|>", "")),
    body="python",
)

OLMO3 = Format(
    name="olmo3",
    think=("<think>", "</think>"),
    section=("<function_calls>", "</function_calls>"),
    body="python",
    stops=("<|im_end|>", "<|endoftext|>"),
    turns=("<|im_start|>",),
)

LFM2 = Format(
    name="lfm2",
    think=("<think>", "</think>"),
    section=("<|tool_call_start|>", "<|tool_call_end|>"),
    wrapped=True,
    body="python",
    bare_line="call",
    stops=("<|im_end|>", "<|endoftext|>"),
    turns=("<|im_start|>",),
)
