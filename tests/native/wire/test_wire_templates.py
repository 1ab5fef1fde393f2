"""What templates are made of. tests/emit compares what is written by them with the reference."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from harmonystream._native.wire.template import Templates

NOTHING: tuple[list[bytes], list[str]] = ([b""], [])


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (([], []), ValueError),
        (([b"a"], ["delta"]), ValueError),
        (([b"a", b"b"], ["?"]), ValueError),
        (([b"a", "b"], ["delta"]), TypeError),
        ((None, []), TypeError),
    ],
)
def test_what_is_no_template(frame: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Templates({("begin", "content", 0): frame}, NOTHING, NOTHING)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (("never", "content", 0), KeyError),
        (("begin", "thoughts", 0), KeyError),
        (("begin", "content", 6), ValueError),
        (("begin", "content", -1), ValueError),
    ],
)
def test_what_is_no_moment(key: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Templates({key: NOTHING}, NOTHING, NOTHING)
    if error is ValueError:
        with pytest.raises(ValueError, match="a number from 0 to 5"):
            Templates({}, NOTHING, NOTHING, fields={key[1:]: 1})


@pytest.mark.parametrize("bits", [-1, 16])
def test_what_is_no_set_of_fields(bits: int) -> None:
    with pytest.raises(ValueError, match="a number from 0 to 15"):
        Templates({}, NOTHING, NOTHING, parts={bits: (NOTHING, NOTHING)})
    with pytest.raises(ValueError, match="a number from 0 to 15"):
        Templates({}, NOTHING, NOTHING, fields={("content", 0): bits})


def test_templates_are_not_copied() -> None:
    with pytest.raises(TypeError, match="each process makes its own"):
        copy.copy(Templates({}, NOTHING, NOTHING))
