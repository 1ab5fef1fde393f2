"""Which field a text goes to, and where a blank line parts two messages, with and without what was said before."""

from __future__ import annotations

import pytest
from wire_chat import stream_of
from wire_frames import payloads_of

import harmonystream as hs

TEXT = (
    "<|channel|>commentary<|message|>First<|end|><|start|>assistant<|channel|>analysis<|message|>Think<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Last<|end|><|start|>assistant<|channel|>analysis<|message|>More<|end|>"
)


def deltas(preamble: str | None, *, keep_text: bool) -> list[dict[str, str]]:
    stream = stream_of(hs.Parser(), preamble_field=preamble, keep_text=keep_text)
    stream.start()
    return [payload["choices"][0]["delta"] for payload in payloads_of(stream.feed_text(TEXT))]


@pytest.mark.parametrize("keep_text", [True, False])
def test_a_blank_line_parts_the_messages_of_one_field(keep_text):
    assert deltas("content", keep_text=keep_text) == [
        *({"content": "First"}, {"reasoning": "Think"}, {"content": "\n\n"}, {"content": "Last"}),
        *({"reasoning": "\n\n"}, {"reasoning": "More"}),
    ]
    assert deltas(None, keep_text=keep_text) == [
        *({"reasoning": "Think"}, {"content": "Last"}, {"reasoning": "\n\n"}, {"reasoning": "More"}),
    ]
    assert deltas("reasoning", keep_text=keep_text) == [
        *({"reasoning": "First"}, {"reasoning": "\n\n"}, {"reasoning": "Think"}, {"content": "Last"}),
        *({"reasoning": "\n\n"}, {"reasoning": "More"}),
    ]
