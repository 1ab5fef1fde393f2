"""Calls whose arguments are pairs of tags, in `<function=…>` or `<invoke name="…">`."""

from .spec import Format

QWEN3_CODER = Format(
    name="qwen3_coder",
    think=("<think>", "</think>"),
    section=("<tool_call>", ("</tool_call>", "</_call>")),  # the second lacks the middle one of its tokens
    call=("<function=", ">", "</function>"),
    pair=("<parameter=", ">", "", "</parameter>"),
    wrapped=True,
    bare="declared",
    newlines="strip",
    stops=("<|im_end|>", "<|endoftext|>"),
    turns=("<|im_start|>",),
)

# The same tags, but the template writes a value unchanged: a newline at its end is the file's last one.
MIMO = QWEN3_CODER._replace(name="mimo", newlines="keep")

# The other model's tags are sometimes around a call, in place of its own or inside them.
SEED_OSS = MIMO._replace(
    name="seed_oss",
    think=("<seed:think>", "</seed:think>"),
    section=(("<seed:tool_call>", "<tool_call>"), ("</seed:tool_call>", "</tool_call>")),
    stops=("<seed:eos>",),
    turns=("<seed:bos>",),
    keep=("<seed:cot_budget_reflect>", "</seed:cot_budget_reflect>"),
)

# A tag around JSON: the name is in the tag.
FUNCTIONARY = Format(
    name="functionary",
    call=("<function=", ">", "</function>"),
    stops=("<|eot_id|>", "<|eom_id|>"),
    turns=("<|start_header_id|>",),
)

_M3 = "]<]minimax[>["  # before each of M3's tags


def _m3(tag: str) -> tuple[str, str]:
    return tag, _M3 + tag


def _unmarked(tag: str) -> tuple[str, str]:
    return _M3 + tag, tag


# M2 and M3 sometimes write each other's tags, and M2 also other models' sections. An argument of M3 may also be an
# element with the attribute `name`.
MINIMAX_M2 = Format(
    name="minimax_m2",
    think=(("<think>", "<mm:think>"), ("</think>", "</mm:think>")),
    section=(
        ("<minimax:tool_call>", *_m3("<tool_call>"), "<tool_calls>", "<function_calls>"),
        ("</minimax:tool_call>", *_m3("</tool_call>"), "</tool_calls>", "</function_calls>"),
    ),
    call=((*_m3('<invoke name="'), "<invoke name='"), ('">', "'>"), _m3("</invoke>")),
    pair=((*_m3('<parameter name="'), "<parameter name='"), ('">', "'>"), "", _m3("</parameter>")),
    wrapped="read",
    bare="declared",
    stops=("[e~[",),
    turns=("]~b]",),
)

MINIMAX_M3 = Format(
    name="minimax_m3",
    think=(("<mm:think>", "<think>"), ("</mm:think>", "</think>")),
    section=(_M3 + "<tool_call>", _unmarked("</tool_call>")),
    call=((_M3 + '<invoke name="', _M3 + "<invoke name='"), ('">', "'>"), _unmarked("</invoke>")),
    element=(_M3 + "<", ">", _M3 + "</"),
    wrapped="read",
    stops=("[e~[",),
    turns=("]~b]",),
)

DOTS = MINIMAX_M2._replace(
    name="dots",
    think=("<think>", "</think>"),
    section=("<dots_function_call>", "</dots_function_call>"),
    call=(('<invoke name="', "<invoke name='"), ('">', "'>"), "</invoke>"),
    pair=(('<parameter name="', "<parameter name='"), ('">', "'>"), "", "</parameter>"),
    wrapped=True,
    stops=("<|endofresponse|>",),
    turns=("<|system|>", "<|userprompt|>", "<|response|>"),
)


def _spaced(tag: str) -> tuple[str, ...]:
    """The tag with both kinds of quotes, and without its space, as detokenizers of control tokens leave it."""
    return tuple(form + quote for form in (tag, tag.replace(" ", "")) for quote in "\"'")


MINICPM5 = Format(
    name="minicpm5",
    think=("<think>", "</think>"),
    call=(_spaced("<function name="), ('">', "'>"), "</function>"),
    pair=(_spaced("<param name="), ('">', "'>"), "", "</param>"),
    cdata=("<![CDATA[", "]]>"),
    empty_call='"/>',
    stops=("<|im_end|>", "</s>"),
    turns=("<|im_start|>",),
)

# DeepSeek's frame is around each call. The model leaves out all or part of it.
_INVOKE = '<steptml:invoke name="'
STEP3 = Format(
    name="step3",
    think=("<think>", "</think>"),
    section=("<｜tool_calls_begin｜>", "<｜tool_calls_end｜>"),
    call=(
        (
            f"<｜tool_call_begin｜>function<｜tool_sep｜>{_INVOKE}",
            f"<｜tool_call_begin｜>function<｜tool_sep｜>\n{_INVOKE}",
            f"<｜tool_call_begin｜>function{_INVOKE}",
            f"<｜tool_call_begin｜><｜tool_sep｜>{_INVOKE}",
            f"<｜tool_call_begin｜>function\n{_INVOKE}",
            f"<｜tool_call_begin｜>{_INVOKE}",
            f"<｜tool_call_begin｜>\n{_INVOKE}",
            _INVOKE,
        ),
        '">',
        (
            "</steptml:invoke><｜tool_call_end｜>",
            "</steptml:invoke>\n<｜tool_call_end｜>",
            "</steptml:invoke>",
            "<｜tool_call_end｜>",
        ),
    ),
    pair=('<steptml:parameter name="', '">', "", "</steptml:parameter>"),
    wrapped="read",
    stops=("<|EOT|>", "<｜end▁of▁sentence｜>"),
    turns=("<|BOT|>",),
    drop=("<｜tool_call_begin｜>", "<｜tool_sep｜>"),
)
