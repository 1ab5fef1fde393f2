"""Calls that are one JSON object each, with the name and the arguments, or an array of those, between tags."""

from .spec import Format
from .xml_calls import QWEN3_CODER

# Fine-tunes mix the two dialects, so the body decides. The rows differ only in what they accept as a call outside its
# tags.
HERMES = QWEN3_CODER._replace(name="hermes", bare="no")

# The calls of Hermes, and other ends of a turn.
GRANITE4 = HERMES._replace(name="granite4", stops=("<|end_of_text|>",), turns=("<|start_of_role|>",))
# The first spellings of these roles, and K-EXAONE's.
_ROLES = ("|system|", "|user|", "|assistant|", "|tool|")
EXAONE4 = HERMES._replace(
    name="exaone4",
    stops=("[|endofturn|]", "<|endofturn|>", "<|endoftext|>"),
    turns=tuple(f"{left}{role}{right}" for left, right in ("[]", "<>") for role in _ROLES),
)
LING2 = HERMES._replace(name="ling2", stops=("<|role_end|>", "<|endoftext|>"), turns=("<role>",))
REKA = HERMES._replace(
    name="reka",
    think=(("<think>", "<reasoning>"), ("</think>", "</reasoning>")),
    stops=("<sep>", "<|endoftext|>"),
    turns=(),
)
ERNIE45 = HERMES._replace(
    name="ernie45",
    stops=("<|im_end|>", "</s>"),
    drop=("<response>", "</response>"),
)

# The body is an object, or has keys and values.
LONGCAT = Format(
    name="longcat",
    think=(("<think>", "<longcat_think>"), ("</think>", "</longcat_think>")),
    call=("<longcat_tool_call>", "", "</longcat_tool_call>"),
    pair=(
        "<longcat_arg_key>",
        "</longcat_arg_key>",
        "<longcat_arg_value>",
        "</longcat_arg_value>",
    ),
    wrapped=True,
    untyped="json",
    stops=("</longcat_s>",),
)

JAMBA = Format(
    name="jamba",
    think=("<think>", "</think>"),
    section=("<tool_calls>", "</tool_calls>"),
    wrapped=True,
    stops=("<|eom|>", "<|endoftext|>"),
    turns=("<|bom|>",),
)

# A line for each object, without an array.
MINIMAX_M1 = JAMBA._replace(
    name="minimax_m1",
    stops=("<end_of_sentence>",),
    turns=("<beginning_of_sentence>",),
)

HUNYUAN_A13B = JAMBA._replace(
    name="hunyuan_a13b",
    stops=("<|eos|>",),
    turns=("<|startoftext|>",),
    drop=("<answer>", "</answer>"),
)

# The prompt ends with the line that opens the reasoning.
APRIEL = JAMBA._replace(
    name="apriel",
    think=("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
    stops=("<|end|>",),
    turns=("<|begin_system|>", "<|begin_user|>", "<|begin_assistant|>", "<|begin_tool_result|>"),
    drop=("[END FINAL RESPONSE]",),
)

NEMOTRON_V2 = Format(
    name="nemotron_v2",
    think=("<think>", "</think>"),
    section=("<TOOLCALL>", "</TOOLCALL>"),
    wrapped=True,
    stops=("<SPECIAL_12>", "<|eot_id|>"),
    turns=("<SPECIAL_10>", "<SPECIAL_11>", "<|start_header_id|>"),
)

INTERNLM = Format(
    name="internlm",
    think=("<think>", "</think>"),
    section=(
        ("<|action_start|><|plugin|>", "<|action_start|> <|plugin|>", "<|action_start|>\n<|plugin|>"),
        "<|action_end|>",
    ),
    wrapped=True,
    stops=("<|im_end|>", "</s>"),
    turns=("<|im_start|>",),
)
