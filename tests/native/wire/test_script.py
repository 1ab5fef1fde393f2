"""What a script is made of. tests/emit compares what is told by one with what Python tells."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from harmonystream._native.wire.script import Script

NOTHING = ([b""], "")


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (([], ""), ValueError),
        (([b"a"], "t"), ValueError),
        (([b"a", b"b"], "z"), ValueError),
        (([b"a", "b"], "t"), TypeError),
        ((None, ""), TypeError),
    ],
)
def test_what_is_no_frame_of_a_script(frame: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Script({("begin", "content", 0): frame}, NOTHING, NOTHING, NOTHING)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (("never", "content", 0), KeyError),
        (("begin", "thoughts", 0), KeyError),
        (("begin", "content", 5), ValueError),
        (("begin", "content", -1), ValueError),
    ],
)
def test_what_is_no_moment(key: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Script({key: NOTHING}, NOTHING, NOTHING, NOTHING)
    if error is ValueError:
        with pytest.raises(ValueError, match="a channel is a number from 0 to 4"):
            Script({}, NOTHING, NOTHING, NOTHING, fields={key[1:]: 1})


def test_a_script_is_not_copied() -> None:
    with pytest.raises(TypeError, match="each process makes its own"):
        copy.copy(Script({}, NOTHING, NOTHING, NOTHING))
