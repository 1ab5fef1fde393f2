"""Draws the state diagrams in docs/tags.md and docs/harmony.md from the tables of the two machines.

    python docs/state_diagrams.py

The tables are `TRANSITIONS` in ext/harmonystream/_native/tags/transitions.pyx and harmony/message_transitions.pyx.
"""

from __future__ import annotations

import re
from pathlib import Path

from harmonystream._native.harmony import message_transitions
from harmonystream._native.tags import transitions

DOCS = Path(__file__).resolve().parent
BEGIN, END = "<!-- state diagram: drawn by docs/state_diagrams.py -->", "<!-- end of the state diagram -->"

Row = tuple[str, str, str, str]
# The state of a stream before anything is read, and the table. A state that nothing leads back to is drawn as the dot.
PAGES: dict[str, tuple[str, tuple[Row, ...]]] = {
    "tags.md": ("START", transitions.TRANSITIONS),
    "harmony.md": ("HEADER", message_transitions.TRANSITIONS),
}


def mermaid(first: str, table: tuple[Row, ...]) -> str:
    """One arrow for each pair of states, with all that leads over it."""
    arrows: dict[tuple[str, str], list[str]] = {}
    states = {row[0] for row in table} | {row[2] for row in table}
    for before, _, after, when in table:
        arrows.setdefault((before, after), []).append(when)
    entered = first in {row[2] for row in table}
    lines = ["stateDiagram-v2", *[f"    [*] --> {first}"] * entered]
    for (before, after), reasons in arrows.items():
        source = before if entered or before != first else "[*]"
        lines.append(f"    {source} --> {after}: {', or '.join(dict.fromkeys(reasons))}")
    lines += [f"    {state} --> [*]" for state in sorted(states - {row[0] for row in table})]
    return "\n".join(lines)


def drawn(page: str, text: str) -> str:
    """The page with its diagram drawn anew."""
    diagram = f"{BEGIN}\n```mermaid\n{mermaid(*PAGES[page])}\n```\n{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: diagram, text, flags=re.DOTALL)


def main() -> None:
    for page in PAGES:
        path = DOCS / page
        path.write_text(drawn(page, path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
