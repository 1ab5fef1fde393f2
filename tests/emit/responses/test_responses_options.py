"""What ResponsesStream takes. tests/emit/responses/test_responses.py has what it says."""

from __future__ import annotations

from typing import Any

import pytest

from harmonystream.emit.responses.items import Reasoning, Summary
from harmonystream.emit.responses.options import made_id, phase, reasoning_item, seconds


@pytest.mark.parametrize(
    ("said", "asked", "kind"),
    [
        (True, {}, Reasoning),
        (True, {"reasoning": {"summary": "auto"}}, Summary),
        (True, {"reasoning": {"generate_summary": "auto"}}, Summary),
        ("summary", {}, Summary),
        ("text", {"reasoning": {"summary": "auto"}}, Reasoning),
        (False, {}, None),
    ],
)
def test_items_of_reasoning(said: Any, asked: dict[str, Any], kind: type[Reasoning] | None) -> None:
    assert reasoning_item(said, asked) is kind


@pytest.mark.parametrize("said", ["all", None, 2])
def test_what_is_no_way_to_show_reasoning(said: Any) -> None:
    with pytest.raises(ValueError, match="reasoning is True, False, 'text' or 'summary'"):
        reasoning_item(said, {})


@pytest.mark.parametrize("created", ["7", None, float("nan"), float("inf")])
def test_what_is_no_time(created: Any) -> None:
    with pytest.raises(TypeError, match="created is seconds since 1970"):
        seconds(created)


def test_parts() -> None:
    assert (phase("final"), phase("analysis"), made_id("1", "message", 0)) == ({"phase": "final_answer"}, {}, "msg_1_0")
