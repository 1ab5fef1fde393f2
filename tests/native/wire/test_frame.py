"""A frame: what it is made of. tests/native/wire/test_sse.py has what is filled in."""

from __future__ import annotations

from typing import Any

import pytest

from harmonystream._native.wire.frame import Frame


@pytest.mark.parametrize(
    ("parts", "holes", "error"),
    [
        ([], "", ValueError),
        ([b"a"], "t", ValueError),
        ([b"a", b"b"], "x", ValueError),
        ([b"a", b"b"], "é", ValueError),
        ([b"a", "b"], "t", TypeError),
        ([bytearray(b"a")], "", TypeError),
        ([b"a"], None, TypeError),
    ],
)
def test_what_is_no_frame(parts: Any, holes: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Frame(parts, holes)


def test_a_frame_shows_itself() -> None:
    assert repr(Frame([b"a", b"b"], "t")) == "Frame((b'a', b'b'), 't')"
    assert repr(Frame(iter([b"a", b"b"]), "n")) == "Frame((b'a', b'b'), 'n')"
