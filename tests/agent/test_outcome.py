"""What a loop ends with."""

from __future__ import annotations

import pytest

from harmonystream import ToolCall
from harmonystream.agent import LoopEnd

CALL = ToolCall(0, "f", "{}", "call_0", "function", True, True)


@pytest.mark.parametrize(
    ("text", "calls", "outcome"),
    [("Hi", (), "text"), ("Hi", (CALL,), "calls"), ("", (CALL,), "calls"), ("", (), "neither"), (" \n", (), "neither")],
)
def test_text_calls_or_neither(text, calls, outcome):
    assert LoopEnd("answer", text, calls).outcome == outcome
