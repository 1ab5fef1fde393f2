"""What is measured before a template may make it; what templates may not do is in test_jinja.py."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonystream.prompt import bounds

JSON = st.recursive(
    st.text("ab"), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab"), inner, max_size=4)
)


@given(JSON, st.integers(0, 32))
def test_a_value_is_measured_at_no_less_than_its_text(value, indent):
    assert bounds.measure(value) + 2 >= len(str(value))
    node = 5 + indent  # quotes, a comma or a colon with its space, a line break
    assert bounds.measure(value, node=node, level=indent) + 2 >= len(json.dumps(value, indent=indent))


def test_a_list_that_holds_itself_is_refused():
    value: list[object] = []
    value.append(value)
    with pytest.raises(bounds.Bound, match="more than 500 deep"):
        bounds.measure(value)
