"""The Harmony machine: costs that must not depend on what came before, and recorded shapes of whole turns."""

from __future__ import annotations

import subprocess
import sys

import pytest
from streams import run, to_ids, without_ranges

import harmonystream as hs

CONTROL = hs.vocab.o200k_harmony().control


def log(ids, **options):
    return without_ranges(run(hs.Parser(**options), [ids]))


def test_one_turn_of_everything():
    ids = to_ids(
        "<|channel|>analysis<|message|>用户 asks.<|end|>"
        "<|start|>assistant<|channel|>commentary<|message|>Looking 👀<|end|>"
        "<|start|>assistant<|channel|>commentary to=functions.find <|constrain|>json<|message|>"
        '{"q":"茶"}<|call|>'.encode()
    )
    assert log(ids) == [
        ("MessageStart", "assistant", "analysis", None, None),
        ("ReasoningDelta", "用户 asks."),
        ("MessageEnd", "assistant", "analysis", None, None),
        ("MessageStart", "assistant", "commentary", None, None),
        ("ContentDelta", "Looking 👀", "commentary"),
        ("MessageEnd", "assistant", "commentary", None, None),
        ("MessageStart", "assistant", "commentary", "functions.find", "json"),
        ("ToolCallStart", 0, "find", None, "function"),
        ("ToolCallDelta", 0, '{"q":"茶"}'),
        ("ToolCallEnd", 0, True, True),
        ("MessageEnd", "assistant", "commentary", "functions.find", "json"),
        ("StreamEnd", "tool_calls"),
    ]


@pytest.mark.parametrize(
    "name", [*sorted(CONTROL)[:3], "<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|constrain|>"]
)
def test_endless_control_ids_are_bounded(name):
    """Nothing piles up, whatever is repeated."""
    parser = hs.Parser()
    for _ in range(100):
        parser.feed([CONTROL[name]] * 1000)
        assert len(parser.to_bytes()) < 1024
    assert parser.finish()
    assert parser.usage.total == 100_000


def test_a_header_that_never_ends_becomes_text_and_goes_on_streaming():
    parser = hs.Parser()
    word = to_ids(b"<|channel|>!")[1]
    events = list(parser.feed([CONTROL["<|channel|>"]] + [word] * 300))
    assert [type(event).__name__ for event in events] == ["MessageStart", "ContentDelta"]
    assert parser.feed(word) == (hs.ContentDelta("!", None, 301, 302),)
    events += parser.feed([word] * 99_999) + parser.finish()
    assert sum(len(event.text) for event in events if type(event) is hs.ContentDelta) == 300 + 99_999


@pytest.mark.release
def test_instructions_per_token_do_not_grow():
    """Steps are counted, not timed: the trace of a million-token stream holds as many Python calls as a short one."""
    code = (
        "import sys, harmonystream as hs\n"
        "p = hs.Parser(start='answer')\n"
        "p.feed([12194] * 10)\n"
        "calls = 0\n"
        "def count(*_):\n    global calls\n    calls += 1\n"
        "ids = [12194] * 200_000\n"
        "sys.setprofile(count)\n"
        "events = p.feed(ids)\n"
        "sys.setprofile(None)\n"
        "print(calls, len(events), len(events[0].text))\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert int(out[0]) <= 4
    assert out[1:] == ["1", "400000"]
