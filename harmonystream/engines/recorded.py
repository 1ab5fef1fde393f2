"""An engine that needs no model: it plays recorded generations of a model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..checks import check_number, shown
from ..errors import EngineError
from .base import Finished, Output, Prompt, Sampling, chat_usage
from .continuing import Beginning

__all__ = ["Recorded"]

_BUNDLED = Path(__file__).parent.parent / "data" / "demo.jsonl"


class Recorded:
    """Plays recorded generations in order, one for each call of `generate`. After the last one it starts again.

    If a prompt has the beginning of the answer (`Prompt.begun`), it is continued, as a model would do. The generation
    that shares most with the beginning is played from the corresponding place on. So a forced call gets the arguments
    of a recorded call. `generate` raises EngineError if no generation has such a place.

    recording: the path of a JSON Lines file, or its lines as mappings. By default it is a conversation about the
    weather in the package. A line with `ids` (token ids) or `text` is a generation, and may have a `finish`, its finish
    reason. A line with `tool` and `result` is a tool's answer in the recorded conversation; `results` has these by the
    tool's name. Other lines are ignored. delay: seconds before each token (in text, before each character).
    Raises ValueError for a recording without a generation, and for an invalid line.
    """

    def __init__(
        self, recording: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None = None, *, delay: float = 0.0
    ) -> None:
        check_number("delay", delay, least=0)
        lines = _lines(_BUNDLED if recording is None else recording)
        self.turns: list[Mapping[str, Any]] = [_checked(line) for line in lines if "ids" in line or "text" in line]
        self.results: dict[str, str] = {line["tool"]: str(line.get("result", "")) for line in lines if "tool" in line}
        if not self.turns:
            raise ValueError("a recording needs at least one generation: a line with `ids` or `text`")
        self._delay = delay
        self._next = 0  # the index of the turn that the next call plays

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        turn, start = self._place(prompt, sampling)
        tokens = _tokens(turn)[start:]
        played = tokens[: sampling.max_tokens]
        for token in played:
            await asyncio.sleep(self._delay)
            yield token
        reason = turn.get("finish", "stop") if len(played) == len(tokens) else "length"
        yield Finished(reason, chat_usage(len(prompt.ids or ()), len(played)))

    def preferred(self, prompt: Prompt, sampling: Sampling) -> int:
        """The index of the generation to play. For a prompt that is continued, it only decides between equal ones."""
        return self._next % len(self.turns)

    def _place(self, prompt: Prompt, sampling: Sampling) -> tuple[Mapping[str, Any], int]:
        """The generation to play for a prompt, and the index of its first token."""
        first = self.preferred(prompt, sampling)
        start: int | None = 0
        if begun := getattr(prompt, "begun", 0):
            beginning = Beginning(prompt, begun)
            order = [(first + step) % len(self.turns) for step in range(len(self.turns))]
            first = max(order, key=lambda at: beginning.agreement(_tokens(self.turns[at])))
            start = beginning.place(_tokens(self.turns[first]))
            if start is None:
                raise EngineError("the recording has nothing that continues the beginning of the answer")
        self._next = first + 1
        return self.turns[first], start or 0


def _tokens(turn: Mapping[str, Any]) -> Sequence[int] | str:
    tokens: Sequence[int] | str = turn["ids"] if "ids" in turn else turn["text"]
    return tokens


def _lines(recording: str | os.PathLike[str] | Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if not isinstance(recording, (str, os.PathLike)):
        made = list(recording) if isinstance(recording, Iterable) else [recording]
        if isinstance(recording, (Mapping, bytes)) or not all(isinstance(line, Mapping) for line in made):
            raise TypeError(
                f"recording is a path of JSON lines, or a list of such lines as dicts, not {shown(recording)}"
            )
        return made
    made = []
    for number, line in enumerate(Path(recording).read_text("utf-8").splitlines(), 1):
        try:
            made.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{recording}, line {number}: not JSON: {error}") from None
        if not isinstance(made[-1], dict):
            raise ValueError(f"{recording}, line {number}: not a JSON object")
    return made


def _checked(line: Mapping[str, Any]) -> Mapping[str, Any]:
    ids, text = line.get("ids"), line.get("text")
    if ids is None and isinstance(text, str):
        return line
    if text is None and isinstance(ids, (list, tuple)) and all(type(token) is int and token >= 0 for token in ids):
        return line
    raise ValueError("a generation is a line with `ids`, a list of token ids, or with `text`, a string; not both")
