"""prompt=: the parser begins where the prompt leaves off."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from streams import to_ids

import harmonystream as hs
from harmonystream import Region

SYSTEM = "<|start|>system<|message|>You are helpful.<|end|><|start|>user<|message|>hi<|end|>"


@pytest.mark.parametrize(
    ("tail", "region", "channel"),
    [
        ("<|start|>assistant", Region.HEADER, None),
        ("<|start|>assistant<|channel|>analysis<|message|>", Region.REASONING, "analysis"),
        ("<|start|>assistant<|channel|>final<|message|>Sure, ", Region.CONTENT, "final"),
        ("<|start|>assistant<|channel|>commentary to=functions.f<|message|>", Region.ARGUMENTS, "commentary"),
        ("<|start|>assistant<|channel|>final<|message|>Done.<|return|>", Region.START, None),
        ("", Region.START, None),
    ],
)
@pytest.mark.parametrize("spelling", ["str", "bytes", "list", "int64"])
def test_the_last_message_decides(tail, region, channel, spelling):
    text = (SYSTEM + tail).encode()
    prompt = {"str": text.decode(), "bytes": text, "list": to_ids(text), "int64": np.array(to_ids(text))}[spelling]
    parser = hs.Parser(prompt=prompt)
    assert (parser.region, parser.channel) == (region, channel)
    assert (parser.position, parser.usage.total, parser.deviations) == (0, 0, ())


@pytest.mark.parametrize("prompt", ["", "no markup", [], [12194]])
def test_without_a_start_the_usual_place(prompt):
    assert hs.Parser(prompt=prompt).to_bytes() == hs.Parser().to_bytes()


def test_the_prompts_text_is_not_output():
    parser = hs.Parser(prompt=SYSTEM + "<|start|>assistant<|channel|>final<|message|>Sure, ")
    events = parser.feed(12194)
    assert events[1] == hs.ContentDelta("Hi", "final", 0, 1)
    parser.reset()
    assert parser.feed(12194) == events


def test_a_prompt_may_leave_off_inside_a_header():
    parser = hs.Parser(prompt=SYSTEM + "<|start|>assistant<|channel|>commentary to=functions.")
    events = parser.feed(to_ids(b"f<|message|>{}<|call|>"))
    assert events[0] == hs.MessageStart("assistant", "commentary", "functions.f", None, 0, 2)
    assert events[1].name == "f"


@pytest.mark.parametrize("prompt", [[1, 2, 3], (1,), array("i", [1])])
def test_ids_need_a_vocabulary(prompt):
    """Without one nobody can tell whether the prompt has begun a thought."""
    with pytest.raises(ValueError, match="no vocabulary"):
        hs.Parser("hermes", prompt=prompt)
    assert hs.Parser("hermes", prompt=[]).region is hs.Region.CONTENT
    assert hs.Parser("hermes", prompt="<think>").region is hs.Region.REASONING
