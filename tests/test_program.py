"""Programs: a format on a vocabulary."""

from __future__ import annotations

import pytest

import harmonystream as hs
from harmonystream._program import Program
from harmonystream.formats.harmony import HARMONY

MARKERS = HARMONY.markers.values()
SMALL = hs.vocab.from_bytes([b"a"], {name: i + 1 for i, name in enumerate(MARKERS)})


@pytest.mark.parametrize("missing", MARKERS)
def test_a_vocabulary_without_a_marker_is_refused_by_name(missing):
    vocab = hs.vocab.from_bytes([b"a"], {name: i + 1 for i, name in enumerate(MARKERS) if name != missing})
    with pytest.raises(hs.VocabError) as caught:
        hs.Parser(vocab=vocab)
    assert f"needs: {missing}. " in str(caught.value)


def test_a_small_vocabulary_is_enough():
    vocab = hs.vocab.from_bytes([b"final", b"ok"], {name: i + 10 for i, name in enumerate(MARKERS)})
    control = vocab.control
    parser = hs.Parser(vocab=vocab)
    events = parser.feed([control["<|channel|>"], 0, control["<|message|>"], 1, 5, control["<|return|>"]])
    assert [event.text for event in events if type(event) is hs.ContentDelta] == ["ok�"]  # 5 is a hole


def test_formats_are_data():
    assert hs.formats() == ("harmony",)
    assert hs.parse("Hi", HARMONY) == hs.parse("Hi", "harmony")
    assert repr(Program(HARMONY, hs.vocab.o200k_harmony())).startswith("<Program harmony on <Vocab o200k_harmony")
    with pytest.raises(hs.FormatError, match=r"exactly the markers.*differing: \['pause'\]"):
        hs.Parser(HARMONY._replace(name="mine", markers={**HARMONY.markers, "pause": "<|pause|>"}))
    with pytest.raises(hs.FormatError, match="1 to 16 ASCII"):
        hs.Parser(HARMONY._replace(name="a name that is too long"))
    with pytest.raises(hs.FormatError, match="3 to 16 bytes"):
        hs.Parser(HARMONY._replace(name="mine", markers={**HARMONY.markers, "end": "</end>"}, required=frozenset()))


def test_a_format_of_ones_own_changes_nobody_elses():
    swapped = HARMONY.markers | {"end": "<|message|>", "message": "<|end|>"}
    mine = HARMONY._replace(markers=swapped)
    text = "<|channel|>final<|end|>Hi<|message|>"
    assert hs.parse(text, mine).content == "Hi"
    assert hs.parse("<|channel|>final<|message|>Hi<|end|>").content == "Hi"
    assert hs.Parser(mine, start="answer").fork().feed_text("a<|message|>")[-1] == hs.MessageEnd(
        "assistant", "final", None, None, 1, 12
    )
    for i in range(200):  # a new row for each request does not pile up programs
        hs.Parser(HARMONY._replace(name=f"row{i}"), vocab=SMALL)


def test_stop_ids():
    assert hs.Parser().stop_ids == (199999, 200002, 200012)
