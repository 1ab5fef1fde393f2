"""Moonshot's Kimi-K2 and K3."""

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


def _open(tag: str) -> str:
    return f"<|open|>{tag}<|sep|>"


def _close(tag: str) -> str:
    return f"<|close|>{tag}<|sep|>"


# Its tags are the name and the attributes between control tokens, and so markers of several tokens. Calls are numbered.
KIMI_K3 = Format(
    name="kimi_k3",
    think=(_open("think"), _close("think")),
    section=(_open("tools"), _close("tools")),
    call=('<|open|>call tool="', '"<|sep|>', _close("call")),
    attribute='" index="',
    pair=('<|open|>argument key="', '"<|sep|>', "", _close("argument")),
    typed={
        '" type="string"<|sep|>': "string",
        **{f'" type="{kind}"<|sep|>': "json" for kind in ("number", "integer", "boolean", "object", "array", "null")},
    },
    stops=("<|end_of_msg|>", "[EOS]"),
    drop=(_close("response"), _open("message"), _close("message"), "<|open|>", "<|close|>"),
    answer=(_open("response"),),
)
