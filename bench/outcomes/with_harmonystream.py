"""harmonystream reads outputs as text, cut at random places."""

from __future__ import annotations

from random import Random

import harmonystream as hs
from bench.rivals.with_harmonystream import noted

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
    events = [event for piece in pieces for event in parser.feed_text(piece)]
    events += parser.finish()
    whole = {event.index for event in events if isinstance(event, hs.ToolCallEnd) and event.complete}
    reasoning, content, calls = noted(events).parts()
    return Outcome(reasoning, content, tuple(Call(*call, index in whole) for index, call in enumerate(calls)))


def start_of(name: str, thinks: bool) -> str:
    """Where the output begins: the model writes the opener itself, or the prompt has done it."""
    form = FAMILIES[name]
    if form.think[0] or not form.thinks:
        return "content"
    return "reasoning" if thinks else "answer"
