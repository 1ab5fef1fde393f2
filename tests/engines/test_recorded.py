"""The engine that plays recordings."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from prompts import IDS

import harmonystream as hs
from harmonystream.engines import Finished, Recorded, Sampling


def played(engine: Recorded, sampling: Sampling | None = None) -> list[Any]:
    async def main() -> list[Any]:
        return [item async for item in engine.generate(IDS, sampling or Sampling())]

    return asyncio.run(main())


def test_the_bundled_conversation_calls_a_tool_and_then_answers_and_begins_anew():
    engine = Recorded()
    calls, answer, again = (hs.parse(played(engine)[:-1]) for _ in range(3))
    assert [call.name for call in calls.tool_calls] == ["get_forecast"]
    assert answer.content.startswith("要带伞")
    assert again == calls
    assert json.loads(engine.results["get_forecast"])["rain"] == 0.8


def test_text_is_played_by_characters_and_ends_as_recorded():
    engine = Recorded([{"user": "?"}, {"text": "Hi!", "finish": "length"}])
    assert played(engine) == ["H", "i", "!", Finished("length", _usage(3))]


def test_the_limit_of_tokens_cuts():
    assert played(Recorded([{"ids": [1, 2, 3]}]), Sampling(max_tokens=2)) == [1, 2, Finished("length", _usage(2))]


def _usage(count: int) -> dict[str, int]:
    return {"prompt_tokens": 7, "completion_tokens": count, "total_tokens": 7 + count}


def test_a_file_has_a_line_for_each_turn(tmp_path):
    path = tmp_path / "recording.jsonl"
    path.write_text('{"text": "a"}\n{"tool": "f", "result": "1"}\n{"text": "b"}\n', "utf-8")
    engine = Recorded(path)
    assert (played(engine)[0], played(engine)[0], engine.results) == ("a", "b", {"f": "1"})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "line 1: not JSON"),
        ("[]", "not a JSON object"),
        ('{"user": "x"}', "at least one generation"),
        ('{"ids": ["x"]}', "a generation is a line"),
        ('{"ids": [1], "text": "x"}', "not both"),
        ('{"text": 1}', "a generation is a line"),
    ],
)
def test_a_recording_that_is_none_is_refused(tmp_path, content, said):
    path = tmp_path / "recording.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(ValueError, match=said):
        Recorded(path)
