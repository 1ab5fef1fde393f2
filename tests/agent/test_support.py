"""Can this model call tools at all?"""

from __future__ import annotations

import pytest

import harmonystream as hs
from harmonystream.agent import supports_tools


@pytest.mark.parametrize("name", hs.formats.names())
def test_every_format_with_calls_supports_tools(name):
    assert supports_tools(name) == (name not in ("think", "kimi_vl"))


def test_a_model_s_name_will_do_and_an_unknown_one_is_refused():
    assert supports_tools("Qwen/Qwen3-8B")
    assert not supports_tools(hs.Format("mine", think=("<t>", "</t>")))
    with pytest.raises(hs.errors.FormatError):
        supports_tools("nobody/nothing")
