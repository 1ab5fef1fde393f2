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


def _spaced(marker: str) -> tuple[str, ...]:
    """The tag, also with blanks around its name."""
    name = marker.split("|>")[1].split("<|")[0]
    return tuple(marker.replace(name, form) for form in (name, f" {name}", f"{name} ", f" {name} "))


# Its tags are the name and the attributes between control tokens, so a marker has several tokens. Calls are numbered.
# The arguments of a call may also be one object, in a tag of its own.
KIMI_K3 = Format(
    name="kimi_k3",
    think=((*_spaced(_open("think")), "<think>"), (*_spaced(_close("think")), "</think>")),
    section=(_spaced(_open("tools")), _spaced(_close("tools"))),
    call=(
        '<|open|>call tool="',
        ('"<|sep|>', *('"<|sep|>' + _open(tag) for tag in ("json", 'json type="object"'))),
        (*_spaced(_close("call")), _close("json") + _close("call")),
    ),
    attribute='" index="',
    pair=('<|open|>argument key="', '"<|sep|>', "", _spaced(_close("argument"))),
    wrapped="read",
    typed={
        '" type="string"<|sep|>': "string",
        **{f'" type="{kind}"<|sep|>': "json" for kind in ("number", "integer", "boolean", "object", "array", "null")},
    },
    stops=("<|end_of_msg|>", "[EOS]"),
    drop=(
        *_spaced(_close("response")),
        *_spaced(_open("message")),
        _open('message role="assistant"'),
        *_spaced(_close("message")),
        "<|open|>",
        "<|close|>",
    ),
    answer=_spaced(_open("response")),
)
