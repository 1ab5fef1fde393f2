"""The text of a value -> JSON."""

from __future__ import annotations

import json

import pytest

from harmonystream._values import escape, fits, transcode


@pytest.mark.parametrize(
    ("text", "types", "expected"),
    [
        ("5", "string", '"5"'),
        (" null ", "string null", "null"),
        ("None", "integer", "null"),
        ("None", "integer string", '"None"'),
        ("1.50", "number", "1.50"),
        ("5.0", "integer", "5.0"),
        ("TRUE", "boolean", "true"),
        ("1", "boolean", "true"),
        ("['a', True, None]", "array", '["a", true, null]'),
    ],
)
def test_values_that_fit(text, types, expected):
    assert transcode(text, types.split()) == expected
    assert fits(text, types.split())


@pytest.mark.parametrize("text", ["", 'a"\\/b', "".join(map(chr, range(256))), "漢字\n😀" * 3])
def test_escape(text):
    assert '"' + escape(text) + '"' == json.dumps(text, ensure_ascii=False).replace("\\u007f", "\x7f")
