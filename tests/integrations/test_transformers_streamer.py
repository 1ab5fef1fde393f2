"""EventStreamer, given what generate() gives; the real one is in tests/engines/real."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import harmonystream as hs
from harmonystream.integrations.transformers import EventStreamer

VOCAB = hs.vocab.o200k_harmony()
TEXT = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes!<|return|>"
IDS = VOCAB.encode(TEXT, control=True)
PROMPT = VOCAB.encode("<|start|>user<|message|>Hi<|end|><|start|>assistant", control=True)


def collect(**options: Any) -> tuple[EventStreamer, dict[int, list[hs.Event]]]:
    events: dict[int, list[hs.Event]] = {}
    return EventStreamer(lambda row, new: events.setdefault(row, []).extend(new), **options), events


def text(events: list[hs.Event]) -> tuple[str, str]:
    kinds = (hs.ReasoningDelta, hs.ContentDelta)
    return tuple("".join(event.text for event in events if isinstance(event, kind)) for kind in kinds)


def test_one_row():
    streamer, events = collect()
    streamer.put(np.array([PROMPT]))
    for token in IDS:
        streamer.put(np.array([token]))
    streamer.end()
    assert text(events[0]) == ("Hm.", "Yes!")
    assert streamer.parsers[0].finish_reason == "stop"


def test_several_ids_at_once_of_assisted_decoding():
    streamer, events = collect()
    streamer.put(np.array([PROMPT]))
    streamer.put(np.array([IDS[:5]]))
    streamer.put(np.array([[*IDS[5:], 5, 6]]))  # what comes after the stop is not the row's
    streamer.end()
    assert text(events[0]) == ("Hm.", "Yes!")


def test_rows_that_have_ended_are_padded():
    streamer, events = collect()
    streamer.put(np.array([PROMPT, PROMPT]))
    short = VOCAB.encode("<|channel|>final<|message|>A<|return|>", control=True)
    for at, token in enumerate(IDS):
        streamer.put(np.array([token, short[at] if at < len(short) else 17196]))
    streamer.end()
    assert [text(events[row]) for row in (0, 1)] == [("Hm.", "Yes!"), ("", "A")]


def test_a_cut_row_and_other_stops():
    streamer, events = collect(stop_ids=[IDS[-2]])
    streamer.put(np.array([PROMPT]))
    for token in IDS:
        streamer.put(np.array([token]))
    assert text(events[0]) == ("Hm.", "Yes!")
    cut, events = collect()
    cut.put(np.array([PROMPT]))
    cut.put(np.array(IDS[:4]))
    cut.end()
    assert cut.parsers[0].finish_reason == "length"


def test_wrong_options_are_refused_at_once():
    with pytest.raises(TypeError, match="no prompt"):
        collect(prompt="x")
    with pytest.raises(hs.errors.FormatError):
        collect(format="nothing")


@pytest.mark.parametrize("stop", ["STOP", "ST OP", "P", " two"])
@pytest.mark.parametrize("ends", [True, False])
def test_a_stop_string_is_a_stop(stop, ends):
    streamer, events = collect(stop_strings=[stop, "none of these"])
    streamer.put(np.array([PROMPT]))
    written = VOCAB.encode(f"<|channel|>final<|message|>one{stop if ends else ' tw'}", control=True)
    for token in written:
        streamer.put(np.array([token]))
    streamer.end()
    assert streamer.parsers[0].finish_reason == ("stop" if ends else "length")
    assert text(events[0])[1].startswith("one")


@pytest.mark.parametrize("stop", ["STOP", "P", "one STOP", ["STOP", "STOP that is longer than all there is before it"]])
def test_a_row_that_a_stop_string_has_ended_is_padded(stop):
    """generate() goes on for the other rows, and pads the row with whatever it pads with: text, too."""
    streamer, events = collect(stop_strings=stop)
    streamer.put(np.array([PROMPT, PROMPT]))
    short = VOCAB.encode("<|channel|>final<|message|>one STOP", control=True)
    for at, token in enumerate(IDS):
        streamer.put(np.array([token, short[at] if at < len(short) else 17196]))
    streamer.end()
    assert [text(events[row]) for row in (0, 1)] == [("Hm.", "Yes!"), ("", "one STOP")]
    assert [parser.finish_reason for parser in streamer.parsers] == ["stop", "stop"]


def test_a_stop_string_that_ends_before_the_last_token_is_not_seen_by_generate():
    """Assisted decoding gives several ids at once, and generate() looks only for what ends in the last one."""
    streamer, events = collect(stop_strings="STOP")
    streamer.put(np.array([PROMPT]))
    written = VOCAB.encode("<|channel|>final<|message|>one STOP and more", control=True)
    streamer.put(np.array([written]))
    streamer.end()
    assert text(events[0]) == ("", "one STOP and more")
    assert streamer.parsers[0].finish_reason == "length"


def test_the_next_call_of_generate_begins_anew():
    streamer, events = collect()
    for _ in range(2):
        events.clear()
        streamer.put(np.array([PROMPT]))
        for token in IDS:
            streamer.put(np.array([token]))
        streamer.end()
        assert text(events[0]) == ("Hm.", "Yes!")
