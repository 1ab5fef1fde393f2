"""The incremental JSON scanner against the json module."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonystream as hs

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def scan(*pieces):
    scanner = hs.inside.JsonScanner()
    for piece in pieces:
        scanner.feed(piece)
    return scanner


def state(scanner):
    return scanner.balanced, scanner.complete, scanner.end, scanner.depth


@given(VALUES, st.booleans(), st.sampled_from(["", " ", "\n\t"]), st.sampled_from(["", " ", "\r\n"]))
def test_a_whole_value_is_balanced_and_no_beginning_of_a_container_or_string_is(value, ascii_only, before, after):
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    data = before.encode() + body + after.encode()
    whole = scan(data)
    assert whole.balanced
    assert whole.depth == 0
    if not isinstance(value, (int, float, type(None))) or after:
        assert (whole.complete, whole.end) == (True, len(before) + len(body))
    if isinstance(value, (str, list, dict)):
        for cut in range(len(before) + len(body)):
            assert not scan(data[:cut]).balanced


@given(st.binary(max_size=40) | st.text('{}[]"\\ ,:ab1', max_size=40).map(str.encode), st.data())
def test_cuts_do_not_matter(data, draw):
    cut = draw.draw(st.integers(0, len(data)))
    assert (
        state(scan(data))
        == state(scan(data[:cut], data[cut:]))
        == state(scan(*(data[i : i + 1] for i in range(len(data)))))
    )


@pytest.mark.parametrize(
    ("text", "balanced", "complete", "end", "depth"),
    [
        ("", False, False, None, 0),
        (" ", False, False, None, 0),
        ("{", False, False, None, 1),
        ('{"a":[1,{"b":"]}"}]}', True, True, 20, 0),
        ('"', False, False, None, 0),
        ('"a\\"', False, False, None, 0),
        ('"a\\\\"', True, True, 5, 0),
        ("12", True, False, None, 0),
        ("12 ", True, True, 2, 0),
        ("-", False, False, None, 0),
        ("true", True, False, None, 0),
        ("tru", False, False, None, 0),
        ("null\n", True, True, 4, 0),
        ("ls", False, False, None, 0),
        ("print(1)", False, False, None, 0),
        ("{} {}", False, True, 2, 0),
        ("{}}", False, True, 2, 0),
        ("}", False, False, None, 0),
        ("1 2", False, True, 1, 0),
        ("{]", True, True, 2, 0),  # nesting counts depth only
    ],
)
def test_exactly(text, balanced, complete, end, depth):
    assert state(scan(text)) == (balanced, complete, end, depth)


def test_long_strings_are_skipped_right():
    for size in range(40):
        for end in ('"', '\\"', '\\\\"'):
            data = '"' + "x" * size + end
            assert scan(data).complete is (end != '\\"')
            assert scan(data[:7], data[7:]).complete is (end != '\\"')


@pytest.mark.parametrize("special", ['\\"', "\\\\", '\\\\\\"', '\\n"', '"', "\x21", "\u0123"])
def test_what_ends_a_string_is_found_at_any_place_among_eight_bytes(special):
    for before in range(20):
        for after in range(20):
            data = ('"' + "#" * before + special + "]" * after + '" ').encode()
            whole, single = scan(data), scan(*(data[i : i + 1] for i in range(len(data))))
            assert state(whole) == state(single)
            assert whole.balanced == (special[-1] != '"' or special.endswith('\\"'))


def test_reset_and_wrong_input():
    scanner = scan("[1")
    scanner.reset()
    assert state(scanner) == (False, False, None, 0)
    with pytest.raises(TypeError, match="str or bytes"):
        scanner.feed(1)
    assert repr(scan("[")) == "JsonScanner(balanced=False, complete=False, end=None, depth=1)"


def test_the_scanner_decides_when_the_terminator_was_stripped():
    for body, complete in [('{"a":1}', True), ('{"a":', False), ('{"a":"}', False), ("ls -l", False), ("", False)]:
        call = hs.parse("<|channel|>commentary to=functions.f<|message|>" + body).tool_calls[0]
        assert (call.complete, call.balanced) == (complete, complete)


@pytest.mark.parametrize("native", [hs.inside.JsonScanner(), hs.batch.Batch("harmony", capacity=1)])
def test_what_holds_c_fields_refuses_to_be_pickled_in_plain_words(native):
    with pytest.raises(TypeError, match=f"cannot pickle '.*{type(native).__name__}' object"):
        pickle.dumps(native)
