"""Reasoning as encrypted_content: there and back, and what was not made here."""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonystream.gateway.refused import Refused
from harmonystream.gateway.requests import sealed_reasoning


@given(st.text())
def test_there_and_back(text):
    (item,) = sealed_reasoning.opened(
        [{"type": "reasoning", "summary": [], "encrypted_content": sealed_reasoning.sealed(text)}]
    )
    assert item["content"] == [{"type": "reasoning_text", "text": text}]


@pytest.mark.parametrize("packed", ["gAAAAAB", "hs1.", "hs1.AAAA", "hs1.!!!", "hs1." + "A" * 99])
def test_what_was_made_elsewhere_is_refused(packed):
    with pytest.raises(Refused, match=r"input\[1\]\.encrypted_content"):
        sealed_reasoning.opened([{"role": "user"}, {"type": "reasoning", "encrypted_content": packed}])


def test_a_bomb_is_refused():
    bomb = "hs1." + urlsafe_b64encode(zlib.compress(b"0" * (sealed_reasoning.MOST + 1))).decode()
    with pytest.raises(Refused):
        sealed_reasoning.opened([{"type": "reasoning", "encrypted_content": bomb}])


def test_many_small_bombs_are_one():
    packed = "hs1." + urlsafe_b64encode(zlib.compress(b"0" * (sealed_reasoning.MOST // 2))).decode()
    items = [{"type": "reasoning", "encrypted_content": packed}] * 3
    assert len(sealed_reasoning.opened(items[:2])) == 2
    with pytest.raises(Refused, match=r"more than 16777216 bytes in all") as refused:
        sealed_reasoning.opened(items)
    assert refused.value.param == "input[2].encrypted_content"


def test_text_that_comes_back_itself_is_left_alone():
    items = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}], "encrypted_content": "x"}, 3]
    assert sealed_reasoning.opened(items) == items


def test_a_block_of_thinking_has_its_text_again():
    block = {"type": "thinking", "thinking": "", "signature": sealed_reasoning.sealed("Hm")}
    others = [
        {"type": "thinking", "thinking": "shown", "signature": sealed_reasoning.sealed("not read")},
        {"type": "thinking", "thinking": "", "signature": "from elsewhere"},
        {"type": "text", "text": "", "signature": sealed_reasoning.sealed("no thought")},
        "no block",
    ]
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": [block, *others]}, 3]
    opened = sealed_reasoning.opened_blocks(messages)
    assert opened[1]["content"] == [{**block, "thinking": "Hm"}, *others]
    assert (opened[0], opened[2]) == (messages[0], 3)
    assert block["thinking"] == ""


def test_a_signature_that_was_altered_is_refused():
    block = {"type": "thinking", "thinking": "", "signature": sealed_reasoning.sealed("Hm")[:-4]}
    with pytest.raises(Refused, match=r"messages\[0\]\.content\[1\]\.signature was not made"):
        sealed_reasoning.opened_blocks([{"role": "assistant", "content": [{"type": "text", "text": "a"}, block]}])


def test_signatures_are_one_bomb_too():
    packed = "hs1." + urlsafe_b64encode(zlib.compress(b"0" * (sealed_reasoning.MOST // 2))).decode()
    message = {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": packed}] * 2}
    assert len(sealed_reasoning.opened_blocks([message])) == 1
    with pytest.raises(Refused, match="in all"):
        sealed_reasoning.opened_blocks([message, message])
