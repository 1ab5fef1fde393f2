"""What the model reads of a result."""

from __future__ import annotations

import json

import pytest

from harmonystream.tools.results import MAX_ERROR, Failure, error_text, text_of

LIMIT = 100


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is: \u5317\u4eac", "as it is: \u5317\u4eac"),
        ("", ""),
        (b"bytes \xc3\xa9", "bytes é"),
        (bytearray(b"more"), "more"),
        (memoryview(b"view"), "view"),
        (None, "null"),
        ({"city": "北京", "t": float("nan")}, '{"city": "北京", "t": null}'),
        ("lone \ud800", "lone \ufffd"),
    ],
)
def test_text_stays_text_and_all_else_is_json(value, text):
    assert text_of(value, LIMIT) == (text, False)


@pytest.mark.parametrize("value", ["x" * 10_000_000, b"x" * 10_000_000, bytearray(10_000_000)])
def test_long_text_is_cut_and_says_so(value):
    text, truncated = text_of(value, LIMIT)
    assert truncated
    assert text == (value if isinstance(value, str) else value.decode())[:LIMIT] + "\n[cut after 100 characters]"


def test_text_of_just_the_limit_is_whole():
    assert text_of("x" * LIMIT, LIMIT) == ("x" * LIMIT, False)
    assert text_of(["x" * (LIMIT - 4)], LIMIT) == (json.dumps(["x" * (LIMIT - 4)]), False)
    assert text_of(["x" * (LIMIT - 3)], LIMIT)[1]


class Hostile:
    @property
    def model_dump(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"\xff\xfe", "bytes that are not UTF-8"),
        ({"a": b"\xff"}, "cannot be written as JSON"),
        (object(), "object has no JSON form"),
        (Hostile(), "cannot be written as JSON: no"),
        ((n for n in range(3)), "generator has no JSON form"),
        ([10**5000], "cannot be written as JSON"),
    ],
)
def test_what_has_no_text_is_an_error(value, message):
    with pytest.raises(Failure, match=message) as raised:
        text_of(value, LIMIT)
    assert raised.value.kind == "invalid_result"


def test_an_error_is_json_of_one_form_and_bounded():
    assert error_text("failed", 'no "city" \ud800 é') == '{"error": "no \\"city\\" \ufffd é", "kind": "failed"}'
    assert len(json.loads(error_text("failed", "x" * 10_000))["error"]) == MAX_ERROR + 1
