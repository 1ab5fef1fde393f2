"""Calls whose arguments are pairs of tags, `<arg_key>` and `<arg_value>`: GLM, and models that adopted its form."""

from .spec import Format

GLM = Format(
    name="glm",
    think=("<think>", "</think>"),
    call=("<tool_call>", "", ("</tool_call>", "</_call>")),
    pair=("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"),
    wrapped=True,
    untyped="json",
    stops=("<|observation|>", "<|user|>", "<|endoftext|>", "<|role_end|>", "<｜end▁of▁sentence｜>"),
    turns=("<|assistant|>", "<|system|>", "<role>", "<｜start▁of▁sentence｜>"),
)

# The model sometimes writes `<user>` in place of the opener. `<user>` begins no turn here, because `<assistant>` does.
POOLSIDE_V1 = GLM._replace(
    name="poolside_v1",
    call=(("<tool_call>", "<user>"), "", ("</tool_call>", "</_call>")),
    bare_line="call",
    stops=("</assistant>",),
    turns=("<assistant>", "<system>"),
)

IQUEST_Q1 = GLM._replace(
    name="iquest_q1",
    call=("<iquest_tool_call>", "", "</iquest_tool_call>"),
    stops=(),
    turns=("<|iquest_assistant|>",),
)


def _suffixed(tag: str) -> tuple[str, str]:
    """The tag as in the preview of the model, and as in the released model."""
    return tag, tag.replace(">", ":opensource>")


HY_V3 = Format(
    name="hy_v3",
    think=(_suffixed("<think>"), _suffixed("</think>")),
    section=(_suffixed("<tool_calls>"), _suffixed("</tool_calls>")),
    call=(_suffixed("<tool_call>"), _suffixed("<tool_sep>"), _suffixed("</tool_call>")),
    pair=(_suffixed("<arg_key>"), _suffixed("</arg_key>"), _suffixed("<arg_value>"), _suffixed("</arg_value>")),
    wrapped="read",
    untyped="json",
    stops=("<｜hy_eos｜>", "<｜hy_eos:opensource｜>"),
    turns=("<｜hy_User｜>", "<｜hy_Assistant｜>", "<｜hy_User:opensource｜>", "<｜hy_Assistant:opensource｜>"),
)

# Without a separator. A checkpoint may add a suffix of its own to each tag, which its tokenizer shows.
HY_V4 = HY_V3._replace(name="hy_v4", call=(_suffixed("<tool_call>"), "", _suffixed("</tool_call>")))


def _ifm(tag: str) -> tuple[str, str]:
    return f"<ifm|{tag}>", f"</ifm|{tag}>"


# Each effort has its own tags for reasoning, and the model mixes them. A call is an object, or has keys and values,
# with types or without. The prompt says which.
K2_HORIZON = Format(
    name="k2_horizon",
    think=(
        ("<ifm|think>", "<ifm|think_fast>", "<ifm|think_faster>"),
        ("</ifm|think>", "</ifm|think_fast>", "</ifm|think_faster>"),
    ),
    section=_ifm("tool_calls"),
    call=("<ifm|tool_call>", "", "</ifm|tool_call>"),
    pair=(*_ifm("arg_key"), *_ifm("arg_value")),
    value_type=_ifm("arg_type"),
    wrapped=True,
    stops=("<|ifm|im_end|>", "<|ifm|endoftext|>"),
    turns=("<|ifm|im_start|>",),
)
