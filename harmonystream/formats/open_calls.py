"""Calls without a closer, which end together with their JSON."""

from .spec import NAME_ALIASES, Format

MISTRAL = Format(
    name="mistral",
    think=(("[THINK]", "<think>"), ("[/THINK]", "</think>")),  # Magistral 2506 spells them as text
    call=("[TOOL_CALLS]", ("[ARGS]", ""), ""),
    call_id="[CALL_ID]",
    wrapped=True,
    bare_line="call",
    stops=("</s>",),
    turns=("[INST]", "[/INST]", "[TOOL_RESULTS]"),
    drop=("[/TOOL_CALLS]",),
)

PHI4_MINI = Format(
    name="phi4_mini",
    section=(("functools", "<|tool_call|>"), ("", "<|/tool_call|>")),
    wrapped=True,
    bare_line="call",
    stops=("<|end|>", "<|endoftext|>", "<|eot_id|>"),
    turns=("<|user|>", "<|system|>", "<|assistant|>", "<|start_header_id|>"),
)

GRANITE3 = Format(
    name="granite3",
    think=(
        ("Here is my thought process:", "Here's my thought process:", "<think>"),
        ("Here is my response:", "Here's my response:", "</think>"),
    ),
    section=(("<|tool_call|>", "<tool_call>"), ("", "</tool_call>")),
    wrapped=True,
    bare_line="call",
    stops=("<|end_of_text|>",),
    turns=("<|start_of_role|>",),
    drop=("<response>", "</response>"),
)

GRANITE_20B = Format(
    name="granite_20b",
    section=("<function_call>", ""),
    wrapped=True,
    stops=("<|endoftext|>",),
)

GIGACHAT3 = Format(
    name="gigachat3",
    section=(("function call<|role_sep|>", "<|function_call|>"), ""),  # the second is 3.1's
    wrapped=True,
    stops=("</s>",),
    drop=("<|message_sep|>",),
)

LLAMA3 = Format(
    name="llama3",
    section=(("<|python_tag|>", "<|python_start|>", ""), ("", "<|python_end|>")),  # the second is Llama 4's
    wrapped=True,
    between=";",
    bare_line="call",
    stops=("<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|eot|>", "<|eom|>"),
    turns=("<|start_header_id|>", "<|header_start|>"),
)

XLAM = LLAMA3._replace(
    name="xlam",
    think=("<think>", "</think>"),
    # Qwen2.5-Coder's, which also writes bare objects, and fences
    section=(("<tool_call>", "[TOOL_CALLS]", "<tools>", ""), ("</tool_call>", "</tools>", "")),
    between="",
    fenced="call",
    stops=("<|im_end|>", "<|endoftext|>", "</s>", "<|eot_id|>"),
    turns=("<|im_start|>", "<|start_header_id|>"),
)

COHERE = Format(
    name="cohere",
    think=("<|START_THINKING|>", "<|END_THINKING|>"),
    section=("<|START_ACTION|>", "<|END_ACTION|>"),
    wrapped=True,
    members={
        "tool_call_id": "id",
        "tool_name": "name",
        "name": "name",
        "parameters": "arguments",
        "arguments": "arguments",
        "args": "arguments",
        "input": "arguments",
        "type": "other",
        **{key: use for key, use in NAME_ALIASES.items() if key != "tool_name"},
    },
    stops=("<|END_OF_TURN_TOKEN|>",),
    turns=("<|START_OF_TURN_TOKEN|>",),
    drop=("<|END_RESPONSE|>", "<|END_TEXT|>", "<|CHATBOT_TOKEN|>"),
    answer=("<|START_RESPONSE|>", "<|START_TEXT|>"),
)

APERTUS = Format(
    name="apertus",
    think=("<|inner_prefix|>", "<|inner_suffix|>"),
    section=("<|tools_prefix|>", "<|tools_suffix|>"),
    wrapped=True,
    members={
        "*": "call",
        "name": "name",
        "arguments": "arguments",
        "parameters": "arguments",
        "args": "arguments",
        "input": "arguments",
        "id": "id",
        "type": "other",
        **NAME_ALIASES,
    },
    stops=("<|assistant_end|>",),
    turns=("<|assistant_start|>", "<|user_start|>", "<|system_start|>"),
)
