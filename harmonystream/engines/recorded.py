"""An engine that needs no model: it plays what a model once generated."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .base import Finished, Output, Prompt, Sampling, chat_usage

__all__ = ["Recorded"]

_BUNDLED = Path(__file__).parent.parent / "data" / "demo.jsonl"


class Recorded:
    """Plays recorded generations in order, one for each call of `generate`; after the last one the first comes again.

    recording: the path of a JSON Lines file, or its lines as mappings; by default a conversation about the weather
    that is part of the package. A line with `ids` (token ids) or `text` is a generation, and may have `finish`, the
    reason. A line with `tool` and `result` is a tool's answer in the recorded conversation; `results` has these by the
    tool's name. Other lines are ignored. delay: seconds before each token (of text: each character).
    Raises ValueError for a recording without a generation, and for a line that cannot be one.
    """

    def __init__(
        self, recording: str | os.PathLike[str] | Iterable[Mapping[str, Any]] | None = None, *, delay: float = 0.0
    ) -> None:
        lines = _lines(_BUNDLED if recording is None else recording)
        self.turns: list[Mapping[str, Any]] = [_checked(line) for line in lines if "ids" in line or "text" in line]
        self.results: dict[str, str] = {line["tool"]: str(line.get("result", "")) for line in lines if "tool" in line}
        if not self.turns:
            raise ValueError("a recording needs at least one generation: a line with `ids` or `text`")
        self._delay = delay
        self._next = 0  # index of the turn that the next call plays

    async def generate(self, prompt: Prompt, sampling: Sampling) -> AsyncIterator[Output]:
        turn = self.turns[self._next % len(self.turns)]
        self._next += 1
        tokens: Sequence[int] | str = turn["ids"] if "ids" in turn else turn["text"]
        played = tokens[: sampling.max_tokens]
        for token in played:
            await asyncio.sleep(self._delay)
            yield token
        reason = turn.get("finish", "stop") if len(played) == len(tokens) else "length"
        yield Finished(reason, chat_usage(len(prompt.ids or ()), len(played)))


def _lines(recording: str | os.PathLike[str] | Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    if not isinstance(recording, (str, os.PathLike)):
        return list(recording)
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
