"""harmonystream reads outputs as text, cut at random places."""

from __future__ import annotations

from random import Random
from typing import Any

import harmonystream as hs

from .families import FAMILIES
from .outcome import Call, Outcome
from .outputs import Output

MOST = 9  # characters of a piece


def pieces_of(random: Random, text: str) -> list[str]:
    pieces, at = [], 0
    while at < len(text):
        size = random.randint(1, MOST)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def read(name: str, output: Output, pieces: list[str]) -> Outcome:
    """What our parser makes of the pieces of an output."""
    form = FAMILIES[name]
    parser = hs.Parser(form.format, tools=output.tools, start=start_of(name, output.thinks))
    texts: dict[str, list[str]] = {"reasoning": [], "content": []}
    calls: dict[int, list[Any]] = {}
    events = [event for piece in pieces for event in parser.feed_text(piece)]
    for event in (*events, *parser.finish()):
        if isinstance(event, hs.ReasoningDelta):
            texts["reasoning"].append(event.text)
        elif isinstance(event, hs.ContentDelta):
            texts["content"].append(event.text)
        elif isinstance(event, hs.ToolCallStart):
            calls[event.index] = [event.name, "", False]
        elif isinstance(event, hs.ToolCallDelta):
            calls[event.index][1] += event.arguments
        elif isinstance(event, hs.ToolCallEnd):
            calls[event.index][2] = event.complete
    reasoning, content = ("".join(texts[kind]) for kind in ("reasoning", "content"))
    return Outcome(reasoning, content, tuple(Call(*call) for call in calls.values()))


def start_of(name: str, thinks: bool) -> str:
    """Where the output begins: the model writes the opener itself, or the prompt has done it."""
    form = FAMILIES[name]
    if form.think[0] or not form.thinks:
        return "content"
    return "reasoning" if thinks else "answer"
