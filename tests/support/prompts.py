"""Prompts for engines, made by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import harmonystream as hs


@dataclass(frozen=True)
class HandMade:
    """What an engine reads of a prompt, without a renderer."""

    text: str = "<|start|>user<|message|>Hi<|end|><|start|>assistant"
    ids: list[int] | None = None
    format: Any = "harmony"
    stop_ids: tuple[int, ...] = ()
    vocab: Any = None

    def parser(self, **options: Any) -> hs.Parser:
        return hs.Parser(self.format, self.vocab, **options)


IDS = HandMade(ids=[200006, 1428, 200008, 12194, 200007, 200006, 173781], stop_ids=(200002, 200012))
TEXT = HandMade()
