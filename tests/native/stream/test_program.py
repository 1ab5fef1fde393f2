"""Programs: a format on a vocabulary."""

from __future__ import annotations

import pytest

import harmonystream as hs
from harmonystream._native.stream.program import Program
from harmonystream.formats import format_of
from harmonystream.formats.harmony import HARMONY

MARKERS = HARMONY.markers.values()
SMALL = hs.vocab.from_bytes([b"a"], {name: i + 1 for i, name in enumerate(MARKERS)})


@pytest.mark.parametrize("missing", MARKERS)
def test_a_vocabulary_without_a_marker_is_refused_by_name(missing):
    vocab = hs.vocab.from_bytes([b"a"], {name: i + 1 for i, name in enumerate(MARKERS) if name != missing})
    with pytest.raises(hs.errors.VocabError) as caught:
        hs.Parser(vocab=vocab)
    assert f"needs: {missing}. " in str(caught.value)


def test_a_small_vocabulary_is_enough():
    vocab = hs.vocab.from_bytes([b"final", b"ok"], {name: i + 10 for i, name in enumerate(MARKERS)})
    control = vocab.control
    parser = hs.Parser(vocab=vocab)
    events = parser.feed([control["<|channel|>"], 0, control["<|message|>"], 1, 5, control["<|return|>"]])
    assert [event.text for event in events if type(event) is hs.ContentDelta] == ["ok�"]  # 5 is a hole


def test_formats_are_data():
    assert hs.formats.names()[:4] == ("harmony", "hermes", "qwen3_coder", "mimo")
    assert hs.parse("Hi", HARMONY) == hs.parse("Hi", "harmony")
    assert repr(Program(HARMONY, hs.vocab.o200k_harmony())).startswith("<Program harmony on <Vocab o200k_harmony")
    with pytest.raises(hs.errors.FormatError, match=r"exactly the markers.*differing: \['pause'\]"):
        hs.Parser(HARMONY._replace(name="mine", markers={**HARMONY.markers, "pause": "<|pause|>"}))
    with pytest.raises(hs.errors.FormatError, match="1 to 16 ASCII"):
        hs.Parser(HARMONY._replace(name="a name that is too long"))
    with pytest.raises(hs.errors.FormatError, match="3 to 16 bytes"):
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
    vocab = hs.vocab.from_bytes([b"a"], {"<|im_start|>": 1, "<|im_end|>": 3})
    assert hs.Parser("hermes", vocab).stop_ids == (3,)
    assert hs.Parser("think", vocab).stop_ids == ()


def test_formats_with_tags_need_nothing_of_a_vocabulary():
    """Control tokens, ordinary tokens, pieces: each marker is found as the vocabulary has it."""
    call = "<tool_call>f<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>"
    letters = [bytes([byte]) for byte in range(256)]
    control = {"<tool_call>": 300, "</tool_call>": 301, "<arg_key>": 302}
    for tokens, named in ((letters, {}), (letters, control), ([*letters, b"<tool_call>", b"</arg_value>"], {})):
        vocab = hs.vocab.from_bytes(tokens, named)
        assert repr(Program(format_of("glm"), vocab)) == f"<Program glm on {vocab!r}>"
        names = named | {tokens[tid].decode(): tid for tid in range(256, len(tokens))}
        ids, rest = [], call
        while rest:
            marker = next((name for name in names if rest.startswith(name)), None)
            ids.append(ord(rest[0]) if marker is None else names[marker])
            rest = rest[len(marker or " ") :]
        assert [c.arguments for c in hs.parse(ids, "glm", vocab=vocab).tool_calls] == ['{"k": "v"}']
        assert len(ids) < len(call) or not names


def test_a_parser_without_a_vocabulary_is_for_text():
    parser = hs.Parser("glm")
    with pytest.raises(ValueError, match="has no vocabulary for ids: pass the model's as vocab="):
        parser.feed(0)
    assert parser.vocab.name == "none"
    assert parser.stop_ids == ()
    assert parser.feed_text("Hi")[1:] == (hs.ContentDelta("Hi", None, 0, 2),)


def test_the_name_of_a_format_may_be_any_str():
    """numpy's, ruamel's and SQLAlchemy's strings are subclasses. Such a key dies, and the next one may have its id."""

    class Name(str):
        __slots__ = ()

    asked = ["hermes", "think", "qwen3_coder"] * 50
    assert [hs.Parser(Name(name), hs.vocab.o200k_harmony(), check_stops=False).format for name in asked] == asked
