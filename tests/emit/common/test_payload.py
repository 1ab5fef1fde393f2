"""Payloads: JSON that can be sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harmonystream.emit.common.payload import checked, sendable, to_json


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"a": "é\u2028", "b": [1, None]}, '{"a":"é\u2028","b":[1,null]}'),
        ("\ud800", '"\ufffd"'),
        ("\ud83d\ude00", '"😀"'),
    ],
)
def test_json_is_compact_and_can_be_sent(payload: Any, text: str) -> None:
    assert to_json(payload) == text
    text.encode()


def test_what_is_checked_is_text_that_can_be_sent() -> None:
    assert checked("id", "a\ud800") == "a\ufffd"
    with pytest.raises(TypeError, match="id is a str, not int"):
        checked("id", 5)


def test_sendable_is_a_copy() -> None:
    given = {"a": [1, {"b": "\udfff"}]}
    made = sendable(given)
    assert made == {"a": [1, {"b": "\ufffd"}]}
    assert json.loads(to_json(given)) == made
    made["a"].append(2)
    assert len(given["a"]) == 2
    with pytest.raises(TypeError, match="not JSON serializable"):
        sendable({"a": {1}})
