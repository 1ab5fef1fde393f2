"""The arguments of a call as pieces of a JSON object: what is sent, piece by piece, and what a client makes of it."""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import pytest
import reference_json_filter
from hypothesis import given
from hypothesis import strategies as st
from jiter import from_json

from harmonystream.emit.messages.arguments import Arguments, assembled

RAW = "INVALID_JSON"


def client(sent: str) -> Any:
    """As the official client does after every delta."""
    return from_json(sent.encode(), partial_mode=True) if sent else {}


def sent_of(pieces: Any, complete: bool = True, **options: Any) -> str:
    """All that is sent, read by the client after every piece."""
    arguments = Arguments(**options)
    sent = ""
    for piece in pieces:
        sent += arguments.feed(piece)
        client(sent)
        assert sent == sent.lstrip() and (not sent or sent[0] == "{")
    sent += arguments.end(complete)
    assert arguments.sent == sent
    assert assembled(sent) == client(sent)
    return sent


def every_way(text: str, complete: bool = True) -> str:
    """What is sent of a text, however it is cut."""
    whole = sent_of([text], complete)
    assert sent_of(text, complete) == whole
    for cut in range(1, len(text)):
        assert sent_of([text[:cut], text[cut:]], complete) == whole
    return whole


OBJECTS = (
    "{}",
    "{ }",
    '{"city": "Bergen", "days": 3}',
    '{"a":[],"b":{},"c":[[{}],[1,-2.5e+3,0,-0.0]],"d":true,"e":false,"f":null}',
    '{"a": "\\u00e9\\ud83d\\ude00\\n\\/", "日本": "😀\u2028\x7f"}',
    '{\n  "a" : [ 1 , "x" ] ,\n  "a" : { "b" : null }\n}',
    '{"": 12345678901234567890123, "x": 1E5}',
    '{"a": 1}\n \n',
)


@pytest.mark.parametrize("text", OBJECTS)
def test_an_object_passes_byte_for_byte(text):
    assert every_way(text) == text
    assert every_way("\n \t\r\n" + text) == text


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("print(1)", {"input": "print(1)"}),
        ('\n x = "é\\"\n', {"input": '\n x = "é\\"\n'}),
        ("[1, 2]", {"input": "[1, 2]"}),
        ("3", {"input": "3"}),
        ('"{}"', {"input": '"{}"'}),
        ("\ufeff{}", {"input": "\ufeff{}"}),
        ("```json\n{}\n```", {"input": "```json\n{}\n```"}),
    ],
)
def test_text_that_begins_as_no_object_is_a_string(text, sent):
    assert json.loads(every_way(text)) == sent
    assert json.loads(every_way(text, complete=False)) == sent


def test_the_key_of_text_can_be_chosen():
    assert sent_of(["1 + ", "1"], text_key='co"de') == '{"co\\"de": "1 + 1"}'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("{'a': 1}", {}),
        ("{a: 1}", {}),
        ('{"a": nope}', {"a": None}),
        ('{"a": 1, nope', {"a": 1}),
        ('{"a": 1, "b', {"a": 1, "b": None}),
        ('{"a": 1, "b"', {"a": 1, "b": None}),
        ('{"a": 1, "b" 2', {"a": 1, "b": None}),
        ('{"a": 1, "b":', {"a": 1, "b": None}),
        ('{"a": 1,}', {"a": 1}),
        ('{"a": 1', {"a": 1}),
        ('{"a": 1.', {"a": None}),
        ('{"a": 1.x}', {"a": None}),
        ('{"a": 01}', {"a": None}),
        ('{"a": +1}', {"a": None}),
        ('{"a": NaN}', {"a": None}),
        ('{"a": [1, 2,]}', {"a": [1, 2]}),
        ('{"a": [1, tru]}', {"a": [1]}),
        ('{"a": [}', {"a": []}),
        ('{"a": {]', {"a": {}}),
        ('{"a": {"b": [{"c": "d', {"a": {"b": [{"c": "d"}]}}),
        ('{"a": "x" "y"}', {"a": "x"}),
        ('{"a": "x\\q"}', {"a": "x"}),
        ('{"a": "x\\u12g4"}', {"a": "x"}),
        ('{"a": "\\ud83d"}', {"a": ""}),
        ('{"a": "\\ud83d\\n"}', {"a": ""}),
        ('{"a": "\\ud83d\\ud83d"}', {"a": ""}),
        ('{"a": "\\ude00"}', {"a": ""}),
        ('{"\\ude00": 1}', {"": None}),
        ('{"a": 1} and more', {"a": 1}),
        ('{"a": 1}{"b": 2}', {"a": 1}),
        ("{}}", {}),
        ("{", {}),
        ('{"INVALID_JSON": 1, x', {}),
    ],
)
def test_what_begins_as_an_object_and_is_none(text, kept):
    assert json.loads(every_way(text)) == {**kept, RAW: text}
    assert json.loads(every_way("\n" + text)) == {**kept, RAW: "\n" + text}


def test_where_it_breaks_the_text_goes_on_as_a_string():
    arguments = Arguments()
    pieces = [arguments.feed(piece) for piece in ('{"a": "x', '", ', "no", 'pe "', "\n")]
    assert pieces == ['{"a": "x', '"', f', "{RAW}": "{{\\"a\\": \\"x\\", no', 'pe \\"', "\\n"]
    assert arguments.end() == '"}'


def test_what_is_held_back():
    arguments = Arguments()
    text = '\n{"a": 12, "b": "\\n\\u00e9\\ud83d\\ude00", "c": [true ], "d": {}} \n'
    pieces = [arguments.feed(piece) for piece in text]
    assert [piece for piece in pieces if len(piece) != 1] == [
        *("", "", "", "12", "", ', "'),  # the newline; 12; the comma
        *("", "\\n", "", "", "", "", "", "\\u00e9", *[""] * 11, "\\ud83d\\ude00"),
        *("", "", ', "', "", "", "", "", "true ", "", "", ', "', "", "", ""),
    ]
    assert "".join(pieces) == text[1:-3]
    assert arguments.end() == text[-3:]
    assert assembled(arguments.sent) == {"a": 12, "b": "\né😀", "c": [True], "d": {}}


def test_control_characters_in_strings_are_escaped():
    assert every_way('{"a\t": "x\r\n\x00y"}') == '{"a\\t": "x\\r\\n\\u0000y"}'


@pytest.mark.parametrize("text", ["", " ", "\n\t\r\n"])
def test_nothing_is_sent_of_nothing(text):
    assert every_way(text) == every_way(text, complete=False) == ""


@pytest.mark.parametrize("text", OBJECTS)
def test_a_call_that_was_cut_is_left_as_it_was(text):
    for cut in range(len(text)):
        assert every_way(text[:cut], complete=False) == text[:cut]


def test_a_cut_call_that_was_broken_is_closed():
    assert json.loads(every_way('{"a": 1, b', complete=False)) == {"a": 1, RAW: '{"a": 1, b'}


def test_what_the_client_cannot_read_is_not_sent_as_json():
    deep, deeper = ('{"a":' * (n - 1) + "{}" + "}" * (n - 1) for n in (200, 201))
    assert sent_of([deep]) == deep
    assert json.loads(sent_of([deeper]))[RAW] == deeper
    long, longer = ('{"a": ' + "9" * n + "}" for n in (4300, 4301))
    assert sent_of([long]) == long
    assert json.loads(sent_of([longer])) == {"a": None, RAW: longer}


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
objects = st.builds(
    lambda value, ascii, indent: json.dumps(value, ensure_ascii=ascii, indent=indent),
    st.dictionaries(st.text(), values, max_size=4),
    st.booleans(),
    st.sampled_from([None, 1]),
)
PIECES = (
    *('{"a": ', '"b": ', "{", "}", "[", "]", ",", ", ", ":", '"', '"', "\\", "\\u", "d83d", "\\ude00", "\\n", "\\x"),
    *("1", "-", "0", ".5", "e+", "E9", "e999", "true", "tr", "null", "NaN", " ", "\n", "\x00", "é", "😀", "'", "x"),
)
broken = st.lists(st.sampled_from(PIECES), max_size=16).map("".join)
anything = st.one_of(broken, broken.map('{"a": '.__add__), st.text(), objects.map(lambda text: text[:-2]))
seeds = st.integers(0, 2**32 - 1)


def pieces_of(text: str, seed: int) -> list[str]:
    dice = random.Random(seed)
    cuts = sorted(dice.choices(range(len(text) + 1), k=dice.randrange(8)))
    return [text[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(text)])]


@given(objects, seeds)
def test_any_object_passes(text, seed):
    assert sent_of(pieces_of(text, seed)) == sent_of(text) == text


def finite(text: str) -> float:
    return min(max(float(text), -sys.float_info.max), sys.float_info.max)


@pytest.mark.parametrize("number", ["1e999", "-1E+400", "9" * 400 + ".0", "1.8e308", "1.7976931348623159e308"])
def test_a_number_that_is_read_as_infinity_is_the_largest(number):
    assert (
        every_way(f'{{"a": [{number}, 1], "b": {number} }}')
        == f'{{"a": [{finite(number)}, 1], "b": {finite(number)} }}'
    )
    assert every_way(f'{{"a": {number}', complete=False) == f'{{"a": {finite(number)}'


@pytest.mark.parametrize("number", ["1.7976931348623157e308", "1e308", "-1e-999", "9" * 400, "0." + "1" * 400])
def test_any_other_number_is_as_it_was_written(number):
    assert every_way(f'{{"a": [{number}], "b": {number}}}') == f'{{"a": [{number}], "b": {number}}}'


@given(anything, seeds)
def test_any_text_becomes_json_and_is_kept(text, seed):
    sent = sent_of(pieces_of(text, seed))
    assert sent == sent_of(text) == sent_of([text])
    bare = text.lstrip(" \t\r\n")
    if not bare:
        assert sent == ""
        return
    made = json.loads(sent)
    if RAW not in made and bare[0] == "{":
        assert made == json.loads(text, strict=False, parse_float=finite)
    else:
        assert made.get(RAW, made.get("input")) == text


@given(anything, seeds)
def test_any_cut_call_is_read(text, seed):
    sent = sent_of(pieces_of(text, seed), complete=False)
    assert sent == sent_of(text, complete=False) == sent_of([text], complete=False)


@given(anything | objects, seeds, st.booleans())
def test_piece_by_piece_as_the_reference(text, seed, complete):
    ours, slow = Arguments(), reference_json_filter.Arguments()
    for piece in pieces_of(text, seed):
        assert ours.feed(piece) == slow.feed(piece)
    assert ours.end(complete) == slow.end(complete)


@pytest.mark.parametrize("text", ["\ud800", "{\udfff", '{"a": "\ud83dx'])
def test_lone_surrogates_are_replaced(text):
    arguments = Arguments()
    assert "\ufffd" in arguments.feed(text) + arguments.end()


@pytest.mark.parametrize("wrong", [None, b"{}", 1])
def test_only_text(wrong):
    with pytest.raises(TypeError):
        Arguments().feed(wrong)
    with pytest.raises(TypeError):
        Arguments(wrong)
