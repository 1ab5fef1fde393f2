"""The signature of a block of reasoning, against the same in Python."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_messages import signature_of

from harmonystream._native.wire.signature import signature

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(TEXTS, TEXTS)
def test_it_is_the_hash_of_the_id_and_the_text(id: str, text: str) -> None:
    assert signature(id, text) == signature_of(text, id)


def test_it_depends_on_each_byte_and_on_where_the_id_ends() -> None:
    text = 'Let me think about the weather, and "quote" it.\n'
    others = {signature("msg_1", text[:at] + "~" + text[at + 1 :]) for at in range(len(text))}
    others |= {signature("msg_1", text[:at]) for at in range(len(text))}
    others |= {signature("msg_1" + text[:at], text[at:]) for at in range(len(text) + 1)}
    assert len(others) == 3 * len(text) + 1


def test_what_is_no_text() -> None:
    with pytest.raises(UnicodeEncodeError):
        signature("msg_1", "\ud800")
