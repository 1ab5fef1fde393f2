"""Texts that are JSON, are nearly JSON, or say the same in Python."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

CONTAINERS = ["object", "array"]
SPACES = st.text(" \t\n\v\f\r", max_size=2)


def strict(text: str) -> Any:
    """json.loads without what JSON does not have. Raises ValueError."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def is_json(text: str) -> bool:
    try:
        strict(text)
    except ValueError:
        return False
    return True


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


PIECES = [*"{}[]():,\"\\'-+.eE019 \n\t\f\x01/ubxn", "\\u", "00e9", "\\ud83d\\ude00", "é", "😀", "NaN", "Infinity"]
PIECES += ["true", "false", "null", "True", "False", "None", '"a"', "'b'", '"k":', "'k': ", "1,", "-0.5e+1", "(1,)"]
SCRAPS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
