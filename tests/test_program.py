"""Programs (a format on a vocabulary) and tools."""

from __future__ import annotations

from types import MappingProxyType

import pytest

import harmonystream as hs
from harmonystream._program import Program, Tools, tool_name
from harmonystream.formats.harmony import HARMONY

MARKERS = HARMONY.markers.values()
SMALL = hs.vocab.from_bytes([b"a"], {name: i + 1 for i, name in enumerate(MARKERS)})
CALL = "<|channel|>commentary to={}<|message|>{{}}<|call|>"


def calls(recipient, tools):
    return [(call.name, call.kind) for call in hs.parse(CALL.format(recipient), tools=tools).tool_calls]


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


class ModelDump:
    def model_dump(self):
        return CHAT


CHAT = {"type": "function", "function": {"name": "f", "parameters": {}}}
RESPONSES = {"type": "function", "name": "f", "parameters": {}}
MESSAGES = {"name": "f", "input_schema": {}}


@pytest.mark.parametrize("tool", ["f", CHAT, RESPONSES, MESSAGES, MappingProxyType(CHAT)])
def test_tools_as_the_apis_have_them(tool):
    assert tool_name(tool) == "f"
    assert calls("f", [tool]) == calls("functions.f", [tool]) == [("f", "function")]


@pytest.mark.parametrize(
    ("recipient", "tools", "expected"),
    [
        ("functions.g", ["f"], [("g", "function")]),
        ("g", ["f"], [("g", "other")]),
        ("g", None, [("g", "function")]),
        ("g", [], []),
        ("functions.g", [], []),
        ("python", ["python"], [("python", "function")]),
        ("python", None, [("python", "builtin")]),
        ("browser.search", ["f"], [("browser.search", "builtin")]),
        ("assistant", ["f"], []),
        ("functions.a.b-c", None, [("a.b-c", "function")]),
        ("functions.fjson", ["f"], [("f", "function")]),
        ("functions.fjson", ["f", "fjson"], [("fjson", "function")]),
        ("functions.fjson", None, [("fjson", "function")]),
        ("functions.Answer Tool", ["Answer Tool", "Answer"], [("Answer Tool", "function")]),
        ("functions.Answer", ["Answer Tool", "Answer"], [("Answer", "function")]),
        ("Ünïcode", ["Ünïcode"], [("Ünïcode", "function")]),
        ("mcp", [{"type": "web_search"}], [("mcp", "other")]),
    ],
)
def test_which_recipients_are_calls(recipient, tools, expected):
    assert calls(recipient, tools) == expected


def test_many_tools_are_all_found():
    names = [f"tool_{i}" for i in range(500)]
    for name in (names[0], names[1], names[250], names[498], names[499]):
        assert calls(name, names) == [(name, "function")]
    assert calls("tool_500", names) == [("tool_500", "other")]
    assert calls("tool_", names) == [("tool_", "other")]


@pytest.mark.parametrize(
    ("tools", "error", "match"),
    [
        ("f", TypeError, "list of names"),
        ([ModelDump()], TypeError, r"not ModelDump: pass tool.model_dump\(\)"),
        (CHAT, TypeError, "list of names"),
        ([1], TypeError, "not int"),
        ([""], ValueError, "non-empty string"),
        ([{"function": {"name": 3}}], ValueError, "not 3"),
        (3, TypeError, "not iterable"),
    ],
)
def test_wrong_tools(tools, error, match):
    with pytest.raises(error, match=match):
        Tools(tools)


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
