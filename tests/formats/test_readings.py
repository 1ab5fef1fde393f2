"""Where two readings are right, a row says which: each of its fields, in every cut."""

from __future__ import annotations

import pytest

import harmonystream as hs
from harmonystream.formats import format_of

CALL = '<tool_call>{"name": "f"}</tool_call>'
FENCED = f"So:\n```\n{CALL}\n```\nDone."
MENTION = "Use `<think>` tags.</think> Hi."
IN_FENCE = "```\n<think>x</think>\n```"
THOUGHT = f"<think>Hm.\n{CALL}\nDone.{CALL} Bye.</think>!"

# the field, its value, the stream; then reasoning, content, the number of calls, and the deviations
READINGS = {
    "fenced": (
        ({}, FENCED, ("", FENCED, 0, ["fenced-call"])),
        ({"fenced": "call"}, FENCED, ("", "So:\n```\n```\nDone.", 1, [])),
        ({"fenced": "call"}, f"```xml {CALL}", ("", "```xml ", 1, [])),
    ),
    "mention": (
        ({}, MENTION, ("", MENTION, 0, [])),
        ({"mention": "think"}, MENTION, ("` tags.", "Use ` Hi.", 0, [])),
        ({}, IN_FENCE, ("", IN_FENCE, 0, [])),
        ({"mention": "think"}, IN_FENCE, ("x", "```\n```", 0, [])),
    ),
    "after_call": (
        ({}, THOUGHT, ("Hm.\nDone. Bye.", "!", 2, ["call-in-reasoning"] * 2)),
        ({"after_call": "content"}, THOUGHT, ("Hm.", "Done. Bye.!", 2, ["call-in-reasoning", "stray-closer"])),
        ({"after_call": "content"}, f"a{CALL}b", ("", "a\nb", 1, [])),
    ),
}


@pytest.mark.parametrize("changes, text, expected", [one for some in READINGS.values() for one in some])
def test_a_row_says_which_reading(changes, text, expected):
    row = format_of("hermes")._replace(**changes)
    vocab = hs.vocab.from_bytes([bytes([i]) for i in range(256)], {"<|im_end|>": 256})
    for step in (1, 2, 7, len(text)):
        for parser, feed, stream in (
            (hs.Parser(row, tools=["f"]), "feed_text", text),
            (hs.Parser(row, vocab, tools=["f"]), "feed", list(text.encode())),
        ):
            events = [
                event for i in range(0, len(stream), step) for event in getattr(parser, feed)(stream[i : i + step])
            ]
            events += parser.finish()
            reasoning = "".join(event.text for event in events if isinstance(event, hs.ReasoningDelta))
            content = "".join(event.text for event in events if isinstance(event, hs.ContentDelta))
            calls = sum(isinstance(event, hs.ToolCallStart) for event in events)
            assert (reasoning, content, calls, [one.code for one in parser.deviations]) == expected, step


def test_a_row_for_objects_where_the_ids_of_kimi_belong():
    """One report: the call is an object, without the parts that the row kimi_k2 has. docs/formats.md shows the row."""
    row = format_of("kimi_k2")._replace(
        section=("<|tool_call_begin|>", "<|tool_call_end|>"),
        call=None,
        name_as="plain",
        wrapped=True,
        drop=("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    )
    one = '<|tool_call_begin|>{"name": "f", "arguments": {"a": 1}}<|tool_call_end|>'
    text = f"Hi.<|tool_calls_section_begin|>{one}{one}<|tool_calls_section_end|><|im_end|>"
    done = hs.parse(text, row)
    assert (done.content, [call.arguments for call in done.tool_calls]) == ("Hi.", ['{"a": 1}'] * 2)
    assert done.deviations == ()
    assert hs.parse(text, "kimi_k2").content == text.removesuffix("<|im_end|>")
